import { createHash, randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, rm, rmdir, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { ArtifactFiles, FileEnd } from '../../orchestrator/ports/index.ts';
import { syncFolder } from '../db/sync.ts';

/** Bytes of one read. Large enough to use the full speed of the disk, small enough not to delay other work. */
const chunkBytes = 1_048_576;

/**
 * Stores files as `<folder>/<job>/<file>`, accessible only to their owner. The names on disk are random; only the database has
 * the names that trainers use (docs/adr/0016). Reads, writes and syncs run on the libuv thread pool.
 */
export function createArtifactFiles(folder: string): ArtifactFiles {
  const earlySync = createEarlySync();
  const folderOf = (job: string): string => join(folder, job);
  const pathOf = (job: string, file: string): string => join(folderOf(job), file);
  return {
    newName: () => randomBytes(16).toString('hex'),
    pathOf,
    async open(job, file, at) {
      const handle = await openIn(folderOf(job), pathOf(job, file));
      try {
        await handle.truncate(at);
      } catch (cause) {
        await handle.close();
        throw cause;
      }
      return fileEnd(handle, { at, folders: [folderOf(job), folder], earlySync });
    },
    async sizeOf(job, file) {
      try {
        return (await stat(pathOf(job, file))).size;
      } catch (cause) {
        if (isMissing(cause)) return 0;
        throw cause;
      }
    },
    async digestOf(job, file) {
      const handle = await open(pathOf(job, file), 'r');
      const hash = createHash('sha256');
      for await (const chunk of handle.createReadStream({ highWaterMark: chunkBytes }))
        hash.update(chunk as Uint8Array);
      return hash.digest('hex');
    },
    async remove(job, file) {
      await rm(pathOf(job, file), { force: true });
      // Fails while the folder has other files, as intended.
      await rmdir(folderOf(job)).catch(() => undefined);
    },
    async freeBytes() {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const { bavail, bsize } = await statfs(folder);
      return bavail * bsize;
    },
  };
}

/** Creates the folder and opens the file. Retries, because a concurrent removal of the folder's last file removes the folder. */
async function openIn(folder: string, path: string, triesLeft = 5): Promise<FileHandle> {
  const { O_CREAT, O_WRONLY } = constants;
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return await open(path, O_WRONLY | O_CREAT, 0o600);
  } catch (cause) {
    if (!hasCode(cause, 'ENOENT', 'EEXIST') || triesLeft === 0) throw cause;
    return openIn(folder, path, triesLeft - 1);
  }
}

/**
 * Starts syncing a file before its upload ends. Does nothing while another file is syncing, because libuv has few threads.
 * Resolves when the file can be closed.
 */
type EarlySync = (handle: FileHandle) => Promise<void>;

function createEarlySync(): EarlySync {
  let isBusy = false;
  return async handle => {
    if (isBusy) return;
    isBusy = true;
    // The sync at the end of the upload reports any failure.
    await handle.datasync().catch(() => undefined);
    isBusy = false;
  };
}

interface StartedFile {
  readonly at: number;
  readonly folders: readonly string[];
  readonly earlySync: EarlySync;
}

function fileEnd(handle: FileHandle, { at: started, folders, earlySync }: StartedFile): FileEnd {
  let at = started;
  let syncing: Promise<void> | null = null;
  return {
    async write(bytes) {
      for (let done = 0; done < bytes.length; ) {
        const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, at);
        done += bytesWritten;
        at += bytesWritten;
      }
    },
    async sync() {
      await handle.sync();
      for (const folder of folders) await syncFolder(folder);
    },
    async cutTo(bytes) {
      await handle.truncate(bytes);
      at = bytes;
    },
    beginSync() {
      syncing ??= earlySync(handle);
    },
    async close() {
      if (syncing === null) await handle.close();
      else void syncing.then(() => handle.close()).catch(() => undefined);
    },
  };
}

const hasCode = (cause: unknown, ...codes: readonly string[]): boolean =>
  cause instanceof Error && 'code' in cause && codes.includes(String(cause.code));

const isMissing = (cause: unknown): boolean => hasCode(cause, 'ENOENT');
