import { expect, test } from 'vitest';
import { openFleet } from '../../../../support/fleet-bench.ts';

test('counts pending jobs that only offline workers can run, by worker', async () => {
  const fleet = await openFleet();
  const small = await fleet.addIdleWorker({ agent: { gpus: 1 } });
  const big = await fleet.addIdleWorker({ agent: { gpus: 4 } });
  await fleet.addWorker();
  await fleet.runJob(small);
  await big.disconnect();
  const { jobId: first } = await fleet.submit({ gpu_count: 4 });
  await fleet.submit({ gpu_count: 2 });
  await fleet.submit({ gpu_count: 2 });
  await fleet.submit({ gpu_count: 1 });
  const { id } = big;
  const { name } = big.view();
  const waitingForOffline = () => fleet.orchestrator.queue.stats(null).waitingForOffline;
  expect(waitingForOffline()).toMatchObject([
    { worker: { id, name }, workerCount: 1, firstJob: first, count: 3 },
  ]);

  // Two offline workers can run the last job now.
  await small.disconnect();
  expect(waitingForOffline()).toMatchObject([
    { worker: { id }, workerCount: 1, count: 3 },
    { worker: { id: small.id }, workerCount: 2, count: 1 },
  ]);

  // A job that no worker can run is not counted for any worker.
  await fleet.submit({ gpu_count: 8 });
  expect(waitingForOffline()).toHaveLength(2);
  expect(fleet.orchestrator.queue.stats(null).unsatisfiable).toHaveLength(1);
});
