/** Tests that the worker downloads the data of a job into its cache, and places the data where the trainer expects it. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createDatasetCache } from '../../../../agent/datasets/cache.ts';
import { fetchData } from '../../../../agent/datasets/job-data.ts';
import { dataTargetsOf } from '../../../../agent/datasets/data-targets.ts';
import { createContentFiles } from '../../../../datasets/content-files.ts';
import { type DatasetFile, type JobData, manifestText } from '../../../../protocol/dataset.ts';
import { tempFolder } from '../builders.ts';
import {
  createInstantClock,
  createStorageServer,
  refusalOf,
  sha256Of,
  type StorageServer,
} from '../storage-server.ts';

/** A dataset that a user has pushed. */
interface PushedData {
  readonly data: JobData;
  /** Contents that the orchestrator stores, by key. */
  readonly stored: Readonly<Record<string, string>>;
}

function push(path: string, texts: Readonly<Record<string, string>>, isFile = false): PushedData {
  const files: readonly DatasetFile[] = Object.entries(texts)
    .map(([name, text]) => ({ path: name, bytes: Buffer.byteLength(text), sha256: sha256Of(text) }))
    .toSorted((a, b) => (a.path < b.path ? -1 : 1));
  const manifest = manifestText(files);
  const version = sha256Of(manifest);
  const contents = [manifest, ...Object.values(texts)];
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  return {
    data: { path, version, files: files.length, bytes, is_file: isFile },
    stored: Object.fromEntries(contents.map(text => [`data/${sha256Of(text)}`, text])),
  };
}

function openRig(limitBytes = 1e9, workDir = tempFolder()) {
  const folder = join(workDir, '.data-cache');
  const contents = createContentFiles(join(folder, 'contents'));
  const limit = (): Promise<number> => Promise.resolve(limitBytes);
  let now = 0;
  const cache = createDatasetCache({ folder, contents, limit, wall: () => (now += 60_000) });
  const stages: string[] = [];
  const fetch = async (
    server: StorageServer,
    job: string,
    pushed: readonly PushedData[],
    abort = new AbortController(),
  ) => {
    mkdirSync(join(workDir, job), { recursive: true });
    const dataTargets = dataTargetsOf(
      pushed.map(({ data }) => data),
      join(workDir, job),
    );
    const fetched = await fetchData(dataTargets, {
      workDir,
      contents,
      cache,
      storage: server.storage,
      clock: createInstantClock(),
      random: () => 0,
      mono: () => (now += 1_000),
      signal: abort.signal,
      onStage: stage => void stages.push(stage),
    });
    return { fetched, dataPath: dataTargets[0]?.path ?? '' };
  };
  return { workDir, fetch, stages, cache };
}

const photos = push('/home/me/photos', { 'a.jpg': 'one', 'a.txt': 'a caption', 'more/b.jpg': 'two' });
const countDownloads = ({ calls }: StorageServer): number =>
  calls.filter(call => call.startsWith('GET')).length;

describe('data of a job', () => {
  test('provides the data with its folders and captions before the trainer starts', async () => {
    const rig = openRig();
    const { fetched, dataPath } = await rig.fetch(createStorageServer(photos.stored), 'j1', [photos]);
    expect(fetched).toEqual({ kind: 'ready', message: 'Data: /home/me/photos; 15 bytes fetched' });
    expect(dataPath).toBe(join(rig.workDir, 'j1', 'data', '0-photos'));
    expect(readFileSync(join(dataPath, 'a.txt'), 'utf8')).toBe('a caption');
    expect(readFileSync(join(dataPath, 'more', 'b.jpg'), 'utf8')).toBe('two');
  });

  test('downloads no data that an earlier job has downloaded', async () => {
    const rig = openRig();
    await rig.fetch(createStorageServer(photos.stored), 'j1', [photos]);
    const server = createStorageServer(photos.stored);
    const { fetched, dataPath } = await rig.fetch(server, 'j2', [photos]);
    expect(fetched).toMatchObject({ message: 'Data: /home/me/photos; already on this rig' });
    expect(countDownloads(server)).toBe(0);
    expect(readFileSync(join(dataPath, 'a.jpg'), 'utf8')).toBe('one');
  });

  test('reports the progress and the remaining time of the download', async () => {
    const rig = openRig();
    await rig.fetch(createStorageServer(photos.stored), 'j1', [photos]);
    expect(rig.stages[0]).toBe('Fetching data');
    expect(rig.stages).toContainEqual(
      expect.stringMatching(/^Fetching data: \d+ bytes of 15 bytes, .* left$/),
    );
    expect(rig.stages.at(-1)).toBe('Fetching data: 15 bytes of 15 bytes');
  });

  test('gives a single file the name that the config uses', async () => {
    const model = push(String.raw`C:\models\base model.safetensors`, { 'base.safetensors': 'weights' }, true);
    const rig = openRig();
    const { dataPath } = await rig.fetch(createStorageServer(model.stored), 'j1', [model]);
    expect(dataPath).toBe(join(rig.workDir, 'j1', 'data', '0', 'base model.safetensors'));
    expect(readFileSync(dataPath, 'utf8')).toBe('weights');
  });

  test('resumes the download of data after a broken connection', async () => {
    const long = push('images', { 'a.bin': '0123456789abcdef' });
    const server = createStorageServer(long.stored);
    const key = `data/${sha256Of('0123456789abcdef')}`;
    server.fail(`GET ${key}`, 'cut', refusalOf(503));
    const { fetched, dataPath } = await openRig().fetch(server, 'j1', [long]);
    expect(fetched).toMatchObject({ kind: 'ready' });
    expect(readFileSync(join(dataPath, 'a.bin'), 'utf8')).toBe('0123456789abcdef');
    // The connection broke after 8 of the 16 bytes, and the next call failed.
    expect(server.calls.filter(call => call.startsWith(`GET ${key}`))).toEqual(
      [0, 8, 8].map(offset => `GET ${key} ${offset}`),
    );
  });

  test('fails the attempt with a reason when the data was deleted', async () => {
    const { [`data/${sha256Of('two')}`]: _deleted, ...remaining } = photos.stored;
    const { fetched } = await openRig().fetch(createStorageServer(remaining), 'j1', [photos]);
    expect(fetched).toMatchObject({
      kind: 'failed',
      message: expect.stringMatching(/^The data of this job cannot be fetched: /) as unknown,
    });
  });

  test('fails the attempt with a reason when the stored data is damaged', async () => {
    const damaged = { ...photos.stored, [`data/${photos.data.version}`]: 'something else' };
    const { fetched } = await openRig().fetch(createStorageServer(damaged), 'j1', [photos]);
    expect(fetched).toMatchObject({
      kind: 'failed',
      message: expect.stringContaining('wrong SHA-256') as unknown,
    });
  });

  test("refuses data larger than the rig's cache before it downloads any content", async () => {
    const server = createStorageServer(photos.stored);
    const { fetched } = await openRig(10).fetch(server, 'j1', [photos]);
    expect(fetched).toEqual({
      kind: 'failed',
      message:
        "The data of this job cannot be fetched: The data is 15 bytes, but this rig's cache can hold only 10 bytes: free disk space, or raise --data-cache",
    });
    // Only the list of files was requested, and no content.
    expect(countDownloads(server)).toBe(1);
  });

  test('stops the download of data when the job is cancelled', async () => {
    const abort = new AbortController();
    const server = createStorageServer(photos.stored);
    server.onCall = () => abort.abort();
    const { fetched } = await openRig().fetch(server, 'j1', [photos], abort);
    expect(fetched).toEqual({ kind: 'aborted' });
  });

  test('removes the data of an earlier job when the next job needs the space', async () => {
    const rig = openRig(20);
    const first = await rig.fetch(createStorageServer(photos.stored), 'j1', [photos]);
    writeFileSync(join(first.dataPath, 'latents.npz'), 'a cache of the trainer');
    const larger = push('larger', { 'c.jpg': 'something larger' });
    const second = await rig.fetch(createStorageServer(larger.stored), 'j2', [larger]);
    expect(second.fetched).toMatchObject({ kind: 'ready' });
    expect(existsSync(first.dataPath)).toBe(false);
    expect((await rig.cache.list()).map(({ digest }) => digest)).toEqual([larger.data.version]);
  });

  test('never removes a folder called data that the worker did not create', async () => {
    const rig = openRig();
    const own = join(rig.workDir, 'SimpleTuner', 'data');
    mkdirSync(own, { recursive: true });
    writeFileSync(join(own, 'original.jpg'), 'the only copy');
    await rig.fetch(createStorageServer(photos.stored), 'j1', [photos]);
    await rig.fetch(createStorageServer(photos.stored), 'j2', [photos]);
    expect(readFileSync(join(own, 'original.jpg'), 'utf8')).toBe('the only copy');
  });
});
