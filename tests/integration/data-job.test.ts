/** The data of a job on real rigs: the worker downloads it once, and the trainer finds it. */
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { JobId } from '../../protocol/ids.ts';
import { queueApi } from '../../protocol/queue-api.ts';
import { runTrainyard } from '../support/cli.ts';
import { startWorker, temporaryFolder } from '../support/processes.ts';
import { startTestServer, type TestServer, valueOf } from '../support/server.ts';
import { until } from '../unit/agent/guard-rig.ts';

let server: TestServer;
beforeEach(async () => {
  server = await startTestServer({ heartbeatTimeoutMs: 6_000 });
});
afterEach(() => server.close());

/** Script of a trainer that writes the SHA-256 of each data file to its output. */
const trainer = `
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
const { images } = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const seen = {};
for (const name of readdirSync(images, { recursive: true }))
  if (statSync(join(images, name)).isFile())
    seen[name] = createHash('sha256').update(readFileSync(join(images, name))).digest('hex');
writeFileSync(join(process.argv[3], 'seen.json'), JSON.stringify(seen));
`;

async function startRig(name: string, ...args: readonly string[]) {
  const { id, token } = await server.createWorker({ name });
  const stateHome = temporaryFolder();
  const script = join(stateHome, 'train.mjs');
  writeFileSync(script, trainer);
  const start = () =>
    startWorker({
      url: server.url,
      token,
      stateHome,
      args: [
        '--name',
        name,
        '--persistent',
        '--trainer',
        `'${process.execPath}' '${script}' {config_path} {output_dir}`,
        ...args,
      ],
    });
  const jobs = join(stateHome, 'trainyard', name, 'jobs');
  return {
    id,
    start,
    /** Returns the files that the trainer of a job has found, by path. */
    seen: (job: JobId): unknown => JSON.parse(readFileSync(join(jobs, job, 'output', 'seen.json'), 'utf8')),
    /** Returns the files in the rig's cache, complete and partial ones. */
    cached(): readonly string[] {
      try {
        return readdirSync(join(jobs, '.data-cache', 'contents'), { recursive: true }).map(String);
      } catch {
        return [];
      }
    },
  };
}

function openImages(
  count: number,
  bytes: number,
): { readonly path: string; readonly digests: Record<string, string> } {
  const path = join(temporaryFolder(), 'images');
  mkdirSync(path);
  const digests: Record<string, string> = {};
  for (let n = 0; n < count; n += 1) {
    const image = randomBytes(bytes);
    writeFileSync(join(path, `image ${n}.jpg`), image);
    digests[`image ${n}.jpg`] = createHash('sha256').update(image).digest('hex');
  }
  return { path, digests };
}

async function submit(images: string): Promise<JobId> {
  const config = join(temporaryFolder(), 'own.json');
  writeFileSync(config, JSON.stringify({ images }));
  const argv = ['jobs', 'submit', config, '--data', images, '--json', '--data-dir', server.dataDir];
  const { out, err, code } = await runTrainyard(argv);
  if (code !== 0) throw new Error(err);
  return JobId.parse((JSON.parse(out) as { readonly job_id: string }).job_id);
}

test('delivers a dataset to two rigs, and downloads nothing for a second job on a rig', async () => {
  const { path, digests } = openImages(200, 20_000);
  const first = await startRig('rig-1');
  const program = first.start();
  const job = await submit(path);
  expect(await server.watch.jobEnd(job)).toMatchObject({ status: 'completed' });
  expect(first.seen(job)).toEqual(digests);
  const secondJob = await submit(path);
  expect(await server.watch.jobEnd(secondJob)).toMatchObject({ status: 'completed' });
  await program.waitForLine(/already on this rig/);
  program.kill('SIGTERM');
  await program.exited;
  const second = await startRig('rig-2');
  second.start();
  const jobOnSecondRig = await submit(path);
  expect(await server.watch.jobEnd(jobOnSecondRig)).toMatchObject({ status: 'completed' });
  expect(second.seen(jobOnSecondRig)).toEqual(digests);
});

test('resumes a dataset download where a killed worker stopped', async () => {
  const { path, digests } = openImages(400, 50_000);
  const rig = await startRig('rig-1');
  const program = rig.start();
  const job = await submit(path);
  await until(() => Promise.resolve(rig.cached().length > 100 ? true : null), 30_000);
  program.kill('SIGKILL');
  await program.exited;
  const completeFiles = rig.cached().filter(name => /^[0-9a-f]{2}.[0-9a-f]{62}$/.test(name));
  expect(completeFiles.length).toBeLessThan(400);
  const restarted = rig.start();
  expect(await server.watch.jobEnd(job)).toMatchObject({ status: 'completed' });
  expect(rig.seen(job)).toEqual(digests);
  const [, fetchedMegabytes] = await restarted.waitForLine(/Data: .* ([\d.]+) MB fetched/);
  // The whole dataset has 20 MB.
  expect(Number(fetchedMegabytes)).toBeLessThanOrEqual(20 - completeFiles.length * 0.05 + 0.1);
});

test("fails a job with both sizes when its data exceeds the rig's cache", async () => {
  const { path } = openImages(30, 100_000);
  const rig = await startRig('rig-1', '--data-cache', '1MB');
  rig.start();
  const job = await submit(path);
  expect(await server.watch.jobEnd(job)).toMatchObject({ status: 'failed' });
  const { error_message: errorMessage } = valueOf(
    await server.admin.call(queueApi.get, { params: { id: job } }),
  );
  expect(errorMessage).toContain("The data is 3.0 MB, but this rig's cache can hold only 1.0 MB");
});
