import { urlOf } from '../../protocol/client.ts';
import type { JobId } from '../../protocol/ids.ts';
import { LogEvent, logsApi } from '../../protocol/logs-api.ts';
import { openMovingStream } from './stream/browser.ts';
import type { Tell } from './stream/news.ts';

type LogNews = LogEvent | { readonly type: 'open' } | { readonly type: 'lost' };

interface FollowLogParts {
  readonly baseUrl: string;
  readonly id: JobId;
  readonly attempt: number | undefined;
  /** The line after those that are known, whenever the stream is opened. */
  readonly line: () => number;
  readonly tell: (news: LogNews) => void;
  /** Left out, the browser's own stream. */
  readonly open?: (address: () => string, tell: Tell) => () => void;
}

/**
 * Follows what an attempt prints over a connection of its own, until its end or until the returned function is called. A stream
 * that breaks, is refused or stays silent for too long is opened again behind the last known line.
 */
export function followLog(parts: FollowLogParts): () => void {
  const { baseUrl, id, attempt, line, tell, open = openMovingStream } = parts;
  const address = (): string =>
    urlOf(baseUrl, logsApi.follow.path, { id }, { attempt, line: line(), pings: true }).href;
  const close = open(address, news => {
    if (news.kind !== 'frame') return tell({ type: news.kind === 'open' ? 'open' : 'lost' });
    const event = LogEvent.safeParse(JSON.parse(news.data));
    // One of a later version is not for this page.
    if (!event.success) return undefined;
    if (event.data.type === 'end') close();
    return tell(event.data);
  });
  return close;
}
