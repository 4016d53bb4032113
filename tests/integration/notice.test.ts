import { expect, onTestFinished, test } from 'vitest';
import { auditApi } from '../../protocol/admin-api.ts';
import { artifactsApi } from '../../protocol/artifacts-api.ts';
import { queueApi } from '../../protocol/queue-api.ts';
import { digitsTrainer, startWorker } from '../support/processes.ts';
import { startTestServer, valueOf } from '../support/server.ts';

const config = {
  epochs: 1000,
  batch_size: 16,
  learning_rate: 0.01,
  hidden: 32,
  checkpoint_every: 1_000_000,
  $requests: { save: { signal: 'SIGUSR1' } },
};

test('saves a checkpoint on a notice signal, so that another worker resumes from it without a retry', async () => {
  const server = await startTestServer();
  onTestFinished(() => server.close());
  const start = async (name: string, ...args: readonly string[]) => {
    const { id, token } = await server.createWorker({ name });
    const workerArgs = ['--name', name, '--persistent', '--verbose', '--trainer', digitsTrainer, ...args];
    return { id, worker: startWorker({ url: server.url, token, args: workerArgs }) };
  };
  const first = await start('rig-1', '--notice-signal', 'USR1');
  const job = await server.submit({ config, max_retries: 0 });
  await first.worker.waitForLine(/^\| training from the beginning/);
  await server.watch.until('progress', event =>
    event.kind === 'job' && (event.job?.progress?.step ?? 0) > 20 ? true : null,
  );
  first.worker.kill('SIGUSR1');
  const [, savedCheckpoint = ''] = await first.worker.waitForLine(
    /^\| saved (checkpoint-\d{6}\.bin) as asked/,
  );
  expect(await first.worker.exited).toEqual({ code: 0, signal: null });
  expect(first.worker.lines).toContainEqual(
    expect.stringContaining('The machine is taken away, as SIGUSR1 announces'),
  );
  const query = { event_type: 'worker.closed', target_id: first.id };
  expect(valueOf(await server.admin.call(auditApi.list, { query })).entries).toMatchObject([
    { details: { reason: 'notice' } },
  ]);

  const readJob = async () => valueOf(await server.admin.call(queueApi.get, { params: { id: job } }));
  const pending = await readJob();
  expect(pending.status).toBe('pending');
  expect(pending.attempts).toMatchObject([{ cause: 'preempted', used_retry: false }]);
  const { artifacts } = valueOf(
    await server.admin.call(artifactsApi.list, { params: { id: job }, query: {} }),
  );
  expect(artifacts.map(({ key }) => key)).toContain(savedCheckpoint);

  const second = await start('rig-2');
  const [, step] = await second.worker.waitForLine(/^\| continuing after step (\d+)/);
  expect(Number(step)).toBe(Number(/\d{6}/.exec(savedCheckpoint)?.[0]));
  expect(Number(step)).toBeGreaterThan(20);
  expect(await server.watch.job(job, 'running')).toBeDefined();
  expect((await readJob()).attempts).toHaveLength(2);
}, 90_000);
