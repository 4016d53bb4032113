/** Messages of an event stream. Between `open` and the next `lost` or `refused`, no event is missing. */
export type StreamNews =
  | { readonly kind: 'open' }
  /** The connection broke and is being reopened. */
  | { readonly kind: 'lost' }
  /** The server's response was no stream, perhaps because the session ended. The connection is retried. */
  | { readonly kind: 'refused' }
  | { readonly kind: 'frame'; readonly data: string };

export type Tell = (news: StreamNews) => void;

/** Opens the stream at this URL and reports its messages until the returned function is called. */
export type OpenStream = (url: string, tell: Tell) => () => void;
