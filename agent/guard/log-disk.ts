import { type FileHandle, open, rename } from 'node:fs/promises';
import { basename } from 'node:path';
import type { LogPlaces } from './guard-files.ts';

export interface LogDiskDeps {
  readonly file: string;
  /** The maximum size of each of the two files: this one, and the one before it (`FILE.1`). */
  readonly maxBytes: number;
  /** Called before the first byte is written to a file, for each new file, and before the older one is discarded. */
  readonly onPlaces: (places: LogPlaces) => void;
}

/** A log of bounded size: two files that rotate. */
export interface LogDisk {
  /** Resolves with the number of bytes, from the end, that could not be written. */
  append(bytes: Uint8Array): Promise<number>;
  close(): Promise<void>;
}

/** The first line of every file but the first, for people who read the file. */
export const firstLine = (file: string): string =>
  `[trainyard: this goes on from ${basename(file)}.1; what was before that is not kept]`;

/** A line that crosses the limit is finished first, unless it is longer than this. */
const maxLine = 64 * 1024;

export function createLogDisk({ file, maxBytes, onPlaces }: LogDiskDeps): LogDisk {
  let handle: FileHandle | null = null;
  let places: LogPlaces | null = null;
  let isShown = false;
  /** The size of the current file. */
  let size = 0;

  const update = (next: LogPlaces, nextSize: number): void => {
    places = next;
    size = nextSize;
    isShown = false;
  };

  const begin = async (): Promise<FileHandle> => {
    if (handle === null) {
      handle = await open(file, 'a', 0o600);
      const { size: found } = await handle.stat();
      // The file begins with output of an earlier attempt, or another program has emptied it.
      const written = (places?.current ?? 0) + size;
      if (places === null || found !== size)
        update({ current: written - found, previous: places?.previous ?? null }, found);
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
    update({ current: previous + size, previous }, 0);
    await put(Buffer.from(`${firstLine(file)}\n`));
  };

  /**
   * Announces that the older file is discarded, before that happens. A reader must not confuse the newer file with it.
   */
  const forsake = (): void => {
    if (places === null || places.previous === null) return;
    try {
      onPlaces({ ...places, previous: null });
    } catch {
      // The disk is full. Discarding the older file makes room.
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
        // After it is reopened, a log may be writable again, for example on a network disk that was away.
        await drop().catch(() => {});
      }
      return left.length;
    },
    close: () => drop().catch(() => {}),
  };
}

/** The bytes that still fit into the current file: up to the end of the line that reaches the limit. */
function upToBound(bytes: Uint8Array, room: number): Uint8Array {
  if (bytes.length <= room) return bytes;
  const from = Math.max(room - 1, 0);
  const end = bytes.subarray(from, from + maxLine).findIndex(byte => byte === 10 || byte === 13);
  return end < 0 ? bytes.subarray(0, Math.max(room, 1)) : bytes.subarray(0, from + end + 1);
}
