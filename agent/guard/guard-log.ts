import type { Readable } from 'node:stream';
import type { Clock } from '../clock.ts';
import type { LogDisk } from './log-disk.ts';
import { createProgressReader, createTail } from '../metrics/progress.ts';

/** Writes the output of a trainer to the log of its run. Drops output that the disk does not accept. */
export interface GuardLog {
  /** Resolves when the queue has room for more. This is immediate if the disk is fast enough. */
  write(chunk: Uint8Array): Promise<void>;
  /** Resolves when everything is written, or when the disk has made no progress for too long. */
  close(): Promise<void>;
}

const mib = 1024 * 1024;
/** While more bytes than this are queued, the trainer's output is not read, so the trainer has to wait. */
const pauseAboveBytes = mib;
/** Output beyond this many queued bytes is dropped, so that a disk that hangs does not block the trainer. */
const maxQueuedBytes = 4 * mib;
/** The trainer waits at most this long for a disk that makes no progress. */
const stuckAfterMs = 2_000;
/** At the end of a run, the guard drops the rest of the log after this time without progress of the disk. */
const closeTimeoutMs = 5_000;

const gapMarkerOf = (bytes: number): Uint8Array =>
  Buffer.from(`\n[trainyard: ${bytes} bytes of output could not be written here]\n`);

/** When the disk is full or hangs, output is lost, but the trainer continues. A line in the log marks each gap. */
export function createGuardLog(disk: LogDisk, clock: Clock): GuardLog {
  let queue: Uint8Array[] = [];
  let queued = 0;
  /** Bytes that were dropped since the queue last had room. */
  let droppedBytes = 0;
  /** Bytes that the disk has rejected since its last successful write. */
  let unwrittenBytes = 0;
  let isStuck = false;
  let isWriting = false;
  const waiting = new Set<() => void>();

  const push = (bytes: Uint8Array): void => {
    queue.push(bytes);
    queued += bytes.length;
  };

  const append = async (bytes: Uint8Array): Promise<void> => {
    const gapMarker = unwrittenBytes === 0 ? new Uint8Array() : gapMarkerOf(unwrittenBytes);
    const missing = await disk.append(Buffer.concat([gapMarker, bytes]));
    unwrittenBytes = missing > bytes.length ? unwrittenBytes + bytes.length : missing;
  };

  const writeQueue = async (): Promise<void> => {
    isWriting = true;
    while (queued > 0) {
      const batch = Buffer.concat(queue);
      queue = [];
      await append(batch);
      queued -= batch.length;
      isStuck = false;
      for (const wake of waiting) wake();
    }
    isWriting = false;
  };

  /** Waits until the disk has written something. Resolves with false after `ms`. */
  const waitForProgress = (ms: number): Promise<boolean> =>
    new Promise(resolve => {
      const answer = (hasProgressed: boolean): void => {
        cancelTimer();
        waiting.delete(wake);
        resolve(hasProgressed);
      };
      const wake = (): void => answer(true);
      const cancelTimer = clock.after(ms, () => answer(false));
      waiting.add(wake);
    });

  return {
    async write(chunk) {
      if (queued + chunk.length > maxQueuedBytes) droppedBytes += chunk.length;
      else {
        if (droppedBytes > 0) push(gapMarkerOf(droppedBytes));
        droppedBytes = 0;
        push(chunk);
        if (!isWriting) void writeQueue();
      }
      while (queued > pauseAboveBytes && !isStuck) isStuck = !(await waitForProgress(stuckAfterMs));
    },
    async close() {
      if (droppedBytes > 0) push(gapMarkerOf(droppedBytes));
      if (!isWriting) void writeQueue();
      while (queued > 0) if (!(await waitForProgress(closeTimeoutMs))) return;
      if (unwrittenBytes > 0) await append(new Uint8Array());
      await disk.close();
    },
  };
}

/** The time in ms after which an unfinished line is logged without a line break. */
const lineTimeoutMs = 250;
/** An unfinished line longer than this many bytes is logged immediately. */
const maxLine = 64 * 1024;
/** The number of bytes to remember for `tail`. */
const tailBytes = 128 * 1024;

/** Merges stdout and stderr of a trainer into one text, without mixing two lines. */
interface GuardOutput {
  /** Reads a stream to its end. */
  drain(stream: Readable): Promise<void>;
  /** The last lines, for an error message. */
  tail(): string;
}

export function createGuardOutput(log: GuardLog, clock: Clock): GuardOutput {
  const recent = createRecent(tailBytes);
  /** The stream whose unfinished line is at the end of the log; null when the log ends with a line break. */
  let open: Readable | null = null;

  const put = async (stream: Readable, bytes: Uint8Array): Promise<void> => {
    if (bytes.length === 0) return;
    const isMixed = open !== null && open !== stream && !isBreak(bytes[0]);
    const text = isMixed ? Buffer.concat([lineBreak, bytes]) : bytes;
    open = isBreak(bytes.at(-1)) ? null : stream;
    recent.push(text);
    await log.write(text);
  };

  return {
    async drain(stream) {
      let rest: Uint8Array = new Uint8Array();
      let cancelTimer = (): void => {};
      const flush = (): Promise<void> => {
        const unfinished = rest;
        rest = new Uint8Array();
        return put(stream, unfinished);
      };
      try {
        for await (const chunk of stream) {
          cancelTimer();
          const text = Buffer.concat([rest, bytesOf(chunk)]);
          const end = text.length > maxLine ? text.length : afterLastBreak(text);
          rest = text.subarray(end);
          await put(stream, text.subarray(0, end));
          if (rest.length > 0) cancelTimer = clock.after(lineTimeoutMs, () => void flush());
        }
      } catch {
        // At the end of a run, the guard closes the stream even if another process still has the pipe open. Keep the lines
        // that were read before.
      }
      cancelTimer();
      await flush();
    },
    tail: () => tailOf(recent.bytes()),
  };
}

const lineBreak = Buffer.from('\n');
const isBreak = (byte: number | undefined): boolean => byte === 10 || byte === 13;
const bytesOf = (chunk: unknown): Uint8Array =>
  chunk instanceof Uint8Array ? chunk : Buffer.from(String(chunk));
const afterLastBreak = (text: Uint8Array): number => Math.max(text.lastIndexOf(10), text.lastIndexOf(13)) + 1;

/** Keeps the last `minBytes` bytes that were pushed, and up to one chunk more. */
function createRecent(minBytes: number) {
  const chunks: Uint8Array[] = [];
  let length = 0;
  return {
    push(chunk: Uint8Array): void {
      chunks.push(chunk);
      length += chunk.length;
      while (length - (chunks[0]?.length ?? 0) >= minBytes) length -= chunks.shift()?.length ?? 0;
    },
    bytes: (): Uint8Array => Buffer.concat(chunks),
  };
}

function tailOf(bytes: Uint8Array): string {
  const reader = createProgressReader();
  const tail = createTail();
  for (const item of [...reader.push(bytes), ...reader.end()]) {
    // Leave out lines that the next line overwrites on a terminal.
    if (item.kind === 'line' && !item.redraw) tail.push(item.text);
  }
  return tail.text();
}
