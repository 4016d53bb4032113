import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  appendFileSync,
  linkSync,
  mkdirSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type HashCache, openHashCache } from '../../../datasets/file-hashes.ts';
import { indexFolder, type IndexOutcome, type IndexProgress } from '../../../datasets/index-folder.ts';
import { temporaryFolder } from '../../support/processes.ts';

const neverAborted = new AbortController().signal;
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

function folderWith(files: Readonly<Record<string, string>>): string {
  const root = temporaryFolder();
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

const noCache: HashCache = { find: () => null, note: () => {}, save: () => Promise.resolve() };

const index = (
  root: string,
  options: { readonly cache?: HashCache; readonly onProgress?: (progress: IndexProgress) => void } = {},
): Promise<IndexOutcome> =>
  indexFolder({ root, cache: noCache, signal: neverAborted, onProgress: () => {}, ...options });

/** Indexes a folder, and throws if it cannot be pushed. */
async function indexValid(root: string, cache?: HashCache) {
  const outcome = await index(root, cache && { cache });
  if (!outcome.ok) throw new Error(outcome.problems.join('; '));
  return outcome.folder;
}

/** Returns the problems of a folder that cannot be pushed. */
async function problemsOf(root: string): Promise<readonly string[]> {
  const outcome = await index(root);
  return outcome.ok ? [] : outcome.problems;
}

describe('indexing a folder', () => {
  test('lists files by path with their hashes, and skips clutter such as .DS_Store and .git', async () => {
    const root = folderWith({
      'b/写真 1.jpg': 'jpeg',
      'a.txt': '',
      'b/a.txt': 'a cat',
      '.DS_Store': 'x',
      'b/._a.txt': 'x',
      '.git/config': 'x',
    });
    const { files, bytes, skipped, sources } = await indexValid(root);
    expect(files).toEqual([
      { path: 'a.txt', bytes: 0, sha256: sha256('') },
      { path: 'b/a.txt', bytes: 5, sha256: sha256('a cat') },
      { path: 'b/写真 1.jpg', bytes: 4, sha256: sha256('jpeg') },
    ]);
    expect([bytes, skipped]).toEqual([9, 3]);
    expect(statSync(sources.get('b/a.txt') ?? '').size).toBe(5);
  });

  test('indexes a folder behind a link, and a single file', async () => {
    const root = folderWith({ 'a.txt': 'a' });
    const link = join(temporaryFolder(), 'data');
    symlinkSync(root, link);
    expect((await indexValid(link)).files).toEqual((await indexValid(root)).files);
    expect((await indexValid(join(root, 'a.txt'))).files).toEqual([
      { path: 'a.txt', bytes: 1, sha256: sha256('a') },
    ]);
  });

  test('reports progress until all files and bytes are done', async () => {
    const root = folderWith({ 'a.txt': 'aaa', 'b.txt': 'bb' });
    const updates: IndexProgress[] = [];
    await index(root, { onProgress: progress => updates.push(progress) });
    expect(updates.at(-1)).toEqual({ filesDone: 2, files: 2, bytesDone: 5, bytes: 5 });
  });

  test('rejects when the folder is missing', async () => {
    await expect(index(join(temporaryFolder(), 'none'))).rejects.toThrow('ENOENT');
  });

  test('refuses a dataset folder without files', async () => {
    expect(await problemsOf(temporaryFolder())).toEqual(['The dataset has no files']);
  });

  test('rejects when the indexing is aborted', async () => {
    const root = folderWith({ 'a.txt': 'a' });
    const aborted = AbortSignal.abort(new Error('the user has stopped it'));
    await expect(
      indexFolder({ root, cache: noCache, signal: aborted, onProgress: () => {} }),
    ).rejects.toThrow('the user has stopped it');
  });
});

describe('links in an indexed folder', () => {
  test('lists symbolic and hard links to files of the folder under the path of the link', async () => {
    const root = folderWith({ 'a.txt': 'a' });
    symlinkSync('a.txt', join(root, 'b.txt'));
    linkSync(join(root, 'a.txt'), join(root, 'c.txt'));
    expect((await indexValid(root)).files.map(({ path }) => path)).toEqual(['a.txt', 'b.txt', 'c.txt']);
  });

  test('refuses links to folders and to outside files, and names each link', async () => {
    const outside = folderWith({ 'secret.txt': 's' });
    const root = folderWith({ 'sub/a.txt': 'a' });
    symlinkSync(outside, join(root, 'folder-out'));
    symlinkSync(join(outside, 'secret.txt'), join(root, 'file-out'));
    symlinkSync('sub', join(root, 'folder-in'));
    symlinkSync('.', join(root, 'loop'));
    symlinkSync('nowhere', join(root, 'dangling'));
    const problems = (await problemsOf(root)).toSorted();
    expect(problems).toEqual([
      'dangling is a link to something that does not exist',
      expect.stringMatching(/^file-out is a link to .*secret\.txt, which is outside the folder/),
      'folder-in is a link to a folder: a trainer would see its files twice',
      expect.stringMatching(/^folder-out is a link to .*, which is outside the folder/),
      'loop is a link to a folder: a trainer would see its files twice',
    ]);
  });

  test.skipIf(process.platform === 'win32')('refuses a folder that contains a pipe', async () => {
    const root = folderWith({ 'a.txt': 'a' });
    execFileSync('mkfifo', [join(root, 'pipe')]);
    expect(await problemsOf(root)).toEqual(['pipe is neither a file nor a folder']);
  });
});

describe('a file that changes during indexing', () => {
  /** Creates a folder whose file grows by one byte in each of the first `times` progress updates. */
  const growingFolder = (times: number) => {
    const root = folderWith({ 'a.txt': 'a' });
    let remaining = times;
    const onProgress = ({ bytesDone }: IndexProgress): void => {
      if (bytesDone === 0 || remaining === 0) return;
      remaining -= 1;
      appendFileSync(join(root, 'a.txt'), 'a');
    };
    return { root, onProgress };
  };

  test('reads a changing file again until it is stable', async () => {
    const { root, onProgress } = growingFolder(1);
    expect(await index(root, { onProgress })).toMatchObject({
      ok: true,
      folder: { files: [{ bytes: 2, sha256: sha256('aa') }] },
    });
  });

  test('refuses a file that keeps changing', async () => {
    const { root, onProgress } = growingFolder(100);
    expect(await index(root, { onProgress })).toEqual({
      ok: false,
      problems: ['a.txt is changing: push the folder again when no program writes to it'],
    });
  });
});

describe('cache of hashes', () => {
  /** Returns a time in the future, so that the files of the test are old enough for the cache. */
  const minuteLater = (): number => Date.now() + 60_000;
  /** Wraps a cache. `read` lists the files that the index had to read, because the cache lacked them. */
  const recordReads = (cache: HashCache): HashCache & { readonly read: string[] } => {
    const read: string[] = [];
    return {
      ...cache,
      read,
      note(path, ...rest) {
        read.push(path);
        cache.note(path, ...rest);
      },
    };
  };
  const indexWithCache = async (folder: string, root: string, now = minuteLater) => {
    const cache = recordReads(await openHashCache(folder, root, now));
    const { files } = await indexValid(root, cache);
    await cache.save();
    return { files, read: cache.read.toSorted() };
  };

  test('reads only new files when the other hashes are cached', async () => {
    const [folder, root] = [temporaryFolder(), folderWith({ 'a b.txt': 'a', 'b.txt': 'b' })];
    const first = await indexWithCache(folder, root);
    expect(first.read).toEqual(['a b.txt', 'b.txt']);
    expect(await indexWithCache(folder, root)).toEqual({ files: first.files, read: [] });
    writeFileSync(join(root, 'c.txt'), 'c');
    expect((await indexWithCache(folder, root)).read).toEqual(['c.txt']);
  });

  test('reads a file again when its content changed but its size and date did not', async () => {
    const [folder, root] = [temporaryFolder(), folderWith({ 'a.txt': 'a' })];
    const { mtime } = statSync(join(root, 'a.txt'));
    await indexWithCache(folder, root);
    writeFileSync(join(root, 'a.txt'), 'b');
    utimesSync(join(root, 'a.txt'), mtime, mtime);
    expect((await indexWithCache(folder, root)).files).toMatchObject([{ sha256: sha256('b') }]);
  });

  test('does not cache the hash of a file that has just been written', async () => {
    const [folder, root] = [temporaryFolder(), folderWith({ 'a.txt': 'a' })];
    await indexWithCache(folder, root, Date.now);
    expect((await indexWithCache(folder, root)).read).toEqual(['a.txt']);
  });

  test('reads all files when the cache is damaged or cannot be written', async () => {
    const root = folderWith({ 'a.txt': 'a' });
    const blocked = join(folderWith({ file: '' }), 'file');
    expect((await indexWithCache(blocked, root)).read).toEqual(['a.txt']);
    const folder = temporaryFolder();
    await indexWithCache(folder, root);
    const [name = ''] = execFileSync('ls', [folder], { encoding: 'utf8' }).split('\n');
    writeFileSync(join(folder, name), 'no digest\n\0\n');
    expect((await indexWithCache(folder, root)).read).toEqual(['a.txt']);
  });
});
