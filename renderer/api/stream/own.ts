import type { OpenStream } from './news.ts';

/** A browser gives up on an answer that is no stream, such as a refusal; this does not. */
const retryMs = 2_000;

/** A connection of its own: each one is one of the six that a browser has to a server. */
export const openOwnStream: OpenStream = (url, tell) => {
  let source: EventSource;
  let retry: ReturnType<typeof setTimeout> | null = null;
  const open = (): void => {
    const opened = new EventSource(url);
    source = opened;
    opened.addEventListener('open', () => tell({ kind: 'open' }));
    opened.addEventListener('message', ({ data }: MessageEvent<string>) => tell({ kind: 'frame', data }));
    opened.addEventListener('error', () => {
      if (opened.readyState !== EventSource.CLOSED) return tell({ kind: 'lost' });
      retry = setTimeout(open, retryMs);
      return tell({ kind: 'refused' });
    });
  };
  open();
  return () => {
    source.close();
    if (retry !== null) clearTimeout(retry);
  };
};
