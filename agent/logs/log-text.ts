import { createLogFold, type LogFoldDeps, longCut, maxSecret, openCut } from './log-fold.ts';
import { createLogPieces, linesIn, type TakenText } from './log-pieces.ts';

/**
 * Converts the bytes that a trainer prints to the text that is sent. It keeps only the newest version of a progress bar,
 * and removes secrets. It never cuts a character or a secret. Its memory is bounded, even for very long lines.
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
 * `lines`: return text only if a line has ended. `bars`: also return bars and unfinished lines. `all`: return everything,
 * because no more output follows.
 */
export type Wanted = 'lines' | 'bars' | 'all';

export interface LogTextOptions extends Pick<LogFoldDeps, 'knownSecrets' | 'ownLine'> {
  /** The offset of the first byte that is pushed. */
  readonly offset: number;
  /** The output just before `offset`, which was already sent. It shows whether a line or a private key continues there. */
  readonly before: Uint8Array;
  /** The maximum length of a chunk, in characters. */
  readonly limit: number;
}

export function createLogText({ offset, before, limit, ...options }: LogTextOptions): LogText {
  const { knownSecrets } = options;
  /** Longer lines, in bytes, are cut. The parts fit into a chunk even if secrets are replaced by a longer `[redacted]`. */
  const maxLineBytes = limit / 4;
  const pieces = createLogPieces(limit);
  const fold = createLogFold({ ...options, pieces });
  /** The part of the unfinished line that was not moved into `pieces` yet. */
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
    while (rest.length > maxLineBytes + maxSecret)
      addOpen(longCut(fold.sentPart(), rest, maxLineBytes, knownSecrets()), true);
    rest = Buffer.from(rest);
    fold.copyHeldBytes();
  };

  push(before);
  cutLines(true);
  fold.skipSent(rest);
  rest = new Uint8Array();

  /** Adds the current state of a bar, and the part of an unfinished line that can be sent. */
  const addUnfinished = (): void => {
    const bytes = openCut(fold.sentPart(), rest, knownSecrets());
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
      else if (what === 'bars') addUnfinished();
      return what === 'lines' && !pieces.hasLine() ? null : pieces.take();
    },
    isFull: pieces.isFull,
    isEmpty: () => pieces.isEmpty() && !fold.holdsBar() && rest.length === 0,
  };
}
