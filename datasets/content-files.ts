import { createHash } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { type FileHandle, chmod, mkdir, open, opendir, rename, rm, stat, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** The size and the hash of a file's content. */
export interface Content {
  readonly bytes: number;
  /** Lower-case hex. */
  readonly sha256: string;
}

/** An incomplete file, open for writing the rest. */
export interface ContentPart {
  /** Appends bytes to the part. */
  write(bytes: Uint8Array): Promise<void>;
  close(): Promise<void>;
}

/**
 * Stores files by their SHA-256: `<folder>/ab/<the other 62 digits>`. Complete files are read-only and never change. The name of
 * an incomplete file ends in `.part`. Any process can continue a part, but two processes must not write to it at the same time.
 */
export interface ContentFiles {
  pathOf(sha256: string): string;
  /** Returns true if the content is completely stored, and was not modified later. */
  has(content: Content): Promise<boolean>;
  /** Returns the size of an incomplete file; 0 when the file is complete or there is no part. */
  partBytes(sha256: string): Promise<number>;
  /** Opens the part for writing at this offset, and removes all bytes after it. Rejects when the part is shorter. */
  openPart(sha256: string, at: number): Promise<ContentPart>;
  /**
   * Syncs the part, and renames it to a complete file. If its bytes are not this content, removes the part and returns
   * false. Reads the whole part to hash it. A caller that wrote the whole part can avoid the read by passing the size
   * and the hash of its bytes as `written`.
   */
  complete(content: Content, signal: AbortSignal, written?: Content): Promise<boolean>;
  /** Removes the file and its part. */
  remove(sha256: string): Promise<void>;
  /** Yields the SHA-256 of every complete content, in no particular order. */
  all(): AsyncIterable<string>;
  /** Yields every incomplete content, with the number of bytes that are stored. */
  parts(): AsyncIterable<Content>;
  /** Returns the total size of all files and parts, in bytes. */
  totalBytes(): Promise<number>;
  /** Removes the parts that were last written before this time, in milliseconds since 1970. */
  removePartials(before: number): Promise<void>;
}

const chunkBytes = 1_048_576;
const partEnding = '.part';
/** Modification time of every complete file. Another time reveals a later write, which for example root can make. */
const stamp = new Date('2000-01-01T00:00:00Z');

export function createContentFiles(folder: string): ContentFiles {
  const pathOf = (sha256: string): string => join(folder, sha256.slice(0, 2), sha256.slice(2));
  const partOf = (sha256: string): string => pathOf(sha256) + partEnding;
  return {
    pathOf,
    async has({ sha256, bytes }) {
      const stats = await statsOf(pathOf(sha256));
      return stats !== null && stats.size === bytes && stats.mtimeMs === stamp.getTime();
    },
    partBytes: async sha256 => (await statsOf(partOf(sha256)))?.size ?? 0,
    async openPart(sha256, at) {
      const path = partOf(sha256);
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      const handle = await open(path, constants.O_WRONLY | constants.O_CREAT | noFollow, 0o600);
      try {
        const { size } = await handle.stat();
        if (size < at) throw new RangeError(`the part has ${size} bytes instead of ${at}`);
        await handle.truncate(at);
        return partAt(handle, at);
      } catch (cause) {
        await handle.close();
        throw cause;
      }
    },
    async complete({ sha256, bytes }, signal, written) {
      const part = partOf(sha256);
      const actual = await digestAndSync(part, signal, written ?? null);
      if (actual.sha256 !== sha256 || actual.bytes !== bytes) {
        await rm(part, { force: true });
        return false;
      }
      // Set the time before the rename. Otherwise, a crash between the two would leave a complete file that looks modified.
      await utimes(part, stamp, stamp);
      await rename(part, pathOf(sha256));
      await chmod(pathOf(sha256), 0o400);
      await syncNames(dirname(part));
      return true;
    },
    async remove(sha256) {
      await rm(pathOf(sha256), { force: true });
      await rm(partOf(sha256), { force: true });
    },
    async *all() {
      for await (const [path, name] of entriesOf(folder))
        if (!name.endsWith(partEnding)) yield path.slice(-2) + name;
    },
    async *parts() {
      for await (const [path, name] of entriesOf(folder)) {
        const stats = name.endsWith(partEnding) ? await statsOf(join(path, name)) : null;
        if (stats !== null)
          yield { sha256: path.slice(-2) + name.slice(0, -partEnding.length), bytes: stats.size };
      }
    },
    async totalBytes() {
      let bytes = 0;
      for await (const [path, name] of entriesOf(folder))
        bytes += (await statsOf(join(path, name)))?.size ?? 0;
      return bytes;
    },
    async removePartials(before) {
      for await (const [path, name] of entriesOf(folder)) {
        const part = join(path, name);
        if (!name.endsWith(partEnding)) continue;
        const stats = await stat(part).catch(() => null);
        if (stats !== null && stats.mtimeMs < before) await rm(part, { force: true });
      }
    },
  };
}

/** Windows does not have this flag. */
const noFollow = constants.O_NOFOLLOW ?? 0;

/** Returns null when the file does not exist. */
async function statsOf(path: string): Promise<Stats | null> {
  try {
    return await stat(path);
  } catch (cause) {
    if (isMissing(cause)) return null;
    throw cause;
  }
}

const isMissing = (cause: unknown): boolean =>
  cause instanceof Error && 'code' in cause && cause.code === 'ENOENT';

function partAt(handle: FileHandle, start: number): ContentPart {
  let at = start;
  return {
    async write(bytes) {
      for (let done = 0; done < bytes.length; ) {
        const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, at);
        done += bytesWritten;
        at += bytesWritten;
      }
    },
    close: () => handle.close(),
  };
}

async function digestAndSync(path: string, signal: AbortSignal, written: Content | null): Promise<Content> {
  const hash = createHash('sha256');
  const buffer = Buffer.allocUnsafe(chunkBytes);
  const handle = await open(path, constants.O_RDWR | noFollow);
  try {
    await handle.sync();
    if (written !== null) return written;
    let bytes = 0;
    for (;;) {
      signal.throwIfAborted();
      const { bytesRead } = await handle.read(buffer, 0, chunkBytes);
      if (bytesRead === 0) return { bytes, sha256: hash.digest('hex') };
      hash.update(buffer.subarray(0, bytesRead));
      bytes += bytesRead;
    }
  } finally {
    await handle.close();
  }
}

/** Makes new file names in a folder durable. Windows needs no sync for that, and cannot open folders. */
async function syncNames(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Yields folder and name of each file in the subfolders. */
async function* entriesOf(folder: string): AsyncIterable<readonly [folder: string, name: string]> {
  for (let byte = 0; byte < 256; byte += 1) {
    const subfolder = join(folder, byte.toString(16).padStart(2, '0'));
    const entries = await opendir(subfolder).catch((cause: unknown) => {
      if (isMissing(cause)) return [];
      throw cause;
    });
    for await (const { name } of entries) yield [subfolder, name];
  }
}

/** Named locks, so that only one caller at a time works on a content. */
export interface Locks {
  /** Acquires a lock. Returns a function that releases it; null while another caller has it. */
  acquire(name: string): (() => void) | null;
}

export function createLocks(): Locks {
  const lockedNames = new Set<string>();
  return {
    acquire(name) {
      if (lockedNames.has(name)) return null;
      lockedNames.add(name);
      return () => void lockedNames.delete(name);
    },
  };
}
