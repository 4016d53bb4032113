/** Tests how the panel merges a repeated read of the workers into the fleet. */
import { expect, test } from 'vitest';
import type { UiEvent } from '../../../../protocol/events.ts';
import type { WorkerView } from '../../../../protocol/worker.ts';
import {
  emptyFleet,
  type Fleet,
  withListedWorkers,
  withRefreshedWorkers,
} from '../../../../renderer/state/fleet.ts';
import { keyed } from '../../../../renderer/state/keyed.ts';
import { jobId, workerId, workerView } from '../worker-builders.ts';

const timestamp = '2026-03-01T12:00:00.000Z';
const workerEvent = (seq: number, worker: WorkerView): UiEvent => ({
  seq,
  at: timestamp,
  kind: 'worker',
  type: 'worker.updated',
  worker_id: worker.id,
  worker,
});
const fleetOf = (workers: readonly WorkerView[], overrides: Partial<Fleet> = {}): Fleet => ({
  ...emptyFleet,
  seq: 10,
  workers: keyed(workers.map(worker => [worker.id, worker] as const)),
  ...overrides,
});

const knownWorker = workerView();
/** `knownWorker` in a later read. */
const refreshedWorker = workerView({
  status: 'busy',
  current_job_id: jobId('j_one'),
  gpu_utilization: 97,
  vram_used_gb: 40,
  last_heartbeat: '2026-03-01T12:00:30.000Z',
  last_contact_age_s: 0.2,
});

test('updates load, contact, status and job of a worker without a newer event', () => {
  const fleet = withRefreshedWorkers(fleetOf([knownWorker]), { workers: [refreshedWorker], seq: 10 });
  expect(fleet.workers.get(knownWorker.id)).toEqual(refreshedWorker);
  expect(fleet.seq).toBe(10);
});

test('updates only load and contact when an event of the worker is newer than the read', () => {
  const drained = workerView({ status: 'draining', name: 'renamed' });
  const before = fleetOf([drained], { seq: 11, recent: [workerEvent(11, drained)] });
  const worker = withRefreshedWorkers(before, { workers: [refreshedWorker], seq: 10 }).workers.get(
    knownWorker.id,
  );
  expect(worker).toEqual({
    ...drained,
    gpu_utilization: 97,
    vram_used_gb: 40,
    last_heartbeat: refreshedWorker.last_heartbeat,
    last_contact_age_s: 0.2,
  });
});

test('updates all fields when newer events concern only other workers', () => {
  const otherWorker = workerView({ id: workerId('w_two') });
  const before = fleetOf([knownWorker, otherWorker], {
    seq: 12,
    recent: [workerEvent(12, otherWorker), workerEvent(10, knownWorker)],
  });
  const fleet = withRefreshedWorkers(before, { workers: [refreshedWorker], seq: 10 });
  expect(fleet.workers.get(knownWorker.id)).toEqual(refreshedWorker);
});

test("updates only load and contact when an event of the worker's job is newer than the read", () => {
  const event = {
    ...workerEvent(11, knownWorker),
    kind: 'job',
    type: 'job.completed',
    job_id: jobId('j_one'),
    worker: knownWorker,
  } as unknown as UiEvent;
  const fleet = withRefreshedWorkers(fleetOf([knownWorker], { seq: 11, recent: [event] }), {
    workers: [refreshedWorker],
    seq: 10,
  });
  expect(fleet.workers.get(knownWorker.id)?.status).toBe('idle');
  expect(fleet.workers.get(knownWorker.id)?.gpu_utilization).toBe(97);
});

test('updates only load and contact when newer events may be missing in the recent list', () => {
  const otherWorker = workerView({ id: workerId('w_two') });
  const recent = Array.from({ length: 50 }, (_, index) => workerEvent(80 - index, otherWorker));
  const fleet = withRefreshedWorkers(fleetOf([knownWorker], { seq: 80, recent }), {
    workers: [refreshedWorker],
    seq: 10,
  });
  expect(fleet.workers.get(knownWorker.id)?.status).toBe('idle');
  expect(fleet.workers.get(knownWorker.id)?.gpu_utilization).toBe(97);
});

test('neither adds unknown workers nor removes workers that are missing in the read', () => {
  const fleet = withRefreshedWorkers(fleetOf([knownWorker]), {
    workers: [workerView({ id: workerId('w_gone') })],
    seq: 10,
  });
  expect([...fleet.workers.keys()]).toEqual([knownWorker.id]);
});

test('returns the same fleet, or the same worker object, when nothing changed', () => {
  const otherWorker = workerView({ id: workerId('w_two') });
  const before = fleetOf([knownWorker, otherWorker]);
  expect(withRefreshedWorkers(before, { workers: [workerView(), otherWorker], seq: 10 })).toBe(before);
  const after = withRefreshedWorkers(before, {
    workers: [refreshedWorker, workerView({ id: otherWorker.id })],
    seq: 10,
  });
  expect(after.workers.get(otherWorker.id)).toBe(otherWorker);
});

test('withListedWorkers adds and removes workers and reuses the objects of unchanged workers', () => {
  const [removed, added] = [workerView({ id: workerId('w_gone') }), workerView({ id: workerId('w_new') })];
  const fleet = withListedWorkers(fleetOf([knownWorker, removed]), {
    workers: [workerView(), added],
    seq: 12,
  });
  expect([...fleet.workers.keys()]).toEqual([knownWorker.id, added.id]);
  expect(fleet.workers.get(knownWorker.id)).toBe(knownWorker);
  expect(fleet.seq).toBe(12);
  expect(
    withListedWorkers(fleet, { workers: [refreshedWorker], seq: 13 }).workers.get(knownWorker.id),
  ).toEqual(refreshedWorker);
});
