/** Text that waits to be sent in a chunk. */
export interface LogPieces {
  /** `isLine`: the text is a reason to send a chunk. */
  add(text: string, to: number, isLine: boolean): void;
  /** Removes as many pieces as fit into a chunk, and at least one. Returns null when there are none. */
  take(): TakenText | null;
  hasLine(): boolean;
  isFull(): boolean;
  isEmpty(): boolean;
  clear(): void;
}

export interface TakenText {
  readonly text: string;
  /** The offset at which the text ends. */
  readonly to: number;
}

/** `limit`: the maximum length of a chunk, in characters. */
export function createLogPieces(limit: number): LogPieces {
  let pieces: (TakenText & { readonly isLine: boolean })[] = [];
  let length = 0;
  return {
    add(text, to, isLine) {
      pieces.push({ text, to, isLine });
      length += text.length;
    },
    take() {
      let count = 0;
      let text = '';
      let to: number | null = null;
      for (const piece of pieces) {
        if (count > 0 && text.length + piece.text.length > limit) break;
        text += piece.text;
        ({ to } = piece);
        count += 1;
      }
      pieces = pieces.slice(count);
      length -= text.length;
      return to === null ? null : { text, to };
    },
    hasLine: () => pieces.some(({ isLine }) => isLine),
    isFull: () => length >= limit,
    isEmpty: () => pieces.length === 0,
    clear() {
      pieces = [];
      length = 0;
    },
  };
}
