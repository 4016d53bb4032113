import { open, stat } from 'node:fs/promises';
import { type LogPlaces, readPlaces, type RunFolder } from './guard-files.ts';

/** Reads what a guard logs, from the beginning of its run. */
export interface LogReader {
  /** The next bytes; none when all has been read. */
  next(): Promise<Uint8Array>;
  /** How many bytes are still to be read. */
  behind(): Promise<number>;
  /** Passes over all but the last `bytes` of them. */
  skipTo(bytes: number): Promise<void>;
}

const chunkBytes = 256 * 1024;

export function createLogReader(run: RunFolder, file: string): LogReader {
  let position = 0;

  const end = async (): Promise<number> => {
    const places = readPlaces(run);
    return places === null ? position : places.current + (await sizeOf(file));
  };

  /** From one of the two files, as they lay; null when the rest of the older one is not there. */
  const read = async ({ current, previous }: LogPlaces, from: number): Promise<Uint8Array | null> => {
    if (from >= current) return readAt(file, from - current, chunkBytes);
    const most = Math.min(chunkBytes, current - from);
    const bytes = await readAt(`${file}.1`, from - (previous ?? current), most);
    return bytes.length === 0 ? null : bytes;
  };

  const next = async (): Promise<Uint8Array> => {
    for (;;) {
      const places = readPlaces(run);
      if (places === null) return new Uint8Array();
      // What is in neither file any more is lost here.
      const from = Math.max(position, places.previous ?? places.current);
      const bytes = await read(places, from);
      // The files took turns meanwhile: nobody knows of which of them these bytes are.
      if (readPlaces(run)?.current !== places.current) continue;
      position = bytes === null ? places.current : from + bytes.length;
      if (bytes !== null) return bytes;
    }
  };

  return {
    next,
    behind: async () => Math.max(0, (await end()) - position),
    async skipTo(bytes) {
      position = Math.max(position, (await end()) - bytes);
    },
  };
}

async function readAt(file: string, offset: number, most: number): Promise<Uint8Array> {
  try {
    const handle = await open(file, 'r');
    try {
      const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(most), 0, most, offset);
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
