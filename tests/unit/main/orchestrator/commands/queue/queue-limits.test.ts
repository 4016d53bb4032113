// See docs/internals/semantics.md, section 7. T, the heartbeat timeout, is 120 s. Takeover follows after 160 s of silence.
import { describe, expect, test } from 'vitest';
import type { JobId } from '../../../../../../protocol/ids.ts';
import { openFleet } from '../../../../../support/fleet-bench.ts';
import { ada, bob, type Fleet } from '../../../../../support/fleet.ts';
import type { FleetWorker } from '../../../../../support/fleet-worker.ts';
import { lastRow } from '../../audit-rows.ts';

// Opens a fleet with one idle rig and `more` further idle rigs.
async function openRigs(more: number) {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const rigs: [FleetWorker, ...FleetWorker[]] = [rig];
  for (let n = 0; n < more; n++) rigs.push(await fleet.addIdleWorker());
  const rigOf = (id: string | null): FleetWorker => {
    const match = rigs.find(candidate => candidate.id === id);
    if (match === undefined) throw new Error(`${id} is none of these rigs`);
    return match;
  };
  return { fleet, rig, rigs, rigOf };
}

// Sets the limits and waits for their effects.
async function limit(fleet: Fleet, limits: Parameters<Fleet['orchestrator']['queue']['limit']>[0]) {
  const concurrency = await fleet.orchestrator.queue.limit(limits, bob);
  await fleet.clock.settle();
  return concurrency;
}

const liveJobIds = (fleet: Fleet): readonly JobId[] => fleet.store.liveJobs().map(({ id }) => id);

describe('limit on all running jobs', () => {
  test('keeps jobs above the limit pending, and dispatches the next job when a job ends', async () => {
    const { fleet, rigOf } = await openRigs(2);
    expect(await limit(fleet, { max_concurrent: 2 })).toMatchObject({
      max_concurrent: 2,
      user_max_concurrent: null,
    });
    const [first, second, third] = [await fleet.submit(), await fleet.submit(), await fleet.submit()];
    expect([first, second, third].map(({ status }) => status)).toEqual(['running', 'running', 'queued']);
    const rig = rigOf(first.workerId);
    await rig.run(first.jobId);
    await rig.report(first.jobId, 'completed');
    expect(liveJobIds(fleet)).toEqual([second.jobId, third.jobId]);
  });

  test('records an event and an audit row for a new limit, and keeps the limit after a crash', async () => {
    const { fleet, rigs } = await openRigs(1);
    await limit(fleet, { max_concurrent: 1, user_max_concurrent: 3 });
    await limit(fleet, { user_max_concurrent: null });
    expect(fleet.events.at(-1)).toMatchObject({
      kind: 'queue',
      type: 'queue.limits_changed',
      queue: { max_concurrent: 1, user_max_concurrent: null },
    });
    expect(lastRow(fleet)).toMatchObject({
      type: 'queue.limits_changed',
      actor_type: 'admin',
      actor_id: 'bob',
      address: '10.0.0.2',
      target_type: 'queue',
      target_id: 'queue',
      details: { max_concurrent: 1, user_max_concurrent: null },
    });
    await fleet.restart({ crash: true });
    for (const rig of rigs) await rig.connect();
    expect(fleet.orchestrator.queue.concurrency()).toMatchObject({
      max_concurrent: 1,
      user_max_concurrent: null,
    });
    await fleet.submit();
    expect(await fleet.submit()).toMatchObject({ status: 'queued' });
  });

  test('stops no running job when the limit is lowered below the current count', async () => {
    const { fleet, rigOf } = await openRigs(2);
    const jobs = [await fleet.submit(), await fleet.submit()] as const;
    for (const { jobId, workerId } of jobs) await rigOf(workerId).run(jobId);
    await limit(fleet, { max_concurrent: 1 });
    expect(jobs.map(({ jobId }) => fleet.job(jobId).status)).toEqual(['running', 'running']);
    const { jobId: last } = await fleet.submit();
    await rigOf(jobs[0].workerId).report(jobs[0].jobId, 'completed');
    expect(fleet.job(last).status).toBe('pending');
    await rigOf(jobs[1].workerId).report(jobs[1].jobId, 'completed');
    expect(fleet.job(last).status).toBe('dispatched');
  });

  test('dispatches pending jobs immediately when the limit is raised or removed', async () => {
    const { fleet } = await openRigs(3);
    await limit(fleet, { max_concurrent: 0 });
    for (let n = 0; n < 4; n++) await fleet.submit();
    expect(liveJobIds(fleet)).toHaveLength(0);
    await limit(fleet, { max_concurrent: 3 });
    expect(liveJobIds(fleet)).toHaveLength(3);
    await limit(fleet, { max_concurrent: null });
    expect(liveJobIds(fleet)).toHaveLength(4);
  });

  test('counts jobs from before a restart against the limit', async () => {
    const { fleet, rig } = await openRigs(0);
    const job = await fleet.runJob(rig);
    await limit(fleet, { max_concurrent: 1 });
    await fleet.restart({ crash: true });
    await fleet.addIdleWorker();
    expect(await fleet.submit()).toMatchObject({ status: 'queued' });
    await rig.connect({ currentJobId: job });
    await rig.report(job, 'completed');
    expect(liveJobIds(fleet)).toHaveLength(1);
  });
});

describe('limit on the running jobs of each user', () => {
  test('keeps the jobs of a user at the limit pending, but not the jobs of other users', async () => {
    const { fleet, rigOf } = await openRigs(2);
    await limit(fleet, { user_max_concurrent: 1 });
    const first = await fleet.submit();
    const held = await fleet.submit({ priority: 50 });
    const jobOfBob = await fleet.submit({}, bob);
    expect([first, held, jobOfBob].map(({ status }) => status)).toEqual(['running', 'queued', 'running']);
    expect(held.position).toBe(1);
    const rig = rigOf(first.workerId);
    await rig.run(first.jobId);
    await rig.report(first.jobId, 'completed');
    expect(fleet.job(held.jobId).status).toBe('dispatched');
  });

  test.each(['recovering', 'cancelling', 'dispatched'] as const)(
    'counts a %s job against the limit of its user',
    async status => {
      const { fleet, rigOf } = await openRigs(1);
      await limit(fleet, { user_max_concurrent: 1 });
      const { jobId, workerId } = await fleet.submit();
      const rig = rigOf(workerId);
      if (status !== 'dispatched') await rig.run(jobId);
      if (status === 'recovering') await rig.disconnect();
      if (status === 'cancelling') await fleet.cancel(jobId);
      expect(fleet.job(jobId).status).toBe(status);
      const { jobId: next } = await fleet.submit();
      expect(fleet.job(next).status).toBe('pending');
      if (status === 'recovering') await fleet.release(jobId);
      if (status === 'dispatched') await fleet.cancel(jobId);
      if (status !== 'recovering') await rig.report(jobId, 'cancelled');
      // The two jobs must never run at the same time.
      expect(liveJobIds(fleet)).toHaveLength(1);
    },
  );

  test('counts a retry against the limit of the user who requested it', async () => {
    const { fleet } = await openRigs(1);
    await limit(fleet, { user_max_concurrent: 1 });
    const { jobId } = await fleet.submit({ gpu_count: 8 });
    await fleet.cancel(jobId);
    await fleet.submit();
    const retry = await fleet.orchestrator.jobs.retry(jobId, bob);
    expect(retry).toMatchObject({ ok: true, value: { status: 'queued' } });
    expect(fleet.store.pendingJobs().map(({ user }) => user)).toEqual(['bob']);
  });
});

describe('pausing the queue', () => {
  test('dispatches nothing while the queue is paused, and does not stop running jobs', async () => {
    const { fleet, rig } = await openRigs(1);
    const running = await fleet.runJob(rig);
    await fleet.orchestrator.queue.pause('power outage', bob);
    const { jobId, status } = await fleet.submit();
    expect(status).toBe('queued');
    await rig.report(running, 'running', { progress: { step: 3 } });
    await rig.report(running, 'completed');
    expect(fleet.job(running).status).toBe('completed');
    await fleet.addIdleWorker();
    await fleet.clock.advance(60_000);
    expect(await fleet.orchestrator.queue.process()).toBe(0);
    expect(fleet.job(jobId)).toMatchObject({ status: 'pending', position: 1 });
  });

  test('stores who paused the queue, when and why, and replaces these facts at the next pause', async () => {
    const { fleet } = await openRigs(0);
    const paused = await fleet.orchestrator.queue.pause('power outage', bob);
    expect(paused.paused).toEqual({
      note: 'power outage',
      by: 'bob',
      since: fleet.clock.iso(fleet.clock.wall()),
    });
    expect(lastRow(fleet)).toMatchObject({
      type: 'queue.paused',
      actor_id: 'bob',
      target_id: 'queue',
      details: { note: 'power outage' },
    });
    expect(fleet.events.at(-1)).toMatchObject({ type: 'queue.paused', queue: { paused: { by: 'bob' } } });
    await fleet.clock.advance(1_000);
    const secondPause = await fleet.orchestrator.queue.pause(null, ada);
    expect(secondPause.paused).toEqual({ note: null, by: 'ada', since: fleet.clock.iso(fleet.clock.wall()) });
  });

  test('keeps the pause and its note after a restart', async () => {
    const { fleet, rig } = await openRigs(0);
    const { paused } = await fleet.orchestrator.queue.pause('power outage', bob);
    const { jobId } = await fleet.submit();
    await fleet.clock.advance(5_000);
    await fleet.restart({ crash: true });
    await rig.connect();
    expect(fleet.orchestrator.queue.view().paused).toEqual(paused);
    expect(fleet.job(jobId).status).toBe('pending');
  });

  test('dispatches pending jobs before resume returns, and records no event when the queue is not paused', async () => {
    const { fleet, rigs } = await openRigs(1);
    await fleet.orchestrator.queue.pause(null, bob);
    const jobs = [await fleet.submit(), await fleet.submit()];
    const { paused, total_running } = await fleet.orchestrator.queue.resume(bob);
    expect({ paused, total_running }).toEqual({ paused: null, total_running: 2 });
    await fleet.clock.settle();
    expect(rigs.map(rig => rig.lastOffer().job_id)).toEqual(jobs.map(({ jobId }) => jobId));
    expect(fleet.audit().find(({ type }) => type === 'queue.resumed')).toMatchObject({ actor_id: 'bob' });
    const before = fleet.events.length;
    await fleet.orchestrator.queue.resume(bob);
    expect(fleet.events).toHaveLength(before);
  });

  test('lets a worker resume its own running job while the queue is paused', async () => {
    const { fleet, rig } = await openRigs(0);
    const job = await fleet.runJob(rig);
    await fleet.clock.advance(161_000);
    expect(fleet.job(job)).toMatchObject({ status: 'pending', attempts: [{ outcome: 'given_up' }] });
    await fleet.orchestrator.queue.pause(null, bob);
    expect(await rig.register({ currentJobId: job })).toMatchObject({ resume_job: { job_id: job } });
    expect(fleet.job(job)).toMatchObject({ status: 'running', attempt: 1 });
  });

  test('lets a worker claim an offer that was sent before the pause', async () => {
    const { fleet, rig } = await openRigs(0);
    const { jobId } = await fleet.submit();
    await fleet.orchestrator.queue.pause(null, bob);
    await rig.run(jobId);
    expect(fleet.job(jobId).status).toBe('running');
  });
});

test('returns 0 from process(), because every change has already dispatched', async () => {
  const { fleet } = await openRigs(0);
  await fleet.submit();
  await fleet.submit();
  expect(await fleet.orchestrator.queue.process()).toBe(0);
});

describe('updating the name and labels of a worker', () => {
  test('dispatches a pending job that matches the new labels before the update returns', async () => {
    const { fleet, rig } = await openRigs(0);
    const { jobId } = await fleet.submit({ worker_labels: { team: 'nlp*' } });
    expect(fleet.job(jobId).status).toBe('pending');
    const outcome = await fleet.orchestrator.workers.update(rig.id, { labels: { team: 'nlp-2' } }, bob);
    expect(outcome).toMatchObject({
      ok: true,
      value: { labels: { team: 'nlp-2' }, name: rig.view().name, current_job_id: jobId },
    });
    expect(lastRow(fleet, 'worker.updated')).toMatchObject({
      actor_id: 'bob',
      target_id: rig.id,
      details: { labels: { team: 'nlp-2' } },
    });
    expect(fleet.trail(rig.id)).toContain('worker.updated');
  });

  test('keeps the name and labels after a restart and a registration without labels', async () => {
    const { fleet, rig } = await openRigs(0);
    await fleet.orchestrator.workers.update(rig.id, { name: 'big', labels: { team: 'vision' } }, bob);
    await fleet.restart({ crash: true });
    await rig.connect();
    expect(rig.view()).toMatchObject({ name: 'big', labels: { team: 'vision' } });
    await fleet.orchestrator.workers.update(rig.id, { labels: {} }, bob);
    expect(rig.view()).toMatchObject({ name: 'big', labels: {} });
    expect(await fleet.submit({ worker_labels: { team: '*' } })).toMatchObject({ status: 'queued' });
  });
});

test('records no event and no audit row when limits are set to their current values', async () => {
  const fleet = await openFleet();
  await fleet.orchestrator.queue.limit({ max_concurrent: 3, user_max_concurrent: 1 }, ada);
  await fleet.clock.settle();
  const before = [fleet.events.length, fleet.audit().length];
  expect(await fleet.orchestrator.queue.limit({ max_concurrent: 3 }, ada)).toMatchObject({
    max_concurrent: 3,
    user_max_concurrent: 1,
  });
  await fleet.clock.settle();
  expect([fleet.events.length, fleet.audit().length]).toEqual(before);
});
