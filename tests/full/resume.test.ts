/** A training survives the loss of its rig: the worker uploads files during the training, and another rig resumes from them. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { artifactsApi } from '../../protocol/artifacts-api.ts';
import type { JobId } from '../../protocol/ids.ts';
import { queueApi } from '../../protocol/queue-api.ts';
import { digitsTrainer, type Program, root, startWorker, temporaryFolder } from '../support/processes.ts';
import { startTestServer, type TestServer, valueOf } from '../support/server.ts';
import { endTrainings } from '../support/trainings.ts';
import { until } from '../unit/agent/guard-rig.ts';

let server: TestServer;
beforeEach(async () => {
  server = await startTestServer({ heartbeatTimeoutMs: 6_000 });
});
afterEach(() => server.close());

interface StartedRig {
  readonly program: Program;
  readonly stateHome: string;
  /** Kills agent, guard and trainer, as a power cut does. */
  cutPower(): Promise<void>;
}

async function startRig(
  name: string,
  trainer: string,
  args: readonly string[] = ['--persistent'],
): Promise<StartedRig> {
  const { id, token } = await server.createWorker({ name });
  const stateHome = temporaryFolder();
  const program = startWorker({
    url: server.url,
    token,
    stateHome,
    args: ['--name', name, '--trainer', trainer, ...args],
  });
  await server.watch.worker(id, 'idle');
  return {
    program,
    stateHome,
    async cutPower() {
      program.kill('SIGKILL');
      await program.exited;
      await endTrainings(stateHome);
    },
  };
}

const checkpointsOf = async (id: JobId) =>
  valueOf(await server.admin.call(artifactsApi.checkpoints, { params: { id } })).checkpoints;
const keysOf = async (id: JobId): Promise<readonly string[]> =>
  valueOf(await server.admin.call(artifactsApi.list, { params: { id }, query: {} }))
    .artifacts.map(({ key }) => key)
    .toSorted();
const waitForCheckpoint = (id: JobId): Promise<string> =>
  until(async () => (await checkpointsOf(id)).find(({ complete }) => complete)?.name ?? null, 60_000);

test('resumes a training from its checkpoint on another rig after a power cut of the first rig', async () => {
  const config = JSON.parse(
    readFileSync(join(root, 'examples/digits/configs/digits-quick.json'), 'utf8'),
  ) as object;
  const first = await startRig('rig-1', digitsTrainer);
  const job = await server.submit({ config: { ...config, epochs: 20, checkpoint_every: 250 } });
  await waitForCheckpoint(job);
  await first.cutPower();
  const [newest] = (await checkpointsOf(job)).toSorted((a, b) => (b.step ?? 0) - (a.step ?? 0));
  const second = await startRig('rig-2', digitsTrainer);
  const [, name, step] = await second.program.waitForLine(
    /Resuming from (checkpoint-\d+\.bin) \(step (\d+)\), [\d.]+ kB fetched/,
  );
  expect({ name, step: Number(step) }).toEqual({ name: newest?.name, step: newest?.step });
  const completedJob = await server.watch.jobEnd(job);
  expect(completedJob).toMatchObject({ status: 'completed', attempt: 2, progress: { percent: 100 } });
  const { attempts } = valueOf(await server.admin.call(queueApi.get, { params: { id: job } }));
  expect(attempts.map(({ resumed }) => resumed)).toContainEqual(
    expect.objectContaining({ checkpoint: name, step: Number(step) }),
  );
  const log = readFileSync(join(second.stateHome, 'trainyard/rig-2/jobs', job, 'trainer.log'), 'utf8');
  expect(log).toContain(`continuing after step ${step}`);
  await until(async () => ((await keysOf(job)).includes('result.json') ? true : null));
}, 180_000);

/**
 * Script of a trainer that writes a checkpoint folder, and then runs until the file in its last argument exists. When it
 * resumes, the trainer copies its checkpoint to `seen`, and ends without waiting.
 */
const folderTrainer = `
  const { cpSync, existsSync, mkdirSync, readdirSync, writeFileSync } = require('node:fs');
  const { join } = require('node:path');
  const [output, resumeFrom, endFile] = process.argv.slice(2);
  if (resumeFrom !== '') {
    if (process.env.TRAINYARD_RESUME_FROM !== resumeFrom) throw new Error('TRAINYARD_RESUME_FROM differs');
    cpSync(resumeFrom, join(output, 'seen'), { recursive: true });
  }
  const step = resumeFrom === '' ? 10 : 20;
  const checkpoint = join(output, 'checkpoint-' + step);
  mkdirSync(join(checkpoint, 'deep'), { recursive: true });
  writeFileSync(join(checkpoint, 'deep/.metadata'), 'where ' + step);
  writeFileSync(join(checkpoint, 'model.bin'), Buffer.alloc(3000000, step));
  writeFileSync(join(output, 'sample.png'), 'picture');
  writeFileSync(join(output, 'half.tmp'), 'no');
  const poll = () => (resumeFrom !== '' || existsSync(endFile) ? process.exit(0) : setTimeout(poll, 50));
  poll();`;

test('resumes from a checkpoint folder on an ephemeral worker, which exits after its uploads', async () => {
  const folder = temporaryFolder();
  const script = join(folder, 'trainer.cjs');
  writeFileSync(script, folderTrainer);
  const trainer = `'${process.execPath}' '${script}' {output_dir} {resume_from} '${join(folder, 'end')}'`;
  const first = await startRig('rig-1', trainer);
  const job = await server.submit({ config: {} });
  expect(await waitForCheckpoint(job)).toBe('checkpoint-10');
  await first.program.waitForLine(/Uploaded checkpoint-10 \(3\.0 MB\)/);
  await first.cutPower();
  const second = await startRig('rig-2', trainer, []);
  await second.program.waitForLine(/Resuming from checkpoint-10 \(step 10\), 3\.0 MB fetched/);
  expect((await server.watch.jobEnd(job)).status).toBe('completed');
  expect((await second.program.exited).code).toBe(0);
  const checkpointFiles = (step: number) =>
    ['checkpoint-manifest.json', 'deep/.metadata', 'model.bin'].map(name => `checkpoint-${step}/${name}`);
  expect(await keysOf(job)).toEqual([
    ...checkpointFiles(10),
    ...checkpointFiles(20),
    'sample.png',
    'seen/model.bin',
  ]);
  const output = join(second.stateHome, 'trainyard/rig-2/jobs', job, 'output');
  expect(readFileSync(join(output, 'seen/deep/.metadata'), 'utf8')).toBe('where 10');
  expect(readFileSync(join(output, 'seen/model.bin')).equals(Buffer.alloc(3_000_000, 10))).toBe(true);
  expect((await checkpointsOf(job)).map(({ name, complete }) => [name, complete])).toEqual([
    ['checkpoint-20', true],
    ['checkpoint-10', true],
  ]);
}, 120_000);

test('uploads the remaining files of a killed worker after its restart', async () => {
  const folder = temporaryFolder();
  const script = join(folder, 'trainer.cjs');
  writeFileSync(
    script,
    `const { writeFileSync } = require('node:fs');
     const output = process.argv[2];
     let n = 0;
     setInterval(() => {
       n += 1;
       if (n === 1) writeFileSync(output + '/first.png', 'x');
       if (require('node:fs').existsSync(process.argv[3])) { writeFileSync(output + '/last.png', 'y'); process.exit(0); }
     }, 50);`,
  );
  const endFile = join(folder, 'end');
  const { id, token } = await server.createWorker({ name: 'rig-1' });
  const stateHome = temporaryFolder();
  const args = [
    '--name',
    'rig-1',
    '--persistent',
    '--trainer',
    `'${process.execPath}' '${script}' {output_dir} '${endFile}'`,
  ];
  const first = startWorker({ url: server.url, token, stateHome, args });
  await server.watch.worker(id, 'idle');
  const job = await server.submit({ config: {} });
  await until(async () => ((await keysOf(job)).includes('first.png') ? true : null), 30_000);
  first.kill('SIGKILL');
  await first.exited;
  writeFileSync(endFile, '');
  startWorker({ url: server.url, token, stateHome, args });
  expect((await server.watch.jobEnd(job)).status).toBe('completed');
  await until(async () => ((await keysOf(job)).includes('last.png') ? true : null), 30_000);
}, 120_000);
