import { open, stat } from 'node:fs/promises';
import { type LogPlaces, readPlaces, type RunFolder } from '../guard/guard-files.ts';

/** Reads the log of a guard, from the start of its run. The returned bytes are valid until the next read. */
export interface LogReader {
  /** Returns the next bytes; none when everything is read. */
  next(): Promise<Uint8Array>;
  /** Returns how many bytes are still to be read. */
  behind(): Promise<number>;
  /** Skips all unread bytes but the last `bytes`. */
  skipTo(bytes: number): Promise<void>;
  /**
   * Reads at most `maxBytes` at an offset. If the bytes at the offset are lost, reads from the next existing byte, and
   * returns its offset as `from`. Does not affect `next`.
   */
  read(offset: number, maxBytes: number): Promise<LogPiece>;
  /** Returns the offset after the last byte; 0 when nothing was written. */
  end(): Promise<number>;
}

export interface LogPiece {
  readonly from: number;
  /** Empty at the end of the log. */
  readonly bytes: Uint8Array;
}

const chunkBytes = 256 * 1024;

export function createLogReader(run: RunFolder, file: string): LogReader {
  let position = 0;
  /** One buffer for all reads. At 20 MB per second, new buffers would use much memory before they are collected. */
  const buffer = Buffer.allocUnsafeSlow(chunkBytes);

  const end = async (): Promise<number> => {
    const places = readPlaces(run);
    return places === null ? 0 : places.current + (await sizeOf(file));
  };

  /** Reads from one of the two files. Returns null when the rest of the older one is missing. */
  const readFile = async (
    { current, previous }: LogPlaces,
    from: number,
    maxBytes: number,
  ): Promise<Uint8Array | null> => {
    if (from >= current) return readAt(file, from - current, buffer.subarray(0, maxBytes));
    const bytes = await readAt(
      `${file}.1`,
      from - (previous ?? current),
      buffer.subarray(0, Math.min(maxBytes, current - from)),
    );
    return bytes.length === 0 ? null : bytes;
  };

  const read = async (offset: number, maxBytes: number): Promise<LogPiece> => {
    let from = offset;
    for (;;) {
      const places = readPlaces(run);
      if (places === null) return { from: offset, bytes: new Uint8Array() };
      // Bytes that are in neither of the two files are lost.
      from = Math.max(from, places.previous ?? places.current);
      const bytes = await readFile(places, from, maxBytes);
      // If the files rotated during the read, the bytes may be from the wrong file, so read again.
      const placesAfter = readPlaces(run);
      if (placesAfter?.current !== places.current || placesAfter.previous !== places.previous) continue;
      if (bytes !== null) return { from, bytes };
      from = places.current;
    }
  };

  const next = async (): Promise<Uint8Array> => {
    const { from, bytes } = await read(position, chunkBytes);
    position = from + bytes.length;
    return bytes;
  };

  return {
    next,
    behind: async () => Math.max(0, (await end()) - position),
    async skipTo(bytes) {
      position = Math.max(position, (await end()) - bytes);
    },
    read,
    end,
  };
}

async function readAt(file: string, offset: number, buffer: Uint8Array): Promise<Uint8Array> {
  try {
    const handle = await open(file, 'r');
    try {
      const { bytesRead } = await handle.read(buffer, 0, buffer.length, offset);
      return buffer.subarray(0, bytesRead);
    } finally {
      await handle.close();
    }
  } catch {
    return new Uint8Array();
  }
}

const sizeOf = (file: string): Promise<number> =>
  stat(file).then(
    ({ size }) => size,
    () => 0,
  );
