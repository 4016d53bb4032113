/** Tests that the dataset cache of a rig stays within the owner's limit, and removes the least recently used datasets first. */
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createDatasetCache } from '../../../../agent/datasets/cache.ts';
import { createContentFiles } from '../../../../datasets/content-files.ts';
import { checkManifest, type DatasetFile, manifestText } from '../../../../protocol/dataset.ts';
import { temporaryFolder } from '../../../support/processes.ts';

const neverAborted = new AbortController().signal;
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const noDatasets: ReadonlySet<string> = new Set();

function openRig(limitBytes: number, folder = temporaryFolder()) {
  const contents = createContentFiles(join(folder, 'contents'));
  let now = 1_000_000_000_000;
  const cache = createDatasetCache({
    folder,
    contents,
    limit: () => Promise.resolve(limitBytes),
    wall: () => (now += 60_000),
  });

  const datasetOf = (...texts: readonly string[]) => {
    const files = texts.map(
      (text, index): DatasetFile => ({ path: `${index}`, bytes: text.length, sha256: sha256(text) }),
    );
    const checked = checkManifest(files);
    if (!checked.ok) throw new Error(checked.reason);
    return { files: checked.files, digest: sha256(manifestText(checked.files)), texts };
  };
  type Dataset = ReturnType<typeof datasetOf>;

  const download = async (dataset: Dataset): Promise<void> => {
    for (const text of dataset.texts) {
      const part = await contents.openPart(sha256(text), 0);
      await part.write(Buffer.from(text));
      await part.close();
      await contents.complete({ bytes: text.length, sha256: sha256(text) }, neverAborted);
    }
    await cache.complete(dataset.digest, dataset.files);
  };
  const digests = async () => (await cache.list()).map(({ digest }) => digest);
  const has = (text: string) => contents.has({ bytes: text.length, sha256: sha256(text) });
  return { folder, cache, contents, datasetOf, download, digests, has };
}

describe('cached datasets', () => {
  test('lists complete datasets with their sizes, the most recently used first', async () => {
    const { cache, datasetOf, download, digests } = openRig(100);
    const [cats, dogs] = [datasetOf('cat'), datasetOf('dogs', 'dogs', 'more')];
    await download(cats);
    await download(dogs);
    expect(await cache.list()).toMatchObject([
      { digest: dogs.digest, bytes: 8 },
      { digest: cats.digest, bytes: 3 },
    ]);
    await cache.touch(cats.digest);
    expect(await digests()).toEqual([cats.digest, dogs.digest]);
  });

  test('keeps datasets across a restart of the agent', async () => {
    const { folder, datasetOf, download } = openRig(100);
    const cats = datasetOf('cat');
    await download(cats);
    expect(await openRig(100, folder).digests()).toEqual([cats.digest]);
  });

  test('ignores a damaged manifest, and removes the manifest when the cache frees space', async () => {
    const { folder, cache, datasetOf } = openRig(100);
    mkdirSync(join(folder, 'manifests'));
    writeFileSync(join(folder, 'manifests', 'f'.repeat(64)), '{"path":');
    writeFileSync(join(folder, 'manifests', 'something'), '');
    expect(await cache.list()).toEqual([]);
    await cache.makeRoom(datasetOf('cat').files, noDatasets);
    expect(readdirSync(join(folder, 'manifests'))).toEqual([]);
  });
});

describe('makeRoom', () => {
  test('removes no dataset while all datasets fit', async () => {
    const { cache, datasetOf, download, digests } = openRig(6);
    const cats = datasetOf('cat');
    await download(cats);
    expect(await cache.makeRoom(datasetOf('dog').files, noDatasets)).toEqual({ ok: true });
    expect(await digests()).toEqual([cats.digest]);
  });

  test('removes the least recently used datasets, but no contents that other datasets share', async () => {
    const { cache, datasetOf, download, digests, has } = openRig(9);
    const touched = datasetOf('old');
    const unused = datasetOf('old', 'mid');
    const newest = datasetOf('new');
    for (const dataset of [touched, unused, newest]) await download(dataset);
    await cache.touch(touched.digest);
    expect(await cache.makeRoom(datasetOf('cat').files, noDatasets)).toEqual({ ok: true });
    expect(await digests()).toEqual([touched.digest, newest.digest]);
    expect([await has('old'), await has('mid'), await has('new')]).toEqual([true, false, true]);
  });

  test('keeps datasets of running jobs', async () => {
    const { cache, datasetOf, download, digests, has } = openRig(5);
    const cats = datasetOf('cat');
    await download(cats);
    expect(await cache.makeRoom(datasetOf('dog').files, new Set([cats.digest]))).toEqual({
      ok: false,
      reason: expect.stringContaining('running jobs leaves too little of'),
    });
    expect([await digests(), await has('cat')]).toEqual([[cats.digest], true]);
  });

  test('removes no dataset when the new dataset alone exceeds the limit', async () => {
    const { cache, datasetOf, download, has } = openRig(5);
    await download(datasetOf('cat'));
    expect(await cache.makeRoom(datasetOf('a very large dog').files, noDatasets)).toEqual({
      ok: false,
      reason:
        "The data is 16 bytes, but this rig's cache can hold only 5 bytes: free disk space, or raise --data-cache",
    });
    expect(await has('cat')).toBe(true);
  });

  test('removes partial files of other datasets', async () => {
    const { cache, contents, datasetOf } = openRig(100);
    for (const text of ['old', 'cat']) {
      const part = await contents.openPart(sha256(text), 0);
      await part.write(Buffer.from(text.slice(0, 2)));
      await part.close();
    }
    expect(await contents.totalBytes()).toBe(4);
    expect(await cache.makeRoom(datasetOf('cat').files, noDatasets)).toEqual({ ok: true });
    expect([await contents.partBytes(sha256('old')), await contents.partBytes(sha256('cat'))]).toEqual([
      0, 2,
    ]);
  });

  test('counts and keeps the files of the new dataset that are already stored', async () => {
    const { cache, datasetOf, download, has } = openRig(6);
    const both = datasetOf('cat', 'dog');
    await download(datasetOf('cat'));
    expect(await cache.makeRoom(both.files, noDatasets)).toEqual({ ok: true });
    expect(await has('cat')).toBe(true);
  });
});
