import assert from 'node:assert/strict';
import http from 'node:http';
import { completeAtOnce, createLightWorker, type LightWorker } from '../support/light-worker.ts';
import type { FaultFleet } from './fault-fleet.ts';
import type { Scenario } from './scenario.ts';

const workerCount = 4;

/**
 * Submits a job and drains its worker at the same time; `number` decides which call is sent first. Expects that the worker keeps
 * draining, and that the job completes after the undrain at the latest.
 */
async function runRace(fleet: FaultFleet, worker: LightWorker, number: number): Promise<void> {
  const { admin, events } = fleet;
  const from = events.events.length;
  const submit = (): Promise<string> => admin.submit({ config: {}, worker_labels: { rig: worker.id } });
  const drain = (): Promise<unknown> => admin.must('POST', `/api/admin/workers/${worker.id}/drain`);
  const isSubmitFirst = number % 2 === 0;
  const [job] = isSubmitFirst ? await Promise.all([submit(), drain()]) : await drainFirst(submit, drain);
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

async function runRaces(fleet: FaultFleet, count: number): Promise<void> {
  const agent = new http.Agent({ keepAlive: true, maxSockets: workerCount });
  fleet.onDisconnect(() => agent.destroy());
  await fleet.server.start();
  const runRacesOfWorker = async (): Promise<void> => {
    const { id, token } = await fleet.admin.createWorker('light');
    const worker = createLightWorker({ url: fleet.server.url, id, token, agent, onCommand: completeAtOnce });
    fleet.onDisconnect(() => worker.cut());
    // The label lets a job select this worker.
    await worker.register({ labels: { rig: id } });
    await worker.openStream();
    await fleet.events.worker(id, 'worker.connected');
    for (let number = 0; number < count / workerCount; number += 1) await runRace(fleet, worker, number);
  };
  await Promise.all(Array.from({ length: workerCount }, runRacesOfWorker));
  const drainEvents = fleet.events.events.filter(({ type }) => type === 'worker.draining');
  assert.equal(drainEvents.length, count);
}

const raceCount = 500;

export const drains: readonly Scenario[] = [
  {
    id: 'F17',
    title: `keeps a worker draining in ${raceCount} races between its drain and a dispatch, and completes each job`,
    quick: false,
    run: fleet => runRaces(fleet, raceCount),
  },
];
