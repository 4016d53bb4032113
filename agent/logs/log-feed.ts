import type { Clock } from '../clock.ts';
import type { LogReader } from './log-reader.ts';
import { createLogText, type LogText } from './log-text.ts';

export interface LogFeedDeps {
  readonly log: Pick<LogReader, 'read' | 'end'>;
  readonly clock: Clock;
  /** Returns the secret values, each in `latin1`. */
  readonly knownSecrets: () => readonly string[];
  /** The marker line that the guard's log has inserted. The feed does not send this line. */
  readonly ownLine: string;
}

/** A piece of the log, with offsets in bytes. Bytes between the `to` of a piece and the `from` of the next are lost. */
export interface FedPiece {
  readonly from: number;
  readonly to: number;
  readonly text: string;
  /** Whether this is the last piece of the log. */
  readonly isLast: boolean;
}

/** Reads a log from an offset to its end, in chunks. */
export interface LogFeed {
  /** Returns null when there is nothing to send now. `isOver`: the output of the trainer is complete. */
  next(isOver: boolean): Promise<FedPiece | null>;
  /** Whether the last call of `next` has read the whole log. */
  isCaughtUp(): boolean;
}

const mib = 1024 * 1024;
const readBytes = 128 * 1024;
/** The maximum number of bytes to read per call. Redrawn bars are dropped, so even many bytes may not fill a chunk. */
const maxReadBytes = 16 * mib;
/** If more bytes than this are unsent while the trainer runs, the feed skips to the newest output. */
const maxBehind = 32 * mib;
const newestBytes = 8 * mib;
/** The number of bytes to read before an offset, to know whether a line or a private key continues there. */
const contextBytes = 64 * 1024;
/** The minimum interval between two states of a progress bar that are sent. */
const barIntervalMs = 5_000;

/** `offset`: the end of the orchestrator's copy, in bytes. `limit`: the maximum length of a chunk, in characters. */
export async function createLogFeed(deps: LogFeedDeps, offset: number, limit: number): Promise<LogFeed> {
  const { log, clock } = deps;
  let text = await createText(deps, offset, limit);
  /** The offset of the text that is sent next. */
  let from = offset;
  /** The offset of the byte that is read next. */
  let at = offset;
  /**
   * The offset at which to continue after everything that was read is sent. The output before this offset is lost or
   * skipped.
   */
  let resumeAt: number | null = null;
  let isCaughtUp = false;
  let barsAt = Number.NEGATIVE_INFINITY;

  const skipIfBehind = async (): Promise<void> => {
    const end = await log.end();
    if (end - at > maxBehind) resumeAt = await nextLineStart(log, end - newestBytes);
  };

  /** Reads until the text fills a chunk, or until there is no more output. */
  const fill = async (isOver: boolean): Promise<void> => {
    if (!isOver) await skipIfBehind();
    for (let read = 0; resumeAt === null && !text.isFull() && read < maxReadBytes; ) {
      const piece = await log.read(at, readBytes);
      isCaughtUp = piece.bytes.length === 0;
      if (isCaughtUp) return;
      if (piece.from > at) resumeAt = piece.from;
      else {
        text.push(piece.bytes);
        at += piece.bytes.length;
        read += piece.bytes.length;
      }
    }
  };

  const takePiece = (isOver: boolean): Omit<FedPiece, 'isLast'> | null => {
    const areBarsDue = clock.mono() - barsAt >= barIntervalMs;
    const isEnd = isOver && isCaughtUp;
    const mustSend = resumeAt !== null || text.isFull();
    const taken = text.take(isEnd ? 'all' : areBarsDue || mustSend ? 'bars' : 'lines');
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
        if (resumeAt === null && !text.isFull()) await fill(isOver);
        const piece = takePiece(isOver);
        const isEnd = isOver && isCaughtUp;
        if (piece !== null) return { ...piece, isLast: isEnd && text.isEmpty() };
        if (resumeAt !== null) {
          from = resumeAt;
          at = resumeAt;
          text = await createText(deps, at, limit);
          resumeAt = null;
        } else if (isEnd) return { from, to: Math.max(from, at), text: '', isLast: true };
        else if (isCaughtUp) return null;
      }
    },
  };
}

/** Creates a text that begins at an offset, with the output before the offset as its context. */
async function createText(
  { log, knownSecrets, ownLine }: LogFeedDeps,
  offset: number,
  limit: number,
): Promise<LogText> {
  const before: Uint8Array[] = [];
  for (let at = Math.max(0, offset - contextBytes); at < offset; ) {
    const { from, bytes } = await log.read(at, offset - at);
    if (bytes.length === 0 || from >= offset) break;
    // Output before a gap is not the context of the output after the gap.
    if (from > at) before.length = 0;
    const part = Buffer.from(bytes.subarray(0, offset - from));
    before.push(part);
    at = from + part.length;
  }
  return createLogText({ offset, before: Buffer.concat(before), limit, knownSecrets, ownLine });
}

/** Returns the start of the first line after an offset; the offset itself if no line starts soon. */
async function nextLineStart(log: LogFeedDeps['log'], offset: number): Promise<number> {
  const { from, bytes } = await log.read(offset, readBytes);
  return from + bytes.indexOf(10) + 1;
}
