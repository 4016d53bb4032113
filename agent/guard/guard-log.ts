import type { Readable } from 'node:stream';
import type { Clock } from '../clock.ts';
import type { LogDisk } from './log-disk.ts';
import { createProgressReader, createTail } from '../metrics/progress.ts';

/** The log of a run: everything that its trainer prints, as far as it can be written. */
export interface GuardLog {
  /** Resolves when the queue has room for more: immediately, when the disk keeps up. */
  write(chunk: Uint8Array): Promise<void>;
  /** Resolves when everything is written, or when that is not possible. */
  close(): Promise<void>;
}

const mib = 1024 * 1024;
/** When more than this waits for the disk, the trainer waits, too. */
const highBytes = mib;
/** When more than this would wait, output is dropped, so that a disk that hangs does not block the trainer. */
const maxBytes = 4 * mib;
const stuckMs = 2_000;
/** How long the disk may make no progress at the end of a run, before the log is given up. */
const closeMs = 5_000;

const markOf = (bytes: number): Uint8Array =>
  Buffer.from(`\n[trainyard: ${bytes} bytes of output could not be kept here]\n`);

/**
 * A full disk, or one that hangs, loses output but never stops the trainer. A line in the log marks what is missing.
 */
export function createGuardLog(disk: LogDisk, clock: Clock): GuardLog {
  let queue: Uint8Array[] = [];
  let queued = 0;
  /** Bytes that were dropped since the queue last had room. */
  let leftOut = 0;
  /** Bytes that the disk did not accept since its last write. */
  let refused = 0;
  let isStuck = false;
  let isWorking = false;
  const waiting = new Set<() => void>();

  const push = (bytes: Uint8Array): void => {
    queue.push(bytes);
    queued += bytes.length;
  };

  const append = async (bytes: Uint8Array): Promise<void> => {
    const mark = refused === 0 ? new Uint8Array() : markOf(refused);
    const missing = await disk.append(Buffer.concat([mark, bytes]));
    refused = missing > bytes.length ? refused + bytes.length : missing;
  };

  const work = async (): Promise<void> => {
    isWorking = true;
    while (queued > 0) {
      const batch = Buffer.concat(queue);
      queue = [];
      await append(batch);
      queued -= batch.length;
      isStuck = false;
      for (const wake of waiting) wake();
    }
    isWorking = false;
  };

  /** Waits until the disk has written something. Resolves with false after `ms`. */
  const moved = (ms: number): Promise<boolean> =>
    new Promise(resolve => {
      const answer = (isMoved: boolean): void => {
        takeBack();
        waiting.delete(wake);
        resolve(isMoved);
      };
      const wake = (): void => answer(true);
      const takeBack = clock.after(ms, () => answer(false));
      waiting.add(wake);
    });

  return {
    async write(chunk) {
      if (queued + chunk.length > maxBytes) leftOut += chunk.length;
      else {
        if (leftOut > 0) push(markOf(leftOut));
        leftOut = 0;
        push(chunk);
        if (!isWorking) void work();
      }
      while (queued > highBytes && !isStuck) isStuck = !(await moved(stuckMs));
    },
    async close() {
      if (leftOut > 0) push(markOf(leftOut));
      if (!isWorking) void work();
      while (queued > 0) if (!(await moved(closeMs))) return;
      if (refused > 0) await append(new Uint8Array());
      await disk.close();
    },
  };
}

/** An unfinished line waits this long for its end. Then it is logged as it is. */
const patienceMs = 250;
const maxLine = 64 * 1024;
const tailBytes = 128 * 1024;

/** Merges the two output streams of a trainer into one text. Neither stream breaks the lines of the other. */
interface GuardOutput {
  /** Reads a stream to its end. */
  drain(stream: Readable): Promise<void>;
  /** The last lines, for an error message. */
  tail(): string;
}

export function createGuardOutput(log: GuardLog, clock: Clock): GuardOutput {
  const recent = createRecent(tailBytes);
  /** The stream whose line is logged, but unfinished. */
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
      let takeBack = (): void => {};
      const flush = (): Promise<void> => {
        const unfinished = rest;
        rest = new Uint8Array();
        return put(stream, unfinished);
      };
      try {
        for await (const chunk of stream) {
          takeBack();
          const text = Buffer.concat([rest, bytesOf(chunk)]);
          const end = text.length > maxLine ? text.length : afterLastBreak(text);
          rest = text.subarray(end);
          await put(stream, text.subarray(0, end));
          if (rest.length > 0) takeBack = clock.after(patienceMs, () => void flush());
        }
      } catch {
        // At the end of a run, the guard closes the stream even if another process holds the pipe. It keeps the lines that it has read.
      }
      takeBack();
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

/** Keeps the last bytes that were pushed: at least `least` of them, and little more. */
function createRecent(least: number) {
  const chunks: Uint8Array[] = [];
  let length = 0;
  return {
    push(chunk: Uint8Array): void {
      chunks.push(chunk);
      length += chunk.length;
      while (length - (chunks[0]?.length ?? 0) >= least) length -= chunks.shift()?.length ?? 0;
    },
    bytes: (): Uint8Array => Buffer.concat(chunks),
  };
}

function tailOf(bytes: Uint8Array): string {
  const reader = createProgressReader();
  const tail = createTail();
  for (const item of [...reader.push(bytes), ...reader.end()]) {
    // A terminal does not keep a line that the next one overwrites, either.
    if (item.kind === 'line' && !item.redraw) tail.push(item.text);
  }
  return tail.text();
}
