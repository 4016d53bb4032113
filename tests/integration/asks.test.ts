import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { auditApi } from '../../protocol/admin-api.ts';
import { artifactsApi } from '../../protocol/artifacts-api.ts';
import { queueApi } from '../../protocol/queue-api.ts';
import type { RequestKind } from '../../protocol/requests.ts';
import { runTrainyard } from '../support/cli.ts';
import { digitsTrainer, type Program, startWorker, temporaryFolder } from '../support/processes.ts';
import { startTestServer, valueOf } from '../support/server.ts';

const endless = {
  epochs: 1000,
  batch_size: 16,
  learning_rate: 0.01,
  hidden: 32,
  checkpoint_every: 1_000_000,
};
const $requests = { save: { signal: 'SIGUSR1' }, sample: { file: 'sample.now' } };

const expectedRefusal = (code: string) => ({ ok: false, failure: { problem: { status: 409, code } } });

test('passes requests for samples and checkpoints to the trainer, also after the worker restarts', async () => {
  const server = await startTestServer();
  onTestFinished(() => server.close());
  const { id, token } = await server.createWorker({ name: 'rig-1' });
  const stateHome = temporaryFolder();
  const args = ['--name', 'rig-1', '--persistent', '--verbose', '--trainer', digitsTrainer];
  const startRig = (): Program => startWorker({ url: server.url, token, args, stateHome });
  const requestAction = (job: string, what: RequestKind) =>
    server.admin.call(queueApi.ask, { params: { id: job }, body: { what } });
  const first = startRig();
  await server.watch.worker(id, 'idle');
  const job = await server.submit({ config: { ...endless, $requests } });
  await first.waitForLine(/^\| training from the beginning/);
  await server.watch.job(job, 'running');
  const output = join(stateHome, 'trainyard/rig-1/jobs', job, 'output');
  const keys = async () =>
    valueOf(await server.admin.call(artifactsApi.list, { params: { id: job }, query: {} })).artifacts.map(
      ({ key }) => key,
    );

  const run = await runTrainyard(['jobs', 'sample', job, '--data-dir', server.dataDir]);
  expect(run).toMatchObject({
    code: 0,
    err: 'Requested samples from rig-1. The job lists the new files when they are uploaded\n',
  });
  await first.waitForLine(
    new RegExp(`^Asked the trainer of job ${job} for samples \\(sample\\.now in its output`),
  );
  const [, sample = ''] = await first.waitForLine(/^\| uploaded (samples\/sample-\d{6}\.png)/);
  expect(readFileSync(join(output, sample)).subarray(1, 4).toString()).toBe('PNG');
  expect(await keys()).toContain(sample);
  await vi.waitFor(() => expect(existsSync(join(output, 'sample.now'))).toBe(false));

  first.kill('SIGKILL');
  await first.exited;
  const second = startRig();
  await second.waitForLine(/^Connected/);
  await vi.waitFor(async () => valueOf(await requestAction(job, 'save')), { timeout: 10_000 });
  await second.waitForLine(new RegExp(`^Asked the trainer of job ${job} to save \\(SIGUSR1\\)`));
  const [, checkpoint = ''] = await second.waitForLine(/^\| saved (checkpoint-\d{6}\.bin) as asked/);
  await second.waitForLine(new RegExp(`^\\| uploaded ${checkpoint}`));
  expect(existsSync(join(output, checkpoint))).toBe(true);
  expect(await keys()).toContain(checkpoint);
  const query = { event_type: 'job.asked', target_id: job };
  expect(valueOf(await server.admin.call(auditApi.list, { query })).entries).toMatchObject([
    { actor_id: 'admin', details: { what: 'save', attempt: 1 } },
    { actor_id: 'admin', details: { what: 'sample', attempt: 1 } },
  ]);

  valueOf(await server.admin.call(queueApi.cancel, { params: { id: job } }));
  expect(await server.watch.jobEnd(job)).toMatchObject({ status: 'cancelled', attempt: 1 });
  expect(await requestAction(job, 'save')).toMatchObject(expectedRefusal('job_not_running'));
  const withoutRequests = await server.submit({ config: endless });
  await server.watch.job(withoutRequests, 'running');
  expect(await requestAction(withoutRequests, 'save')).toMatchObject(expectedRefusal('request_unknown'));
}, 60_000);
