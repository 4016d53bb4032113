import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { walkOutputs } from '../../../../agent/artifacts/output-walk.ts';
import { tempFolder } from '../builders.ts';

function folderWith(...paths: readonly string[]): string {
  const root = tempFolder();
  for (const path of paths) {
    mkdirSync(join(root, dirname(path)), { recursive: true });
    writeFileSync(join(root, path), path);
  }
  return root;
}
const keysIn = async (root: string): Promise<readonly string[]> =>
  [...(await walkOutputs(root)).files.keys()].toSorted();

test('finds the outputs of a trainer, except hidden and partial files', async () => {
  const root = folderWith(
    'a.png',
    'deep/er/b.txt',
    '.hidden/c',
    '.d',
    'e.tmp',
    'f.partial',
    'g.PART',
    'h.lock',
    '.x.fetching/i',
    'checkpoint-5/.metadata',
    'checkpoint-5/j',
    'checkpoint-5/.nfs0001',
    'checkpoint-5/checkpoint-manifest.json',
  );
  expect(await keysIn(root)).toEqual(['a.png', 'checkpoint-5/.metadata', 'checkpoint-5/j', 'deep/er/b.txt']);
  const { files, flaws } = await walkOutputs(root);
  expect(files.get('a.png')).toEqual({ bytes: 5, changedAt: expect.any(Number) });
  expect(flaws).toEqual([]);
});

test('follows no links, and finds nothing in a missing folder', async () => {
  const root = folderWith('a');
  const elsewhere = folderWith('secret');
  symlinkSync(elsewhere, join(root, 'folder'));
  symlinkSync(join(elsewhere, 'secret'), join(root, 'file'));
  expect(await keysIn(root)).toEqual(['a']);
  expect(await keysIn(join(root, 'none'))).toEqual([]);
});

test('skips and reports invalid artifact names, and checkpoints that contain an invalid name', async () => {
  const root = folderWith('fine', 'a:b', 'checkpoint-1/fine', 'checkpoint-1/con', 'checkpoint-2/fine');
  expect(await keysIn(root)).toEqual(['checkpoint-2/fine', 'fine']);
  expect((await walkOutputs(root)).flaws.toSorted()).toEqual([
    '"a:b" cannot be the name of an artifact',
    '"checkpoint-1/con" cannot be the name of an artifact',
  ]);
});

test('skips files that are nested too deeply, and checkpoints that contain such a file', async () => {
  const root = folderWith(
    '1/2/3/4/5/6/7/found',
    '1/2/3/4/5/6/7/8/too-deep',
    'checkpoint-1/a',
    'checkpoint-1/2/3/4/5/6/7/8/b',
  );
  expect(await keysIn(root)).toEqual(['1/2/3/4/5/6/7/found']);
  expect((await walkOutputs(root)).flaws).toHaveLength(2);
});

test('lists complete checkpoints first when there are too many files', async () => {
  const numberedFiles = (folder: string, count: number) =>
    Array.from({ length: count }, (_, n) => `${folder}/${String(n).padStart(2, '0')}`);
  const root = folderWith(
    ...numberedFiles('pictures', 45),
    ...numberedFiles('checkpoint-1', 10),
    ...numberedFiles('x/checkpoint-2', 10),
  );
  const keysWithin = async (maxFiles: number) => [...(await walkOutputs(root, maxFiles)).files.keys()];
  expect(await keysWithin(13)).toEqual(expect.arrayContaining(numberedFiles('checkpoint-1', 10)));
  for (const maxFiles of [5, 13, 20, 40, 60, 68, 69]) {
    const keys = await keysWithin(maxFiles);
    expect(keys.length).toBeLessThanOrEqual(maxFiles);
    // A checkpoint is listed with all of its 10 files, or not at all.
    for (const folder of ['checkpoint-1/', 'x/checkpoint-2/'])
      expect([0, 10]).toContain(keys.filter(key => key.startsWith(folder)).length);
  }
  // The limit counts the 65 files and the 4 folders.
  expect(await keysWithin(69)).toHaveLength(65);
  expect((await walkOutputs(root, 69)).flaws).toEqual([]);
  expect((await walkOutputs(root, 68)).flaws).toEqual([expect.stringMatching(/more than 68 files/)]);
});
