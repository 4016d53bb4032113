import { describe, expect, test } from 'vitest';
import { everyJob } from '../../../../../support/every-job.ts';
import { openFleet } from '../../../../../support/fleet-bench.ts';
import { ada, bob, type Fleet } from '../../../../../support/fleet.ts';
import type { FleetWorker } from '../../../../../support/fleet-worker.ts';
import type { JobId } from '../../../../../../protocol/ids.ts';

interface Scene {
  readonly fleet: Fleet;
  readonly rig: FleetWorker;
  readonly waiting: JobId;
  readonly blocked: JobId;
  readonly ended: JobId;
}

type Call = (scene: Scene) => Promise<unknown>;

// Creates an ended job, a blocked job, and a pending job whose label requirement the idle rig does not meet.
async function openScene(): Promise<Scene> {
  const fleet = await openFleet();
  const { jobId: ended } = await fleet.submit();
  await fleet.cancel(ended);
  const rig = await fleet.addIdleWorker({ labels: { team: 'vision' } });
  const { jobId: waiting } = await fleet.submit({ worker_labels: { team: 'nlp' } });
  const { jobId: blocked } = await fleet.submit({ requires_approval: true });
  await fleet.clock.advance(1_000);
  return { fleet, rig, waiting, blocked, ended };
}

const calls: Readonly<Record<string, Call>> = {
  'a submission': ({ fleet }) => fleet.trySubmit(),
  'a submission with no_wait': ({ fleet }) => fleet.trySubmit({ no_wait: true }),
  'a submission with a key': ({ fleet }) => fleet.trySubmit({}, ada, { key: 'k', fingerprint: 'f' }),
  'an approval': ({ fleet, blocked }) => fleet.orchestrator.jobs.approve(blocked, bob),
  'a rejection': ({ fleet, blocked }) => fleet.orchestrator.jobs.reject(blocked, 'too expensive', bob),
  'a new priority': ({ fleet, waiting }) => fleet.orchestrator.jobs.setPriority(waiting, 50, bob),
  'a move to the top': ({ fleet, waiting }) => fleet.orchestrator.jobs.moveToTop(waiting, bob),
  'a retry': ({ fleet, ended }) => fleet.orchestrator.jobs.retry(ended, bob),
  'a deletion': ({ fleet, ended }) => fleet.orchestrator.jobs.remove(ended, bob),
  'a clean-up': ({ fleet }) => fleet.orchestrator.queue.cleanUp(0, bob),
  'a pause': ({ fleet }) => fleet.orchestrator.queue.pause('mains', bob),
  'a new limit': ({ fleet }) => fleet.orchestrator.queue.limit({ max_concurrent: 0 }, bob),
  'a new label': ({ fleet, rig }) =>
    fleet.orchestrator.workers.update(rig.id, { labels: { team: 'nlp' } }, bob),
};

const snapshot = ({ fleet, rig }: Scene) => ({
  jobs: fleet.store.jobs({ ...everyJob, limit: 100, offset: 0 }),
  queue: fleet.orchestrator.queue.view(),
  labels: rig.view().labels,
  events: fleet.events.length,
  rows: fleet.audit().length,
  offers: rig.commandsOf('job_submit').length,
});

const withoutRecords = ({ events: _events, rows: _rows, ...rest }: ReturnType<typeof snapshot>) => rest;

describe.each(Object.entries(calls))('queue change: %s', (_name, call) => {
  test('fails and changes nothing while the disk is full, and succeeds when there is space again', async () => {
    const scene = await openScene();
    const { fleet } = scene;
    const before = snapshot(scene);
    await fleet.setDiskFull(true);
    await expect(call(scene)).rejects.toThrow('full');
    await fleet.clock.settle();
    expect(snapshot(scene)).toEqual(before);
    await fleet.setDiskFull(false);
    // The rolled-back change must leave nothing in memory that dispatches or blocks a job.
    const { events, rows, ...state } = snapshot(scene);
    expect(state).toEqual(withoutRecords(before));
    await call(scene);
    await fleet.clock.settle();
    const after = snapshot(scene);
    expect(withoutRecords(after)).not.toEqual(state);
    // The change adds one event, and one more for each offer that it causes.
    expect(after.events - events).toBe(1 + after.offers - state.offers);
    expect(after.rows - rows).toBe(after.events - events);
    fleet.errors.splice(0);
  });

  test('keeps the queue change after a crash when the call has returned', async () => {
    const scene = await openScene();
    await call(scene);
    await scene.fleet.clock.settle();
    const { jobs, queue, rows } = snapshot(scene);
    await scene.fleet.restart({ crash: true });
    expect(snapshot(scene)).toMatchObject({ jobs, queue, rows });
  });
});

test('keeps the previous limit when the transaction that changes it is rolled back', async () => {
  const fleet = await openFleet();
  await fleet.addIdleWorker();
  await fleet.addIdleWorker();
  await fleet.orchestrator.queue.limit({ max_concurrent: 1 }, bob);
  await fleet.setDiskFull(true);
  await expect(fleet.orchestrator.queue.limit({ max_concurrent: null }, bob)).rejects.toThrow('full');
  await fleet.setDiskFull(false);
  expect(await fleet.submit()).toMatchObject({ status: 'running' });
  expect(await fleet.submit()).toMatchObject({ status: 'queued' });
});

test('still counts a job as running when the transaction that ends it is rolled back', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  await fleet.addIdleWorker();
  const job = await fleet.runJob(rig);
  await fleet.orchestrator.queue.limit({ user_max_concurrent: 1 }, bob);
  const { jobId: next } = await fleet.submit();
  await fleet.setDiskFull(true);
  await expect(rig.report(job, 'completed')).rejects.toThrow('full');
  await fleet.setDiskFull(false);
  expect(fleet.job(next).status).toBe('pending');
  await rig.report(job, 'completed');
  expect(fleet.job(next).status).toBe('dispatched');
});

test('keeps the queue paused when the transaction that resumes it is rolled back', async () => {
  const fleet = await openFleet();
  await fleet.addIdleWorker();
  await fleet.orchestrator.queue.pause(null, bob);
  const { jobId } = await fleet.submit();
  await fleet.setDiskFull(true);
  await expect(fleet.orchestrator.queue.resume(bob)).rejects.toThrow('full');
  await fleet.setDiskFull(false);
  await fleet.clock.advance(60_000);
  expect(fleet.job(jobId).status).toBe('pending');
  await fleet.orchestrator.queue.resume(bob);
  expect(fleet.job(jobId).status).toBe('dispatched');
});
