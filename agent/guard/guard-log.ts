import type { Clock } from '../clock.ts';
import type { LogDisk } from './log-disk.ts';

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
