import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createContentFiles } from '../../../datasets/content-files.ts';
import type { DatasetFile } from '../../../protocol/dataset.ts';
import { layOut } from '../../../datasets/lay-out.ts';
import { temporaryFolder } from '../../support/processes.ts';

const neverAborted = new AbortController().signal;

/** Stores the contents of a dataset. Returns its files and a function that lays the dataset out. */
async function rigWith(texts: Readonly<Record<string, string>>) {
  const contents = createContentFiles(temporaryFolder());
  const files: DatasetFile[] = [];
  for (const [path, text] of Object.entries(texts)) {
    const content = { bytes: text.length, sha256: createHash('sha256').update(text).digest('hex') };
    const part = await contents.openPart(content.sha256, 0);
    await part.write(Buffer.from(text));
    await part.close();
    await contents.complete(content, neverAborted);
    files.push({ path, ...content });
  }
  const folder = join(temporaryFolder(), 'data', 'cats');
  const layOutDataset = (platform: NodeJS.Platform = 'linux', signal = neverAborted) =>
    layOut({ files, contents, folder, platform, signal });
  return { contents, files, folder, layOutDataset };
}

describe('laying out a dataset on a rig', () => {
  test('creates the folders of a dataset with hard links to the cached contents', async () => {
    const { contents, files, folder, layOutDataset } = await rigWith({
      'a.txt': 'a cat',
      'b/c/写真.jpg': 'jpeg',
    });
    expect(await layOutDataset()).toEqual({ ok: true });
    expect(readFileSync(join(folder, 'b/c/写真.jpg'), 'utf8')).toBe('jpeg');
    const [first] = files;
    expect(statSync(join(folder, 'a.txt')).ino).toBe(statSync(contents.pathOf(first?.sha256 ?? '')).ino);
  });

  test('lays out two files with the same content', async () => {
    const { folder, layOutDataset } = await rigWith({ 'a.txt': 'a cat', 'b.txt': 'a cat' });
    await layOutDataset();
    expect(readFileSync(join(folder, 'b.txt'), 'utf8')).toBe('a cat');
  });

  test('keeps files that the trainer has written into the folder', async () => {
    const { folder, layOutDataset } = await rigWith({ 'a.jpg': 'jpeg' });
    await layOutDataset();
    writeFileSync(join(folder, 'a.npz'), 'latents');
    expect(await layOutDataset()).toEqual({ ok: true });
    expect(readFileSync(join(folder, 'a.npz'), 'utf8')).toBe('latents');
  });

  test('replaces a file that an interrupted copy left incomplete', async () => {
    const { folder, layOutDataset } = await rigWith({ 'a.jpg': 'jpeg' });
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'a.jpg'), 'jp');
    expect(await layOutDataset()).toEqual({ ok: true });
    expect(readFileSync(join(folder, 'a.jpg'), 'utf8')).toBe('jpeg');
  });

  test('fails when a folder has the name of a file', async () => {
    const { folder, layOutDataset } = await rigWith({ 'a.jpg': 'jpeg' });
    mkdirSync(join(folder, 'a.jpg'), { recursive: true });
    await expect(layOutDataset()).rejects.toThrow('EEXIST');
  });

  test.each(['a?.jpg', 'aux.txt', 'cats./a.jpg', 'c:/a.jpg', 'a .'])(
    'refuses the file %j on Windows',
    async path => {
      const { layOutDataset } = await rigWith({ [path]: 'x' });
      expect(await layOutDataset('win32')).toMatchObject({ ok: false });
      expect(await layOutDataset('linux')).toEqual({ ok: true });
    },
  );

  test('rejects when the layout is aborted', async () => {
    const { layOutDataset } = await rigWith({ 'a.jpg': 'jpeg' });
    await expect(layOutDataset('linux', AbortSignal.abort(new Error('cancelled')))).rejects.toThrow(
      'cancelled',
    );
  });
});
