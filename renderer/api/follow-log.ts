import { urlOf } from '../../protocol/client.ts';
import type { JobId } from '../../protocol/ids.ts';
import { LogEvent, logsApi } from '../../protocol/logs-api.ts';
import { openMovingStream } from './stream/browser.ts';
import type { StreamListener } from './stream/own.ts';

type LogMessage = LogEvent | { readonly type: 'open' } | { readonly type: 'lost' };

interface FollowLogDeps {
  readonly baseUrl: string;
  readonly id: JobId;
  readonly attempt: number | undefined;
  /** Called each time the stream opens; returns the number of the first line to send. */
  readonly line: () => number;
  readonly onMessage: (message: LogMessage) => void;
  /** Opens the stream; by default the browser's own. */
  readonly open?: (address: () => string, onMessage: StreamListener) => () => void;
}

/**
 * Follows the log of an attempt over its own connection, until the log ends or the returned function is called. If the
 * stream breaks, is refused or is silent for too long, it reopens after the last known line.
 */
export function followLog(deps: FollowLogDeps): () => void {
  const { baseUrl, id, attempt, line, onMessage, open = openMovingStream } = deps;
  const address = (): string =>
    urlOf(baseUrl, logsApi.follow.path, { id }, { attempt, line: line(), pings: true }).href;
  const close = open(address, message => {
    if (message.kind !== 'frame') return onMessage({ type: message.kind === 'open' ? 'open' : 'lost' });
    const event = LogEvent.safeParse(JSON.parse(message.data));
    // Ignore event types that only newer servers send.
    if (!event.success) return undefined;
    if (event.data.type === 'end') close();
    return onMessage(event.data);
  });
  return close;
}
