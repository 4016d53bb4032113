import assert from 'node:assert/strict';
import http from 'node:http';
import { completeAtOnce, createLightWorker, type LightWorker } from '../support/light-worker.ts';
import type { Bench } from './bench.ts';
import type { Scenario } from './scenario.ts';

const workerCount = 4;

/**
 * Submits a job and drains a worker at the same moment. In either order, the worker keeps draining and gets no offer
 * after the drain.
 */
async function round(bench: Bench, worker: LightWorker, n: number): Promise<void> {
  const { admin, events } = bench;
  const from = events.events.length;
  const submit = (): Promise<string> => admin.submit({ config: {}, worker_labels: { rig: worker.id } });
  const drain = (): Promise<unknown> => admin.must('POST', `/api/admin/workers/${worker.id}/drain`);
  const [job] = n % 2 === 0 ? await Promise.all([submit(), drain()]) : await drainFirst(submit, drain);
  // A heartbeat does not end a drain.
  assert.equal((await worker.beat()).status, 200);
  assert.equal((await admin.worker(worker.id)).status, 'draining');
  await admin.must('POST', `/api/admin/workers/${worker.id}/undrain`);
  await events.job(job, 'job.completed', from);
}

async function drainFirst(
  submit: () => Promise<string>,
  drain: () => Promise<unknown>,
): Promise<readonly [string]> {
  const drained = drain();
  const job = await submit();
  await drained;
  return [job];
}

async function keepsDraining(bench: Bench, rounds: number): Promise<void> {
  const agent = new http.Agent({ keepAlive: true, maxSockets: workerCount });
  bench.onDisconnect(() => agent.destroy());
  await bench.server.start();
  const work = async (): Promise<void> => {
    const { id, token } = await bench.admin.createWorker('light');
    const worker = createLightWorker({ url: bench.server.url, id, token, agent, onCommand: completeAtOnce });
    bench.onDisconnect(() => worker.cut());
    // The label lets a job select this worker.
    await worker.register({ labels: { rig: id } });
    await worker.openStream();
    await bench.events.worker(id, 'worker.connected');
    for (let n = 0; n < rounds / workerCount; n += 1) await round(bench, worker, n);
  };
  await Promise.all(Array.from({ length: workerCount }, work));
  const drained = bench.events.events.filter(({ type }) => type === 'worker.draining');
  assert.equal(drained.length, rounds);
}

const keepsDrainingAgainst = (rounds: number): Scenario => ({
  id: 'F17',
  title: `sends no offer after a drain in ${rounds} races against a dispatch, and keeps the worker draining`,
  quick: false,
  run: bench => keepsDraining(bench, rounds),
});

export const drains: readonly Scenario[] = [keepsDrainingAgainst(500)];
