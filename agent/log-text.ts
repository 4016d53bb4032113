import { longCut, longestSecret, openCut } from './log-cut.ts';
import { createLogFold, type LogFoldParts } from './log-fold.ts';
import { linesIn } from './log-lines.ts';
import { createLogPieces, type TakenText } from './log-pieces.ts';

/**
 * What a trainer prints, byte by byte, as what is shipped of it: of bars that are drawn over only the newest, no secrets, cut where
 * neither a character nor a secret is cut. Bounded, however long a line is.
 */
export interface LogText {
  /** Keeps none of these bytes. */
  push(bytes: Uint8Array): void;
  /** What there is to be shipped, at most `limit` characters; null when that is nothing. It is gone from here. */
  take(what: Wanted): TakenText | null;
  /** Whether there is more than fits into one chunk. */
  isFull(): boolean;
  /** Whether nothing that was pushed is here any more. */
  isEmpty(): boolean;
}

/** `lines`: only if one has ended; `bars`: what is drawn over or not ended yet, too; `all`: there will be no more. */
export type Wanted = 'lines' | 'bars' | 'all';

export interface LogTextParts extends Pick<LogFoldParts, 'known' | 'ownLine'> {
  /** Where what is pushed begins. */
  readonly place: number;
  /** What was printed just before that and has left already: it tells whether a line, or a key, is open. */
  readonly before: Uint8Array;
  /** In characters. */
  readonly limit: number;
}

export function createLogText({ place, before, limit, ...parts }: LogTextParts): LogText {
  const { known } = parts;
  /** A line is cut beyond this many bytes: what becomes of them fits into a chunk, even where secrets were shorter than their marks. */
  const longest = limit / 4;
  const pieces = createLogPieces(limit);
  const fold = createLogFold({ ...parts, pieces });
  /** Of the line that is not ended, what is still here. */
  let rest: Uint8Array = new Uint8Array();
  /** Just behind the last byte that was pushed. */
  let end = place - before.length;

  const cutLines = (isOver: boolean): void => {
    const data = rest;
    const base = end - data.length;
    for (const { line, end: to, isDrawnOver } of linesIn(data, isOver)) {
      rest = data.subarray(to);
      if (isDrawnOver) fold.drawOver(line, base + to);
      else fold.endLine(line, base + to);
    }
  };
  /** The beginning of `rest` leaves it. */
  const addOpen = (bytes: number, isLine: boolean): void => {
    const part = rest.subarray(0, bytes);
    rest = rest.subarray(bytes);
    fold.addOpen(part, end - rest.length, isLine);
  };

  const push = (bytes: Uint8Array): void => {
    rest = rest.length === 0 ? bytes : Buffer.concat([rest, bytes]);
    end += bytes.length;
    cutLines(false);
    while (rest.length > longest + longestSecret)
      addOpen(longCut(fold.shown(), rest, longest, known()), true);
    rest = Buffer.from(rest);
    fold.own();
  };

  push(before);
  cutLines(true);
  fold.passOver(rest);
  rest = new Uint8Array();

  /** What a bar looks like at the moment is all that is wanted of it. */
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
