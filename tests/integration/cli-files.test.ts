/**
 * `trainyard jobs artifacts`, `checkpoints` and `download` in this process, against a server with the files of two
 * attempts.
 */
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { artifactsApi } from '../../protocol/artifacts-api.ts';
import { type CliOptions, type CliRun, runTrainyard } from '../support/cli.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { type JobOffer, openRig, sha256, startJob, upload } from '../support/upload-bench.ts';

const weights = new Uint8Array(randomBytes(300_000));
const olderWeights = 'weights of step 100';
const state = 'state of step 200';
const manifest = JSON.stringify({
  files: [
    { path: 'model.safetensors', bytes: weights.length, sha256: sha256(weights) },
    { path: 'state.json', bytes: state.length, sha256: sha256(state) },
  ],
});

let server: TestServer;
let job: JobOffer;
let emptyJob: string;
beforeAll(async () => {
  server = await startTestServer();
  const rig = await openRig(server);
  const first = await startJob(server, rig, { config_name: 'flowers' });
  const uploadFile = async (
    { token }: JobOffer,
    key: string,
    body: string | Uint8Array<ArrayBuffer>,
  ): Promise<void> => {
    expect({ key, status: (await upload(server.url, token, key, { body })).status }).toMatchObject({
      status: 200,
    });
  };
  await uploadFile(first, 'checkpoint-000100.bin', olderWeights);
  await uploadFile(first, 'samples/step_100_rose.png', 'no picture at all');
  await uploadFile(first, 'checkpoint-200/model.safetensors', weights);
  await uploadFile(first, 'checkpoint-200/state.json', state);
  await uploadFile(first, 'checkpoint-200/checkpoint-manifest.json', manifest);
  await uploadFile(first, 'checkpoint-300/model.safetensors', 'half of it');
  await rig.report(first, 'running', { progress: { current_step: 237, total_steps: 400 } });
  await rig.report(first, 'failed', { cause: 'preempted' });
  job = await rig.nextOffer();
  for (const status of ['starting', 'running']) await rig.report(job, status);
  emptyJob = await server.submit({ config: {}, config_name: 'empty', worker_labels: { no: 'body' } });
});
afterAll(() => server.close());

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cli-files-'));
});

const jobs = (args: readonly string[], options?: CliOptions): Promise<CliRun> =>
  runTrainyard(['jobs', ...args, '--data-dir', server.dataDir], options);
const download = (args: readonly string[], options?: CliOptions): Promise<CliRun> =>
  jobs(['download', job.jobId, ...args, '--to', folder], options);
const listLocalFiles = (): readonly string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true, encoding: 'utf8' })
    .filter(entry => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1))
    .toSorted();

test('lists the artifacts of a job, newest first', async () => {
  const run = await jobs(['artifacts', 'flowers']);
  expect(run).toMatchObject({ code: 0, err: '' });
  const lines = run.out.split('\n');
  expect(lines[0]).toMatch(/^KEY +KIND +SIZE +TRY +UPLOADED +SHA-256$/);
  expect(lines[1]).toMatch(/^checkpoint-300\/model\.safetensors +checkpoint +10 bytes +1 /);
  expect(lines[4]).toMatch(/^checkpoint-200\/model\.safetensors +checkpoint +300 kB +1 /);
  expect(lines[4]).toContain(sha256(weights).slice(0, 12));
  expect(lines).toHaveLength(8);
  expect(JSON.parse((await jobs(['artifacts', job.jobId, '--json'])).out)).toMatchObject({
    count: 6,
    next_cursor: null,
  });
  expect((await jobs(['artifacts', job.jobId, '-o', 'key,attempt'])).out).toContain(
    'checkpoint-000100.bin\t1\n',
  );
  expect(await jobs(['artifacts', emptyJob])).toMatchObject({ code: 0, out: '' });
});

test('lists checkpoints with their state: newest, complete or incomplete', async () => {
  const { out, code } = await jobs(['checkpoints', job.jobId]);
  expect(code).toBe(0);
  const lines = out.split('\n');
  expect(lines[0]).toMatch(/^NAME +STEP +LOSS +SIZE +FILES +TRY +UPLOADED +NOTES$/);
  expect(lines[1]).toMatch(/^checkpoint-300 +300 .* incomplete$/);
  expect(lines[2]).toMatch(
    /^checkpoint-200 +200 +- +300 kB +3 +1 .* newest: the next attempt continues from it$/,
  );
  expect(lines[3]).toMatch(/^checkpoint-000100\.bin +100 +- +19 bytes +1 +1 [^a-z]+Z$/);
  expect((await jobs(['checkpoints', job.jobId, '-o', 'name,newest'])).out).toContain(
    'checkpoint-200\ttrue\n',
  );
  expect((await jobs(['checkpoints', emptyJob])).err).toMatch(/has no checkpoints/);
});

test('shows the checkpoint that an attempt continued from', async () => {
  const { out } = await jobs(['get', job.jobId]);
  expect(out).toMatch(/ active; continued from checkpoint-200 at step 200, 37 steps repeated\n/);
});

test('downloads all files of a job, and skips existing files the second time', async () => {
  const run = await download([]);
  expect(run).toMatchObject({ code: 0 });
  expect(listLocalFiles()).toEqual([
    'checkpoint-000100.bin',
    'checkpoint-200/checkpoint-manifest.json',
    'checkpoint-200/model.safetensors',
    'checkpoint-200/state.json',
    'checkpoint-300/model.safetensors',
    'samples/step_100_rose.png',
  ]);
  expect(new Uint8Array(readFileSync(join(folder, 'checkpoint-200/model.safetensors')))).toEqual(weights);
  expect(run.out).toContain('downloaded');
  const secondRun = await download(['--json']);
  const { files } = JSON.parse(secondRun.out) as { readonly files: readonly { readonly outcome: string }[] };
  expect(new Set(files.map(({ outcome }) => outcome))).toEqual(new Set(['already there']));
});

test('downloads files by name, folder or checkpoint', async () => {
  await download(['samples', 'checkpoint-000100.bin']);
  expect(listLocalFiles()).toEqual(['checkpoint-000100.bin', 'samples/step_100_rose.png']);
  const run = await download(['--checkpoint', 'newest', '-o', 'key']);
  expect(run.out.split('\n').filter(Boolean).toSorted()).toEqual([
    'checkpoint-200/checkpoint-manifest.json',
    'checkpoint-200/model.safetensors',
    'checkpoint-200/state.json',
  ]);
  expect((await download(['--checkpoint', 'checkpoint-000100.bin', '-o', 'outcome'])).out).toBe(
    'already there\n',
  );
});

test('resumes a partial download where it stopped', async () => {
  const checkpointFolder = join(folder, 'checkpoint-200');
  mkdirSync(checkpointFolder);
  const part = join(checkpointFolder, `model.safetensors.${sha256(weights).slice(0, 12)}.part`);
  writeFileSync(part, weights.slice(0, 250_000));
  const run = await download(['checkpoint-200/model.safetensors'], { screen: { columns: 120, rows: 40 } });
  expect(run.code).toBe(0);
  // The progress bar starts at the size of the partial file.
  expect(run.err.split('\u001b[2K')[1]).toMatch(/^█+░+ +83 % +250 kB of 300 kB/);
  expect(new Uint8Array(readFileSync(join(checkpointFolder, 'model.safetensors')))).toEqual(weights);
  expect(listLocalFiles()).toEqual(['checkpoint-200/model.safetensors']);
});

test('refuses to overwrite a local file with other content unless --overwrite is given', async () => {
  writeFileSync(join(folder, 'checkpoint-000100.bin'), 'mine');
  const run = await download([]);
  expect(run.code).toBe(5);
  expect(run.err).toMatch(/checkpoint-000100\.bin already exists with other content/);
  // Files that were downloaded before the failing one are still listed.
  expect(run.out).toContain('state.json');
  expect(readFileSync(join(folder, 'checkpoint-000100.bin'), 'utf8')).toBe('mine');
  expect((await download(['checkpoint-000100.bin', '--overwrite'])).code).toBe(0);
  expect(readFileSync(join(folder, 'checkpoint-000100.bin'), 'utf8')).toBe(olderWeights);
});

test.each<[readonly string[], number, RegExp]>([
  [['model', '--checkpoint', 'best'], 2, /Specify keys or --checkpoint, not both/],
  [['no-such-file'], 4, /no file or folder "no-such-file"/],
  [['--checkpoint', 'best'], 4, /no best checkpoint/],
  [['--checkpoint', 'checkpoint-9'], 4, /no checkpoint "checkpoint-9"/],
])('downloads nothing for the invalid arguments %j', async (args, code, message) => {
  const run = await download(args);
  expect(run).toMatchObject({ code, out: '' });
  expect(run.err).toMatch(message);
  expect(listLocalFiles()).toEqual([]);
});

test('exits with 4 when the artifact to download was deleted', async () => {
  const removed = await server.admin.call(artifactsApi.remove, {
    params: { id: job.jobId, key: ['samples', 'step_100_rose.png'] },
  });
  expect(removed.ok).toBe(true);
  expect(await download(['samples'])).toMatchObject({ code: 4, out: '' });
});
