import { type FileHandle, open, rename } from 'node:fs/promises';
import { basename } from 'node:path';
import type { LogPlaces } from './guard-files.ts';

export interface LogDiskParts {
  readonly file: string;
  /** Of one file; there are two, this one and the one before it (`FILE.1`). */
  readonly maxBytes: number;
  /** Told before the first byte is written to a file, each time when a new one is begun, and before the older one is given up. */
  readonly onPlaces: (places: LogPlaces) => void;
}

/** A log in a bounded space: two files that take turns. */
export interface LogDisk {
  /** Answers how many of the bytes, from the end, could not be written. */
  append(bytes: Uint8Array): Promise<number>;
  close(): Promise<void>;
}

/** Of every file but the first: for people who look into it. */
export const firstLine = (file: string): string =>
  `[trainyard: this goes on from ${basename(file)}.1; what was before that is not kept]`;

/** A line that crosses the bound is finished first, unless it is longer than this. */
const longestLine = 64 * 1024;

export function createLogDisk({ file, maxBytes, onPlaces }: LogDiskParts): LogDisk {
  let handle: FileHandle | null = null;
  let places: LogPlaces | null = null;
  let isShown = false;
  /** Of the current file. */
  let size = 0;

  const place = (next: LogPlaces, nextSize: number): void => {
    places = next;
    size = nextSize;
    isShown = false;
  };

  const begin = async (): Promise<FileHandle> => {
    if (handle === null) {
      handle = await open(file, 'a', 0o600);
      const { size: found } = await handle.stat();
      // What is in front is of an earlier attempt; or somebody has emptied the file.
      const written = (places?.current ?? 0) + size;
      if (places === null || found !== size)
        place({ current: written - found, previous: places?.previous ?? null }, found);
    }
    if (!isShown && places !== null) onPlaces(places);
    isShown = true;
    return handle;
  };

  const turn = async (): Promise<void> => {
    await drop();
    forsake();
    await rename(file, `${file}.1`);
    const previous = places?.current ?? 0;
    place({ current: previous + size, previous }, 0);
    await put(Buffer.from(`${firstLine(file)}\n`));
  };

  /** Said before it is done: a reader of the older file must not take the newer one for it. */
  const forsake = (): void => {
    if (places === null || places.previous === null) return;
    try {
      onPlaces({ ...places, previous: null });
    } catch {
      // A disk that is full: what is given up here makes room.
    }
  };

  const put = async (bytes: Uint8Array): Promise<number> => {
    const { bytesWritten } = await (await begin()).write(bytes);
    if (bytesWritten === 0) throw new Error('nothing was written');
    size += bytesWritten;
    return bytesWritten;
  };

  const drop = async (): Promise<void> => {
    const old = handle;
    handle = null;
    await old?.close();
  };

  return {
    async append(bytes) {
      let left = bytes;
      try {
        while (left.length > 0) {
          await begin();
          if (size >= maxBytes) await turn();
          left = left.subarray(await put(upToBound(left, maxBytes - size)));
        }
      } catch {
        // Opened anew, a log may be writable again: after a network disk was away.
        await drop().catch(() => {});
      }
      return left.length;
    },
    close: () => drop().catch(() => {}),
  };
}

/** What goes into the current file yet: up to the end of the line that reaches the bound. */
function upToBound(bytes: Uint8Array, room: number): Uint8Array {
  if (bytes.length <= room) return bytes;
  const from = Math.max(room - 1, 0);
  const end = bytes.subarray(from, from + longestLine).findIndex(byte => byte === 10 || byte === 13);
  return end < 0 ? bytes.subarray(0, Math.max(room, 1)) : bytes.subarray(0, from + end + 1);
}
