import { createLogFold, type LogFoldDeps, longCut, maxSecret, openCut } from './log-fold.ts';
import { createLogPieces, linesIn, type TakenText } from './log-pieces.ts';

/**
 * Turns the bytes that a trainer prints into the text that is sent. Of bars that are drawn over, it keeps only the
 * newest. It removes secrets, and cuts neither a character nor a secret. Its memory is bounded, however long a line is.
 */
export interface LogText {
  /** Adds bytes. Copies those that it keeps, because the caller reuses its buffer. */
  push(bytes: Uint8Array): void;
  /** Removes and returns the text to send, at most `limit` characters; null when there is none. */
  take(what: Wanted): TakenText | null;
  /** Whether the text fills a chunk. */
  isFull(): boolean;
  /** Whether everything that was pushed has been taken. */
  isEmpty(): boolean;
}

/**
 * `lines`: only when a line has ended; `bars`: bars and unfinished lines, too; `all`: everything, because no more
 * follows.
 */
export type Wanted = 'lines' | 'bars' | 'all';

export interface LogTextOptions extends Pick<LogFoldDeps, 'known' | 'ownLine'> {
  /** The offset of the first byte that is pushed. */
  readonly offset: number;
  /** The output just before `offset`, which was sent already. It shows whether a line, or a private key, is open. */
  readonly before: Uint8Array;
  /** The maximum length of a chunk, in characters. */
  readonly limit: number;
}

export function createLogText({ offset, before, limit, ...options }: LogTextOptions): LogText {
  const { known } = options;
  /** A longer line, in bytes, is cut. The parts fit into a chunk even when marks replace secrets that are shorter. */
  const longest = limit / 4;
  const pieces = createLogPieces(limit);
  const fold = createLogFold({ ...options, pieces });
  /** The rest of the unfinished line that is still here. */
  let rest: Uint8Array = new Uint8Array();
  /** The offset after the last byte that was pushed. */
  let end = offset - before.length;

  const cutLines = (isOver: boolean): void => {
    const data = rest;
    const base = end - data.length;
    for (const { line, end: to, isDrawnOver } of linesIn(data, isOver)) {
      rest = data.subarray(to);
      if (isDrawnOver) fold.drawOver(line, base + to);
      else fold.endLine(line, base + to);
    }
  };
  /** Moves the beginning of `rest` into the pieces. */
  const addOpen = (bytes: number, isLine: boolean): void => {
    const part = rest.subarray(0, bytes);
    rest = rest.subarray(bytes);
    fold.addOpen(part, end - rest.length, isLine);
  };

  const push = (bytes: Uint8Array): void => {
    rest = rest.length === 0 ? bytes : Buffer.concat([rest, bytes]);
    end += bytes.length;
    cutLines(false);
    while (rest.length > longest + maxSecret) addOpen(longCut(fold.shown(), rest, longest, known()), true);
    rest = Buffer.from(rest);
    fold.own();
  };

  push(before);
  cutLines(true);
  fold.passOver(rest);
  rest = new Uint8Array();

  /** Only the current state of a bar is sent. */
  const addWhatIsOpen = (): void => {
    const bytes = openCut(fold.shown(), rest, known());
    if (bytes === 0) return fold.addBar();
    fold.dropBar();
    addOpen(bytes, false);
  };

  const finish = (): void => {
    cutLines(true);
    if (rest.length > 0) addOpen(rest.length, true);
    fold.addBar();
  };

  return {
    push,
    take(what) {
      if (what === 'all') finish();
      else if (what === 'bars') addWhatIsOpen();
      return what === 'lines' && !pieces.hasLine() ? null : pieces.take();
    },
    isFull: pieces.isFull,
    isEmpty: () => pieces.isEmpty() && !fold.holdsBar() && rest.length === 0,
  };
}
