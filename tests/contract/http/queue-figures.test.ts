import { expect, onTestFinished, test } from 'vitest';
import { queueApi } from '../../../protocol/queue-api.ts';
import { startTestServer, valueOf } from '../../support/server.ts';

test('counts pending jobs that no worker, or only an offline worker, can run', async () => {
  const to = await startTestServer();
  onTestFinished(() => to.close());
  const stats = async () => valueOf(await to.admin.call(queueApi.stats));
  expect(await stats()).toMatchObject({ gpu_hours_24h: 0, unsatisfiable: [], waiting_for_offline: [] });
  const { id, token } = await to.createWorker({ name: 'rig' });
  const headers = { 'x-worker-token': token, 'content-type': 'application/json' };
  const body = JSON.stringify({ protocol: 2, persistent: true, gpu_count: 2 });
  await fetch(`${to.url}/api/workers/register`, { method: 'POST', headers, body });
  await to.watch.worker(id, 'connecting');
  const big = await to.submit({ config: {}, gpu_count: 8 });
  await to.submit({ config: {}, gpu_count: 8 });
  const fits = await to.submit({ config: {}, gpu_count: 2 });
  // A pause of the queue does not change these figures.
  valueOf(await to.admin.call(queueApi.pause, { body: {} }));
  expect((await stats()).unsatisfiable).toEqual([{ job_id: big, count: 2 }]);
  await fetch(`${to.url}/api/workers/disconnect`, { method: 'POST', headers, body: '{}' });
  await to.watch.worker(id, 'offline');
  const waiting = { worker_id: id, worker_name: 'rig', worker_count: 1, job_id: fits, count: 1 };
  expect((await stats()).waiting_for_offline).toEqual([waiting]);
});
