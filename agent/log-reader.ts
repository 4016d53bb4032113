import { open, stat } from 'node:fs/promises';
import { type LogPlaces, readPlaces, type RunFolder } from './guard-files.ts';

/** Reads what a guard logs, from the beginning of its run. The bytes of an answer are good until the next is asked for. */
export interface LogReader {
  /** The next bytes; none when all has been read. */
  next(): Promise<Uint8Array>;
  /** How many bytes are still to be read. */
  behind(): Promise<number>;
  /** Passes over all but the last `bytes` of them. */
  skipTo(bytes: number): Promise<void>;
  /** Those at a place, at most so many; `from` is beyond it when what was there is lost. What `next` gives stays the same. */
  read(place: number, most: number): Promise<LogPiece>;
  /** The place behind the last of them; 0 when nobody has written any. */
  end(): Promise<number>;
}

export interface LogPiece {
  readonly from: number;
  /** None when there are no more. */
  readonly bytes: Uint8Array;
}

const chunkBytes = 256 * 1024;

export function createLogReader(run: RunFolder, file: string): LogReader {
  let position = 0;
  /** One for all that is ever read: at 20 MB a second new ones would be in memory long before they are cleared away. */
  const room = Buffer.allocUnsafeSlow(chunkBytes);

  const end = async (): Promise<number> => {
    const places = readPlaces(run);
    return places === null ? 0 : places.current + (await sizeOf(file));
  };

  /** From one of the two files, as they lay; null when the rest of the older one is not there. */
  const readFile = async (
    { current, previous }: LogPlaces,
    from: number,
    most: number,
  ): Promise<Uint8Array | null> => {
    if (from >= current) return readAt(file, from - current, room.subarray(0, most));
    const bytes = await readAt(
      `${file}.1`,
      from - (previous ?? current),
      room.subarray(0, Math.min(most, current - from)),
    );
    return bytes.length === 0 ? null : bytes;
  };

  const read = async (place: number, most: number): Promise<LogPiece> => {
    let from = place;
    for (;;) {
      const places = readPlaces(run);
      if (places === null) return { from: place, bytes: new Uint8Array() };
      // What is in neither file any more is lost here.
      from = Math.max(from, places.previous ?? places.current);
      const bytes = await readFile(places, from, most);
      // The files took turns meanwhile: nobody knows of which of them these bytes are.
      const now = readPlaces(run);
      if (now?.current !== places.current || now.previous !== places.previous) continue;
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

async function readAt(file: string, offset: number, room: Uint8Array): Promise<Uint8Array> {
  try {
    const handle = await open(file, 'r');
    try {
      const { bytesRead } = await handle.read(room, 0, room.length, offset);
      return room.subarray(0, bytesRead);
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
