/** What a stream of events tells. After each `open` nothing is left out until it is `lost` or `refused`. */
export type StreamNews =
  | { readonly kind: 'open' }
  /** It broke, and is being opened again. */
  | { readonly kind: 'lost' }
  /** The server answered with something else: it may be that nobody is signed in any more. It is tried again. */
  | { readonly kind: 'refused' }
  | { readonly kind: 'frame'; readonly data: string };

export type Tell = (news: StreamNews) => void;

/** Tells of the stream at this address until the answer is called. */
export type OpenStream = (url: string, tell: Tell) => () => void;
