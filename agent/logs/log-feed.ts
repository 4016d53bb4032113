import type { Clock } from '../clock.ts';
import type { LogReader } from './log-reader.ts';
import { createLogText, type LogText } from './log-text.ts';

export interface LogFeedDeps {
  readonly log: Pick<LogReader, 'read' | 'end'>;
  readonly clock: Clock;
  /** Secret values, each in `latin1`. */
  readonly known: () => readonly string[];
  /** See `firstLine`. */
  readonly ownLine: string;
}

/** A piece of the log. When `from` is greater than the `to` of the piece before it, the bytes between are lost. */
export interface FedPiece {
  readonly from: number;
  readonly to: number;
  readonly text: string;
  /** Nothing follows this piece, and nothing will. */
  readonly isLast: boolean;
}

/** A log from one offset on, in chunks. */
export interface LogFeed {
  /** Returns null when there is nothing to send now. `isOver`: the trainer prints nothing more. */
  next(isOver: boolean): Promise<FedPiece | null>;
  /** Whether the last call of `next` has read the whole log. */
  isCaughtUp(): boolean;
}

const mib = 1024 * 1024;
const readBytes = 128 * 1024;
/** The maximum to read at a time while it does not fill a chunk. */
const turnBytes = 16 * mib;
/** When the feed is further behind a running trainer than this, it skips to the newest output. */
const maxBehind = 32 * mib;
const newestBytes = 8 * mib;
/** How much to read before an offset, to know what is open there. */
const contextBytes = 64 * 1024;
const barsApartMs = 5_000;

/** `offset`: where the orchestrator's log ends. */
export async function createLogFeed(deps: LogFeedDeps, offset: number, limit: number): Promise<LogFeed> {
  const { log, clock } = deps;
  let text = await begin(deps, offset, limit);
  /** The offset of the text that is sent next. */
  let from = offset;
  /** The offset of the byte that is read next. */
  let at = offset;
  /** The offset to continue at when everything that was read is sent. The output before it is lost or skipped. */
  let goOnAt: number | null = null;
  let isCaughtUp = false;
  let barsAt = Number.NEGATIVE_INFINITY;

  const skip = async (): Promise<void> => {
    const end = await log.end();
    if (end - at > maxBehind) goOnAt = await lineBegin(log, end - newestBytes);
  };

  /** Reads until there is a chunk, or nothing more to read. */
  const fill = async (isOver: boolean): Promise<void> => {
    if (!isOver) await skip();
    for (let read = 0; goOnAt === null && !text.isFull() && read < turnBytes; ) {
      const piece = await log.read(at, readBytes);
      isCaughtUp = piece.bytes.length === 0;
      if (isCaughtUp) return;
      if (piece.from > at) goOnAt = piece.from;
      else {
        text.push(piece.bytes);
        at += piece.bytes.length;
        read += piece.bytes.length;
      }
    }
  };

  const take = (isOver: boolean): Omit<FedPiece, 'isLast'> | null => {
    const areBarsDue = clock.mono() - barsAt >= barsApartMs;
    const isEnd = isOver && isCaughtUp;
    const mustGo = goOnAt !== null || text.isFull();
    const taken = text.take(isEnd ? 'all' : areBarsDue || mustGo ? 'bars' : 'lines');
    if (taken === null) return null;
    if (areBarsDue) barsAt = clock.mono();
    const piece = { from, ...taken };
    from = taken.to;
    return piece;
  };

  return {
    isCaughtUp: () => isCaughtUp,
    async next(isOver) {
      for (;;) {
        isCaughtUp = false;
        if (goOnAt === null && !text.isFull()) await fill(isOver);
        const piece = take(isOver);
        const isEnd = isOver && isCaughtUp;
        if (piece !== null) return { ...piece, isLast: isEnd && text.isEmpty() };
        if (goOnAt !== null) {
          from = goOnAt;
          at = goOnAt;
          text = await begin(deps, at, limit);
          goOnAt = null;
        } else if (isEnd) return { from, to: Math.max(from, at), text: '', isLast: true };
        else if (isCaughtUp) return null;
      }
    },
  };
}

/** Creates the text from an offset on. It knows what was printed before. */
async function begin({ log, known, ownLine }: LogFeedDeps, offset: number, limit: number): Promise<LogText> {
  const before: Uint8Array[] = [];
  for (let at = Math.max(0, offset - contextBytes); at < offset; ) {
    const { from, bytes } = await log.read(at, offset - at);
    if (bytes.length === 0 || from >= offset) break;
    // What precedes a gap says nothing about what follows it.
    if (from > at) before.length = 0;
    const part = Buffer.from(bytes.subarray(0, offset - from));
    before.push(part);
    at = from + part.length;
  }
  return createLogText({ offset, before: Buffer.concat(before), limit, known, ownLine });
}

/** The first line that begins after an offset; the offset itself when none begins soon. */
async function lineBegin(log: LogFeedDeps['log'], offset: number): Promise<number> {
  const { from, bytes } = await log.read(offset, readBytes);
  return from + bytes.indexOf(10) + 1;
}
