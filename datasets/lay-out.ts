import { constants } from 'node:fs';
import { copyFile, link, lstat, mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { DatasetFile } from '../protocol/dataset.ts';
import type { ContentFiles } from './content-files.ts';

export type LaidOut =
  | { readonly ok: true }
  /** A sentence without its full stop. */
  | { readonly ok: false; readonly reason: string };

export interface LayOutOptions {
  /** Files of the dataset, from `parseManifest`, so that their paths are valid. */
  readonly files: readonly DatasetFile[];
  readonly contents: Pick<ContentFiles, 'pathOf'>;
  /** The folder to fill; created if needed. Other files in it stay, because trainers store caches beside the images. */
  readonly folder: string;
  readonly platform: NodeJS.Platform;
  readonly signal: AbortSignal;
}

/**
 * Recreates the folder of a dataset. Its files are hard links to the read-only contents, or copies if the file system has no hard
 * links. Trainers can add files to the folder. Rejects when the disk cannot be written, or when the signal fires.
 */
export async function layOut({ files, contents, folder, platform, signal }: LayOutOptions): Promise<LaidOut> {
  const refused = platform === 'win32' ? files.find(({ path }) => isImpossibleOnWindows(path)) : undefined;
  if (refused !== undefined)
    return {
      ok: false,
      reason: `The dataset has the file ${JSON.stringify(refused.path)}, a name that Windows cannot store: rename it, or run the job on Linux`,
    };
  const created = new Set<string>();
  for (const { path, bytes, sha256 } of files) {
    signal.throwIfAborted();
    const target = join(folder, path);
    if (!created.has(dirname(target))) {
      await mkdir(dirname(target), { recursive: true, mode: 0o700 });
      created.add(dirname(target));
    }
    await linkFile(contents.pathOf(sha256), target, bytes);
  }
  return { ok: true };
}

async function linkFile(source: string, target: string, bytes: number): Promise<void> {
  try {
    await link(source, target);
  } catch (cause) {
    if (hasCode(cause, 'EEXIST')) {
      const stats = await lstat(target);
      if (!stats.isFile()) throw cause;
      // The file is from an earlier attempt on this rig. At this path, the content is always the same.
      if (stats.size === bytes) return;
      // An interrupted copy has left a shorter file.
      await rm(target);
      return linkFile(source, target, bytes);
    }
    if (!hasCode(cause, 'EXDEV', 'EPERM', 'EMLINK', 'ENOTSUP', 'EOPNOTSUPP')) throw cause;
    await copyFile(source, target, constants.COPYFILE_FICLONE);
  }
}

const hasCode = (cause: unknown, ...codes: readonly string[]): boolean =>
  cause instanceof Error && 'code' in cause && codes.includes(String(cause.code));

const reservedName = /^(?:con|prn|aux|nul|(?:com|lpt)[0-9¹²³])(?:\.|$)/i;

const isImpossibleOnWindows = (path: string): boolean =>
  path.split('/').some(name => /[<>:"|?*]|[. ]$/.test(name) || reservedName.test(name));
