import { type FileHandle, open, rename } from 'node:fs/promises';
import { basename } from 'node:path';
import type { LogPlaces } from './guard-files.ts';

export interface LogDiskDeps {
  readonly file: string;
  /** The maximum size of each of the two files: the current one, and the older one (`FILE.1`). In bytes. */
  readonly maxBytes: number;
  /** Called before the first byte of each new file is written, and before the older file is discarded. */
  readonly onPlaces: (places: LogPlaces) => void;
}

/** A log of bounded size: two files that rotate. */
export interface LogDisk {
  /** Resolves with the number of bytes at the end that could not be written. */
  append(bytes: Uint8Array): Promise<number>;
  close(): Promise<void>;
}

/** The first line of every file but the first, for people who read the file. */
export const firstLine = (file: string): string =>
  `[trainyard: this goes on from ${basename(file)}.1; what was before that is not kept]`;

/** The files rotate at the next line break. If that is more than this many bytes away, the line is split. */
const maxLine = 64 * 1024;

export function createLogDisk({ file, maxBytes, onPlaces }: LogDiskDeps): LogDisk {
  let handle: FileHandle | null = null;
  let places: LogPlaces | null = null;
  let arePlacesAnnounced = false;
  /** The size of the current file. */
  let size = 0;

  const setPlaces = (next: LogPlaces, nextSize: number): void => {
    places = next;
    size = nextSize;
    arePlacesAnnounced = false;
  };

  const openLog = async (): Promise<FileHandle> => {
    if (handle === null) {
      handle = await open(file, 'a', 0o600);
      const { size: sizeOnDisk } = await handle.stat();
      // The size differs if the file begins with output of an earlier attempt, or if another program has emptied the file.
      const written = (places?.current ?? 0) + size;
      if (places === null || sizeOnDisk !== size)
        setPlaces({ current: written - sizeOnDisk, previous: places?.previous ?? null }, sizeOnDisk);
    }
    if (!arePlacesAnnounced && places !== null) onPlaces(places);
    arePlacesAnnounced = true;
    return handle;
  };

  const rotate = async (): Promise<void> => {
    await closeLog();
    announceDiscard();
    await rename(file, `${file}.1`);
    const previous = places?.current ?? 0;
    setPlaces({ current: previous + size, previous }, 0);
    await writeSome(Buffer.from(`${firstLine(file)}\n`));
  };

  /** Announces that the older file will be discarded, so that a reader does not confuse the file with its successor. */
  const announceDiscard = (): void => {
    if (places === null || places.previous === null) return;
    try {
      onPlaces({ ...places, previous: null });
    } catch {
      // The disk is full. Discarding the older file makes room.
    }
  };

  const writeSome = async (bytes: Uint8Array): Promise<number> => {
    const { bytesWritten } = await (await openLog()).write(bytes);
    if (bytesWritten === 0) throw new Error('nothing was written');
    size += bytesWritten;
    return bytesWritten;
  };

  const closeLog = async (): Promise<void> => {
    const old = handle;
    handle = null;
    await old?.close();
  };

  return {
    async append(bytes) {
      let left = bytes;
      try {
        while (left.length > 0) {
          await openLog();
          if (size >= maxBytes) await rotate();
          left = left.subarray(await writeSome(fittingPart(left, maxBytes - size)));
        }
      } catch {
        // A reopened log may be writable again, for example after a network disk was unavailable.
        await closeLog().catch(() => {});
      }
      return left.length;
    },
    close: () => closeLog().catch(() => {}),
  };
}

/** Returns the bytes for the current file: up to the end of the line that reaches its limit. */
function fittingPart(bytes: Uint8Array, room: number): Uint8Array {
  if (bytes.length <= room) return bytes;
  const from = Math.max(room - 1, 0);
  const end = bytes.subarray(from, from + maxLine).findIndex(byte => byte === 10 || byte === 13);
  return end < 0 ? bytes.subarray(0, Math.max(room, 1)) : bytes.subarray(0, from + end + 1);
}
