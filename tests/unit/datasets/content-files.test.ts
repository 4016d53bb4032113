import { createHash } from 'node:crypto';
import {
  chmodSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type ContentFiles, createContentFiles } from '../../../datasets/content-files.ts';
import { temporaryFolder } from '../../support/processes.ts';

const neverAborted = new AbortController().signal;
const contentOf = (text: string) => ({
  bytes: Buffer.byteLength(text),
  sha256: createHash('sha256').update(text).digest('hex'),
});

async function append(files: ContentFiles, sha256: string, offset: number, text: string): Promise<void> {
  const part = await files.openPart(sha256, offset);
  await part.write(Buffer.from(text));
  await part.close();
}

async function store(files: ContentFiles, text: string): Promise<string> {
  const content = contentOf(text);
  await append(files, content.sha256, 0, text);
  expect(await files.complete(content, neverAborted)).toBe(true);
  return content.sha256;
}

async function listContents(files: ContentFiles): Promise<readonly string[]> {
  const hashes: string[] = [];
  for await (const sha256 of files.all()) hashes.push(sha256);
  return hashes.toSorted();
}

describe('storing a content', () => {
  test('stores a complete content as a read-only file that is found by its hash', async () => {
    const files = createContentFiles(temporaryFolder());
    const sha256 = await store(files, 'a cat');
    expect(await files.has(contentOf('a cat'))).toBe(true);
    expect(await files.partBytes(sha256)).toBe(0);
    expect(readFileSync(files.pathOf(sha256), 'utf8')).toBe('a cat');
    expect(statSync(files.pathOf(sha256)).mode & 0o777).toBe(0o400);
  });

  test('completes a partly stored content in another process', async () => {
    const folder = temporaryFolder();
    const content = contentOf('a cat');
    await append(createContentFiles(folder), content.sha256, 0, 'a c');
    const later = createContentFiles(folder);
    expect(await later.partBytes(content.sha256)).toBe(3);
    expect(await later.has(content)).toBe(false);
    await append(later, content.sha256, 3, 'at');
    expect(await later.complete(content, neverAborted)).toBe(true);
  });

  test('overwrites a part from an earlier offset, and refuses an offset after its end', async () => {
    const files = createContentFiles(temporaryFolder());
    const content = contentOf('a cat');
    await append(files, content.sha256, 0, 'a dog!');
    await append(files, content.sha256, 2, 'cat');
    await expect(files.openPart(content.sha256, 6)).rejects.toThrow('the part has 5 bytes instead of 6');
    expect(await files.complete(content, neverAborted)).toBe(true);
  });

  test.each([['a dog'], ['a ca'], ['a cat and more'], ['']])(
    'removes the part %j when it does not match the announced content',
    async text => {
      const files = createContentFiles(temporaryFolder());
      const content = contentOf('a cat');
      await append(files, content.sha256, 0, text);
      expect(await files.complete(content, neverAborted)).toBe(false);
      expect(await files.has(content)).toBe(false);
      expect(await files.partBytes(content.sha256)).toBe(0);
    },
  );

  test('stores a content of 0 bytes', async () => {
    const files = createContentFiles(temporaryFolder());
    await store(files, '');
    expect(await files.has(contentOf(''))).toBe(true);
  });

  test('refuses to write a part through a symbolic link', async () => {
    const folder = temporaryFolder();
    const files = createContentFiles(folder);
    const target = join(temporaryFolder(), 'target');
    writeFileSync(target, 'precious');
    const { sha256 } = contentOf('a cat');
    mkdirSync(dirname(files.pathOf(sha256)), { recursive: true });
    symlinkSync(target, `${files.pathOf(sha256)}.part`);
    await expect(files.openPart(sha256, 0)).rejects.toThrow('ELOOP');
    expect(readFileSync(target, 'utf8')).toBe('precious');
  });

  test('rejects when the check of a content is aborted, and keeps the part', async () => {
    const files = createContentFiles(temporaryFolder());
    const content = contentOf('a cat');
    await append(files, content.sha256, 0, 'a cat');
    await expect(files.complete(content, AbortSignal.abort(new Error('stopped')))).rejects.toThrow('stopped');
    expect(await files.partBytes(content.sha256)).toBe(5);
  });
});

describe('stored contents', () => {
  test('finds no content of another size', async () => {
    const files = createContentFiles(temporaryFolder());
    const sha256 = await store(files, 'a cat');
    expect(await files.has({ sha256, bytes: 4 })).toBe(false);
  });

  test('finds no content that was changed on disk', async () => {
    const files = createContentFiles(temporaryFolder());
    const sha256 = await store(files, 'a cat');
    chmodSync(files.pathOf(sha256), 0o600);
    writeFileSync(files.pathOf(sha256), 'a dog');
    expect(await files.has(contentOf('a cat'))).toBe(false);
    await store(files, 'a cat');
    expect(await files.has(contentOf('a cat'))).toBe(true);
  });

  test('lists stored contents that were not removed, but no parts', async () => {
    const files = createContentFiles(temporaryFolder());
    expect(await listContents(files)).toEqual([]);
    const [cat, dog] = [await store(files, 'a cat'), await store(files, 'a dog')];
    await append(files, contentOf('a cow').sha256, 0, 'a');
    expect(await listContents(files)).toEqual([cat, dog].toSorted());
    await files.remove(cat);
    // A second removal has no effect.
    await files.remove(cat);
    expect(await listContents(files)).toEqual([dog]);
  });

  test('removes only parts older than the given time, and keeps stored contents', async () => {
    const files = createContentFiles(temporaryFolder());
    const dog = await store(files, 'a dog');
    const [old, recent] = [contentOf('old').sha256, contentOf('recent').sha256];
    await append(files, old, 0, 'o');
    await append(files, recent, 0, 'r');
    const oldDate = new Date('2020-01-01');
    utimesSync(`${files.pathOf(old)}.part`, oldDate, oldDate);
    await files.removePartials(Date.parse('2021-01-01'));
    expect([await files.partBytes(old), await files.partBytes(recent)]).toEqual([0, 1]);
    expect(await listContents(files)).toEqual([dog]);
  });
});
