import { LogEvent, logsApi } from '../../protocol/logs-api.ts';
import { urlOf } from '../../protocol/client.ts';
import type { JobId } from '../../protocol/ids.ts';

const retryMs = 2_000;

type LogNews = LogEvent | { readonly type: 'open' } | { readonly type: 'lost' };

interface FollowLogParts {
  readonly baseUrl: string;
  readonly id: JobId;
  readonly attempt: number | undefined;
  /** The line after those that are known, whenever the stream is opened. */
  readonly line: () => number;
  readonly tell: (news: LogNews) => void;
}

/**
 * Follows what an attempt prints over a connection of its own, to its end, or until the answer is called. A stream that breaks
 * is opened again behind what is known by then, whether it was refused or lost.
 */
export function followLog({ baseUrl, id, attempt, line, tell }: FollowLogParts): () => void {
  let source: EventSource | null = null;
  let retry: ReturnType<typeof setTimeout> | undefined;
  const close = (): void => {
    clearTimeout(retry);
    source?.close();
  };
  const open = (): void => {
    source = new EventSource(urlOf(baseUrl, logsApi.follow.path, { id }, { attempt, line: line() }));
    source.addEventListener('open', () => tell({ type: 'open' }));
    source.addEventListener('message', ({ data }: MessageEvent<string>) => {
      const event = LogEvent.safeParse(JSON.parse(data));
      // One of a later version is not for this page.
      if (!event.success) return;
      if (event.data.type === 'end') close();
      tell(event.data);
    });
    source.addEventListener('error', () => {
      close();
      tell({ type: 'lost' });
      retry = setTimeout(open, retryMs);
    });
  };
  open();
  return close;
}
