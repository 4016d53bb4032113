import { expect, onTestFinished, test } from 'vitest';
import { queueApi } from '../../../protocol/queue-api.ts';
import { startTestServer, valueOf } from '../../support/server.ts';

test('counts pending jobs that no worker, or only an offline worker, can run', async () => {
  const server = await startTestServer();
  onTestFinished(() => server.close());
  const stats = async () => valueOf(await server.admin.call(queueApi.stats));
  expect(await stats()).toMatchObject({ gpu_hours_24h: 0, unsatisfiable: [], waiting_for_offline: [] });
  const { id, token } = await server.createWorker({ name: 'rig' });
  const headers = { 'x-worker-token': token, 'content-type': 'application/json' };
  const body = JSON.stringify({ protocol: 2, persistent: true, gpu_count: 2 });
  await fetch(`${server.url}/api/workers/register`, { method: 'POST', headers, body });
  await server.watch.worker(id, 'connecting');
  const largeJob = await server.submit({ config: {}, gpu_count: 8 });
  await server.submit({ config: {}, gpu_count: 8 });
  const fittingJob = await server.submit({ config: {}, gpu_count: 2 });
  // A pause of the queue does not change these figures.
  valueOf(await server.admin.call(queueApi.pause, { body: {} }));
  expect((await stats()).unsatisfiable).toEqual([{ job_id: largeJob, count: 2 }]);
  await fetch(`${server.url}/api/workers/disconnect`, { method: 'POST', headers, body: '{}' });
  await server.watch.worker(id, 'offline');
  const waitingForWorker = {
    worker_id: id,
    worker_name: 'rig',
    worker_count: 1,
    job_id: fittingJob,
    count: 1,
  };
  expect((await stats()).waiting_for_offline).toEqual([waitingForWorker]);
});
