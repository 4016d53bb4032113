/** A real worker with a fake nvidia-smi, so the test needs no GPU. */
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { JobId } from '../../protocol/ids.ts';
import { queueApi } from '../../protocol/queue-api.ts';
import type { WorkerView } from '../../protocol/worker.ts';
import { startWorker, temporaryFolder } from '../support/processes.ts';
import { startTestServer, type TestServer, valueOf } from '../support/server.ts';

const uuid = 'GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77';
const probe = `0, NVIDIA A100-SXM4-80GB, 81920, 535.129.03, ${uuid}\n`;
const healthy = `0, 3, 512, 41, 66.10, ${uuid}, 0\n`;
const heartbeatMs = 1_000;

/** Creates a folder with a fake nvidia-smi, which prints the content of files that `setAnswer` replaces. */
function createFakeGpu() {
  const folder = temporaryFolder();
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  const answers = { probe: join(folder, 'probe'), cards: join(folder, 'cards'), apps: join(folder, 'apps') };
  const script = `#!/bin/sh
case "$1" in
  --query-gpu=index,name,*) cat ${answers.probe} ;;
  --query-gpu=*) cat ${answers.cards} ;;
  --query-compute-apps=*) cat ${answers.apps} ;;
esac
`;
  writeFileSync(join(bin, 'nvidia-smi'), script);
  chmodSync(join(bin, 'nvidia-smi'), 0o755);
  const setAnswer = (what: keyof typeof answers, text: string): void => writeFileSync(answers[what], text);
  setAnswer('probe', probe);
  setAnswer('cards', healthy);
  setAnswer('apps', '');
  return { folder, answers, setAnswer, env: { PATH: `${bin}:${process.env['PATH'] ?? ''}` } };
}

type FakeGpu = ReturnType<typeof createFakeGpu>;

async function startServerAndWorker(gpu: FakeGpu, script: string) {
  const server = await startTestServer({ heartbeatTimeoutMs: 4 * heartbeatMs });
  onTestFinished(() => server.close());
  const { id, token } = await server.createWorker({ name: 'rig-1' });
  const trainer = join(gpu.folder, 'trainer.cjs');
  writeFileSync(trainer, script);
  const args = ['--name', 'rig-1', '--persistent', '--trainer', `'${process.execPath}' '${trainer}'`];
  const worker = startWorker({ url: server.url, token, args, env: gpu.env });
  await worker.waitForLine(/^Connected/);
  const waitForWorker = (what: string, fits: (view: WorkerView) => boolean): Promise<WorkerView> =>
    server.watch.until(what, event =>
      event.kind === 'worker' && event.worker_id === id && event.worker !== null && fits(event.worker)
        ? event.worker
        : null,
    );
  return { server, worker, waitForWorker };
}

const reasonOf = async ({ admin }: TestServer, id: JobId): Promise<string | null> =>
  valueOf(await admin.call(queueApi.get, { params: { id } })).reason;

test('keeps jobs pending with a reason while a GPU is missing, and dispatches the jobs when the GPU returns', async () => {
  const gpu = createFakeGpu();
  const { server, worker, waitForWorker } = await startServerAndWorker(gpu, '');
  gpu.setAnswer('cards', 'Unable to determine the device handle for GPU 0000:41:00.0: GPU is lost.\n');
  const withMissingGpu = await waitForWorker('a GPU that is missing', view => view.gpu_troubles.length > 0);
  expect(withMissingGpu).toMatchObject({
    status_reason: 'gpu_trouble',
    gpu_troubles: [
      { gpu: 0, kind: 'missing', detail: expect.stringMatching(/^nvidia-smi says: .*GPU is lost/) },
    ],
  });
  await worker.waitForLine(/^GPU 0: nvidia-smi says: /);
  const job = await server.submit({ config: {} });
  expect(await reasonOf(server, job)).toBe(
    'No idle workers: 0 of 1 worker can take this job: 1 with GPU trouble (rig-1: GPU 0 is missing)',
  );
  gpu.setAnswer('cards', healthy);
  expect(await server.watch.jobEnd(job)).toMatchObject({ status: 'completed', attempt: 1 });
  await worker.waitForLine(/^All GPUs are available again/);
}, 30_000);

test('reports a GPU that another process uses, before the first job is dispatched', async () => {
  const gpu = createFakeGpu();
  // The test's own process does not belong to the worker, so the worker reports it.
  gpu.setAnswer('apps', `${process.pid}, ${uuid}, 9216\n`);
  const { server, waitForWorker } = await startServerAndWorker(gpu, '');
  const withHeldGpu = await waitForWorker('a GPU that is held', view => view.gpu_troubles.length > 0);
  expect(withHeldGpu.gpu_troubles).toMatchObject([
    {
      gpu: 0,
      kind: 'held',
      detail: expect.stringMatching(new RegExp(`^process ${process.pid} \\(.+\\) uses`)),
    },
  ]);
  const job = await server.submit({ config: {} });
  expect(await reasonOf(server, job)).toMatch(/GPU 0 is held by another process/);
  await server.watch.job(job, 'pending');
  expect(server.watch.seen.filter(({ kind }) => kind === 'job')).toHaveLength(1);
}, 30_000);

test('reports a process that a cancelled job left on the GPU, before the next job is dispatched', async () => {
  const gpu = createFakeGpu();
  const pidFile = join(gpu.folder, 'left');
  // The child has its own session, so the stop of the training does not reach the child.
  const { server, waitForWorker } = await startServerAndWorker(
    gpu,
    `const { writeFileSync, renameSync } = require('node:fs');
     const { spawn } = require('node:child_process');
     const child = spawn('sleep', ['600'], { detached: true, stdio: 'ignore' });
     child.unref();
     writeFileSync(${JSON.stringify(gpu.answers.apps)}, child.pid + ', ${uuid}, 12000\\n');
     writeFileSync(${JSON.stringify(pidFile)}, String(child.pid));
     console.log(JSON.stringify({ type: 'progress', step: 1, total_steps: 10 }));
     setInterval(() => {}, 1000);`,
  );
  const job = await server.submit({ config: {} });
  const leftoverPid = await server.watch.until('the child of the trainer', () => pidIn(pidFile));
  onTestFinished(() => void process.kill(leftoverPid, 'SIGKILL'));
  const next = await server.submit({ config: {} });
  valueOf(await server.admin.call(queueApi.cancel, { params: { id: job } }));
  const withHeldGpu = await waitForWorker('a GPU that is held', view => view.gpu_troubles.length > 0);
  expect(withHeldGpu).toMatchObject({
    current_job_id: job,
    gpu_troubles: [
      {
        kind: 'held',
        detail: expect.stringContaining(`process ${leftoverPid} (sleep) remains from job ${job}`),
      },
    ],
  });
  expect(await server.watch.jobEnd(job)).toMatchObject({ status: 'cancelled' });
  expect(await reasonOf(server, next)).toMatch(/GPU 0 is held by another process/);
}, 30_000);

function pidIn(file: string): number | null {
  try {
    return Number(readFileSync(file, 'utf8')) || null;
  } catch {
    return null;
  }
}
