import { createHash } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { type FileHandle, chmod, mkdir, open, opendir, rename, rm, stat, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** What a file contains. */
export interface Content {
  readonly bytes: number;
  /** Lower-case hex. */
  readonly sha256: string;
}

/** The part of a file that has arrived, open for writing the rest. */
export interface ContentPart {
  /** Appends. */
  write(bytes: Uint8Array): Promise<void>;
  close(): Promise<void>;
}

/**
 * Stores files by their SHA-256: `<folder>/ab/<the other 62 digits>`, read-only and never written again. An incomplete file has the
 * ending `.part`, so that this process or the next can continue it. Two writers of the same part must not run at once.
 */
export interface ContentFiles {
  pathOf(sha256: string): string;
  /** Whether the content is stored completely and was not modified since. */
  has(content: Content): Promise<boolean>;
  /** How many bytes of an incomplete file have arrived; 0 when it is complete. */
  arrived(sha256: string): Promise<number>;
  /** Opens the part after its first `at` bytes, and drops the rest. Rejects when it has fewer. */
  openPart(sha256: string, at: number): Promise<ContentPart>;
  /**
   * Syncs the part and makes it a complete file. Returns false and removes the part if its bytes are not this content. Reads the part
   * to hash it, unless the caller has written all of it and gives its SHA-256 in `written`.
   */
  keep(content: Content, signal: AbortSignal, written?: Content): Promise<boolean>;
  /** Removes the file and its part. */
  remove(sha256: string): Promise<void>;
  /** Every complete content, in no particular order. */
  all(): AsyncIterable<string>;
  /** Every incomplete content, with the bytes that have arrived. */
  parts(): AsyncIterable<Content>;
  /** The size of all files here, parts included. */
  bytesHeld(): Promise<number>;
  /** Removes the parts last written before `before`, in milliseconds since 1970. */
  removePartials(before: number): Promise<void>;
}

const chunkBytes = 1_048_576;
const partEnding = '.part';
/** The modification time of every file. A write that the permissions do not prevent, such as one by root, changes it. */
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
    arrived: async sha256 => (await statsOf(partOf(sha256)))?.size ?? 0,
    async openPart(sha256, at) {
      const path = partOf(sha256);
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      const handle = await open(path, constants.O_WRONLY | constants.O_CREAT | noFollow, 0o600);
      try {
        const { size } = await handle.stat();
        if (size < at) throw new RangeError(`${size} bytes have arrived, and not ${at}`);
        await handle.truncate(at);
        return partAt(handle, at);
      } catch (cause) {
        await handle.close();
        throw cause;
      }
    },
    async keep({ sha256, bytes }, signal, written) {
      const part = partOf(sha256);
      const found = await digestAndSync(part, signal, written ?? null);
      if (found.sha256 !== sha256 || found.bytes !== bytes) {
        await rm(part, { force: true });
        return false;
      }
      // Set the time before the rename: a process that is killed in between would leave a file that looks changed.
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
    async bytesHeld() {
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

/** Null when the file does not exist. */
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

async function digestAndSync(path: string, signal: AbortSignal, known: Content | null): Promise<Content> {
  const hash = createHash('sha256');
  const buffer = Buffer.allocUnsafe(chunkBytes);
  const handle = await open(path, constants.O_RDWR | noFollow);
  try {
    await handle.sync();
    if (known !== null) return known;
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

/** Syncs the names in a folder. Windows cannot open folders, and keeps their names safe by itself. */
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

/** Ensures that only one caller at a time works on a content. */
export interface Locks {
  /** Returns a function that releases the lock; null while another caller has it. */
  take(name: string): (() => void) | null;
}

export function createLocks(): Locks {
  const taken = new Set<string>();
  return {
    take(name) {
      if (taken.has(name)) return null;
      taken.add(name);
      return () => void taken.delete(name);
    },
  };
}
