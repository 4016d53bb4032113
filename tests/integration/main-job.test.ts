import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { isJobUpdate } from '../../protocol/events.ts';
import { queueApi } from '../../protocol/queue-api.ts';
import { digitsTrainer, root, startWorker, temporaryFolder } from '../support/processes.ts';
import { startTestServer, type TestServer, valueOf } from '../support/server.ts';

const current: { server?: TestServer } = {};
afterEach(() => current.server?.close());

const exampleConfig = (name: string): object =>
  JSON.parse(readFileSync(join(root, `examples/digits/configs/${name}.json`), 'utf8')) as object;

describe('a real training on a worker in a separate process', () => {
  test('runs a real training to completion with its metrics, and reports why a broken training failed', async () => {
    const server = await startTestServer();
    current.server = server;
    server.config('digits-quick', exampleConfig('digits-quick'));
    server.config('digits-broken', exampleConfig('digits-broken'));
    const { id, token } = await server.createWorker({ name: 'rig-1', labels: { gpu_type: 'a100-80gb' } });
    const stateHome = temporaryFolder();
    const args = ['--name', 'rig-1', '--persistent', '--trainer', digitsTrainer];
    startWorker({ url: server.url, token, args, stateHome });
    await server.watch.worker(id, 'idle');

    const validJob = await server.submit({
      config_name: 'digits-quick',
      worker_labels: { gpu_type: 'a100*' },
    });
    const brokenJob = await server.submit({ config_name: 'digits-broken', target: 'worker' });

    const completedJob = await server.watch.jobEnd(validJob);
    expect(completedJob).toMatchObject({
      status: 'completed',
      worker_id: id,
      attempt: 1,
      error_message: null,
    });
    expect(completedJob.progress?.metrics?.['accuracy']).toBeGreaterThan(0.95);
    expect(completedJob.progress).toMatchObject({ step: 2814, total_steps: 2814, percent: 100 });
    const output = join(stateHome, 'trainyard/rig-1/jobs', validJob, 'output');
    const { checkpoint } = JSON.parse(readFileSync(join(output, 'result.json'), 'utf8')) as {
      checkpoint: string;
    };
    expect(existsSync(checkpoint)).toBe(true);

    const failedJob = await server.watch.jobEnd(brokenJob);
    expect(failedJob).toMatchObject({ status: 'failed', cause: 'trainer_exit', attempt: 1 });
    expect(failedJob.error_message).toMatch(/exited with code 1[^]*diverged/);
    const { attempts } = valueOf(await server.admin.call(queueApi.get, { params: { id: brokenJob } }));
    expect(attempts).toMatchObject([{ attempt: 1, outcome: 'failed', exit_code: 1, worker_name: 'rig-1' }]);

    const steps = server.watch.seen.flatMap(event =>
      event.kind === 'job' && event.job_id === validJob ? [event.type] : [],
    );
    const statusEvents = steps.filter(type => !isJobUpdate(type));
    expect(statusEvents).toEqual([
      'job.submitted',
      'job.dispatched',
      'job.starting',
      'job.running',
      'job.completed',
    ]);
    const seqs = server.watch.seen.map(({ seq }) => seq);
    expect(seqs).toEqual(seqs.map((_, n) => (seqs[0] ?? 0) + n));
  }, 60_000);
});
