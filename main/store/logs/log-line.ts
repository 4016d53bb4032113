const lineFeed = 0x0a;
const carriageReturn = 0x0d;

export interface FoldedLine {
  readonly text: string;
  /** Whether the line is longer than `text`. */
  readonly isCut: boolean;
}

/**
 * Reduces a line to its final appearance on a screen: only the text after the last carriage return, limited to `maxBytes`.
 * Accepts pieces of any size and lines of any length.
 */
export interface LineFold {
  /** Adds a piece without a line feed. */
  add(piece: Buffer): void;
  line(): FoldedLine;
  clear(): void;
}

export function createLineFold(maxBytes: number): LineFold {
  let pieces: Buffer[] = [];
  let bytes = 0;
  let isCut = false;
  let isReturnPending = false;
  const keep = (piece: Buffer): void => {
    const room = maxBytes - bytes;
    if (piece.length > room) isCut = true;
    if (room <= 0 || piece.length === 0) return;
    // A copy, because the piece would keep a much larger buffer alive.
    pieces.push(Buffer.from(piece.subarray(0, room)));
    bytes += Math.min(room, piece.length);
  };
  const clear = (): void => {
    pieces = [];
    bytes = 0;
    isCut = false;
    isReturnPending = false;
  };
  return {
    clear,
    add(piece) {
      const end = endOfShown(piece);
      if (end > 0) {
        const lastReturn = piece.lastIndexOf(carriageReturn, end - 1);
        if (lastReturn !== -1 || isReturnPending) clear();
        keep(piece.subarray(lastReturn + 1, end));
      }
      if (end < piece.length) isReturnPending = true;
    },
    line: () => ({ text: textOf(Buffer.concat(pieces), isCut), isCut }),
  };
}

/** Reduces a complete line as `LineFold` does. */
export function foldLine(line: Buffer, maxBytes: number): FoldedLine {
  const end = endOfShown(line);
  const start = end === 0 ? 0 : line.lastIndexOf(carriageReturn, end - 1) + 1;
  const isCut = end - start > maxBytes;
  return { text: textOf(line.subarray(start, isCut ? start + maxBytes : end), isCut), isCut };
}

/** Returns the end of the text without trailing carriage returns, which erase text only when more text follows. */
function endOfShown(piece: Buffer): number {
  let end = piece.length;
  while (end > 0 && piece[end - 1] === carriageReturn) end -= 1;
  return end;
}

/** Drops a partial UTF-8 character at the cut. */
function textOf(bytes: Buffer, isCut: boolean): string {
  if (!isCut) return bytes.toString('utf8');
  let start = bytes.length - 1;
  while (start > 0 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start -= 1;
  const length = lengthOfCharacter(bytes[start] ?? 0);
  return bytes.toString('utf8', 0, start + length > bytes.length ? start : bytes.length);
}

/** Returns the number of bytes of a UTF-8 character, given its first byte. */
function lengthOfCharacter(first: number): number {
  if (first >= 0xf0) return 4;
  if (first >= 0xe0) return 3;
  return first >= 0xc0 ? 2 : 1;
}

/** Returns the number of line feeds, which is the number of complete lines. */
export function countFeeds(text: Buffer): number {
  let count = 0;
  for (let at = text.indexOf(lineFeed); at !== -1; at = text.indexOf(lineFeed, at + 1)) count += 1;
  return count;
}

/** Returns the offset after the first `number` line feeds, or the length of the text when it has fewer. */
export function afterFeed(text: Buffer, number: number): number {
  let at = 0;
  for (let n = 0; n < number; n += 1) {
    at = text.indexOf(lineFeed, at) + 1;
    if (at === 0) return text.length;
  }
  return at;
}

export const lastFeed = (text: Buffer): number => text.lastIndexOf(lineFeed);
export const nextFeed = (text: Buffer, from: number): number => text.indexOf(lineFeed, from);
