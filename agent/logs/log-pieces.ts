/** A line of the output. */
export interface LogLine {
  /** The line without its line break. */
  readonly line: Uint8Array;
  /** The index at which the next line begins. */
  readonly end: number;
  /** Whether the line ended with carriage returns only, so that the next line overwrites it. */
  readonly isDrawnOver: boolean;
}

const lineFeed = 10;
const carriageReturn = 13;
/** The maximum number of carriage returns at the end that wait for the next byte. */
const maxReturns = 1024;

/**
 * Yields the complete lines. Carriage returns at the end of the data may belong to a line break. So their line counts as
 * complete only after the next byte, or if no more data follows (`isOver`).
 */
export function* linesIn(data: Uint8Array, isOver: boolean): Generator<LogLine> {
  let from = 0;
  for (let at = 0; at < data.length; at += 1) {
    if (data[at] !== lineFeed && data[at] !== carriageReturn) continue;
    const line = data.subarray(from, at);
    while (data[at] === carriageReturn) at += 1;
    if (at === data.length && !isOver && at - from - line.length < maxReturns) return;
    const isDrawnOver = data[at] !== lineFeed;
    // The byte after the carriage returns belongs to the next line.
    if (isDrawnOver) at -= 1;
    from = at + 1;
    yield { line, end: from, isDrawnOver };
  }
}

export const isBlank = (line: Uint8Array): boolean => line.every(byte => byte === 32);

/** A queue of text that will be sent in chunks. */
export interface LogPieces {
  /** `isLine`: the text completes a line, which is a reason to send a chunk. */
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
