// See docs/internals/semantics.md, section 7. T, the heartbeat timeout, is 120 s.
import { describe, expect, test } from 'vitest';
import type { JobId } from '../../../../../../protocol/ids.ts';
import { openFleet } from '../../../../../support/fleet-bench.ts';
import { ada, bob, type Fleet } from '../../../../../support/fleet.ts';
import { refusalOf, valueOf } from '../../../../../support/fleet-outcome.ts';
import type { FleetWorker } from '../../../../../support/fleet-worker.ts';
import { lastRow } from '../../audit-rows.ts';

const hourMs = 3_600_000;

// Creates a busy rig and pending jobs that only this rig can run.
async function openQueue(...priorities: readonly number[]) {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const running = await fleet.runJob(rig);
  const jobs: JobId[] = [];
  for (const priority of priorities) jobs.push((await fleet.submit({ priority })).jobId);
  const [first, second, third] = jobs;
  if (first === undefined || second === undefined || third === undefined)
    throw new Error('give at least three priorities');
  return { fleet, rig, running, jobs, first, second, third };
}

// Completes the running job and each job that the rig gets next. Returns the next jobs in the order of dispatch.
async function completeAll(fleet: Fleet, rig: FleetWorker, running: JobId): Promise<readonly JobId[]> {
  await rig.report(running, 'completed');
  const order: JobId[] = [];
  for (let job = fleet.store.liveJobOf(rig.id); job !== null; job = fleet.store.liveJobOf(rig.id)) {
    order.push(job.id);
    await rig.run(job.id);
    await rig.report(job.id, 'completed');
  }
  return order;
}

const positions = (fleet: Fleet, jobs: readonly JobId[]) => jobs.map(id => fleet.job(id).position);

// Advances the clock while the rig stays in contact.
async function advanceInContact(fleet: Fleet, rig: FleetWorker, job: JobId, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 60_000) {
    await rig.beat(job);
    await fleet.clock.advance(Math.min(left, 60_000));
  }
}

describe('setting a priority', () => {
  test('moves a pending job to its new position, and records an event and an audit row', async () => {
    const { fleet, rig, running, jobs, third } = await openQueue(10, 10, 0);
    const view = valueOf(await fleet.orchestrator.jobs.setPriority(third, 30, bob));
    expect(view).toMatchObject({ priority: 30, priority_name: 'urgent', position: 1 });
    expect(positions(fleet, jobs)).toEqual([2, 3, 1]);
    expect(fleet.trail(third)).toEqual(['job.submitted', 'job.priority_changed']);
    expect(lastRow(fleet)).toMatchObject({
      type: 'job.priority_changed',
      actor_type: 'admin',
      actor_id: 'bob',
      address: '10.0.0.2',
      target_id: third,
      details: { from: 'pending', to: 'pending', priority: 30, boosts: 0, top: 0 },
    });
    expect(await completeAll(fleet, rig, running)).toEqual([third, jobs[0], jobs[1]]);
  });

  test('removes the top position and the boosts of a job, and restarts its boost period', async () => {
    const { fleet, rig, running, first } = await openQueue(10, 10, 10);
    await advanceInContact(fleet, rig, running, hourMs + 60_000);
    expect(fleet.job(first)).toMatchObject({ boosts: 1 });
    await fleet.orchestrator.jobs.moveToTop(first, bob);
    expect(fleet.job(first)).toMatchObject({ is_top: true, boosts: 1, position: 1 });
    await fleet.orchestrator.jobs.setPriority(first, 10, bob);
    expect(fleet.job(first)).toMatchObject({ is_top: false, boosts: 0, position: 3 });
    await advanceInContact(fleet, rig, running, hourMs - 60_000);
    expect(fleet.job(first).boosts).toBe(0);
    await advanceInContact(fleet, rig, running, 120_000);
    expect(fleet.job(first).boosts).toBe(1);
  });

  test.each(['running', 'completed'] as const)(
    'refuses a new priority, a move to the top and an approval for a %s job',
    async status => {
      const fleet = await openFleet();
      const rig = await fleet.addIdleWorker();
      const job = await fleet.runJob(rig);
      if (status === 'completed') await rig.report(job, 'completed');
      const before = fleet.events.length;
      expect(refusalOf(await fleet.orchestrator.jobs.setPriority(job, 50, bob))).toEqual({
        code: 'job_not_pending',
      });
      expect(refusalOf(await fleet.orchestrator.jobs.moveToTop(job, bob))).toEqual({
        code: 'job_not_pending',
      });
      expect(refusalOf(await fleet.orchestrator.jobs.approve(job, bob))).toEqual({ code: 'job_not_pending' });
      expect(fleet.events).toHaveLength(before);
    },
  );
});

describe('moving a job next to another job', () => {
  const move = (fleet: Fleet, id: JobId, side: 'before' | 'after', to: JobId) =>
    fleet.orchestrator.jobs.move(id, { id: to, side }, bob);

  test('moves a job before or after another job, keeps the order after a restart, and records an event', async () => {
    const { fleet, rig, running, jobs, first, second, third } = await openQueue(10, 10, 10);
    expect(valueOf(await move(fleet, third, 'before', first))).toMatchObject({ position: 1, priority: 10 });
    expect(lastRow(fleet)).toMatchObject({
      type: 'job.moved',
      actor_id: 'bob',
      target_id: third,
      details: { from: 'pending', to: 'pending', priority: 10, boosts: 0, top: 0, before: first },
    });
    valueOf(await move(fleet, first, 'after', second));
    expect(lastRow(fleet)).toMatchObject({ type: 'job.moved', details: { after: second } });
    expect(positions(fleet, jobs)).toEqual([3, 2, 1]);
    const { jobId: last } = await fleet.submit({ priority: 10 });
    expect(fleet.job(last).position).toBe(4);
    await fleet.restart({ crash: true });
    expect(positions(fleet, [...jobs, last])).toEqual([3, 2, 1, 4]);
    await rig.connect({ currentJobId: running });
    expect(await completeAll(fleet, rig, running)).toEqual([third, second, first, last]);
  });

  test('records no event when a job is already at the requested position', async () => {
    const { fleet, first, second } = await openQueue(10, 10, 10);
    const before = fleet.events.length;
    expect(valueOf(await move(fleet, first, 'before', second)).position).toBe(1);
    expect(valueOf(await move(fleet, second, 'after', first)).position).toBe(2);
    expect(fleet.events).toHaveLength(before);
  });

  test('keeps the order of all other jobs after a hundred moves into one gap', async () => {
    const { fleet, jobs, first, second, third } = await openQueue(10, 10, 10, 10);
    for (let n = 0; n < 50; n += 1) {
      valueOf(await move(fleet, second, 'after', first));
      valueOf(await move(fleet, third, 'after', first));
    }
    expect(positions(fleet, jobs)).toEqual([1, 3, 2, 4]);
    for (let n = 0; n < 50; n += 1) {
      valueOf(await move(fleet, first, 'after', jobs[3] ?? first));
      valueOf(await move(fleet, second, 'after', first));
      valueOf(await move(fleet, jobs[3] ?? first, 'after', second));
    }
    expect(positions(fleet, jobs)).toEqual([2, 3, 1, 4]);
  });

  test('moves a job among the jobs at the top, and drops that order when their priority is set', async () => {
    const { fleet, jobs, first, second, third } = await openQueue(10, 10, 20);
    await fleet.orchestrator.jobs.moveToTop(first, bob);
    await fleet.orchestrator.jobs.moveToTop(third, bob);
    valueOf(await move(fleet, third, 'after', first));
    expect(positions(fleet, jobs)).toEqual([1, 3, 2]);
    await fleet.orchestrator.jobs.setPriority(third, 10, bob);
    await fleet.orchestrator.jobs.setPriority(first, 10, bob);
    expect(positions(fleet, jobs)).toEqual([1, 2, 3]);
    expect(second).toBe(jobs[1]);
  });

  test('refuses moves across priorities, and next to jobs without a position', async () => {
    const { fleet, running, first, second, third } = await openQueue(10, 20, 10);
    await fleet.orchestrator.jobs.moveToTop(third, bob);
    const { jobId: blocked } = await fleet.submit({ requires_approval: true });
    const { jobId: child } = await fleet.submit({ after: [first] });
    const before = fleet.events.length;
    const refusedMoves = [
      [first, second, 'priority_boundary'],
      [first, third, 'priority_boundary'],
      [third, first, 'priority_boundary'],
      [first, running, 'job_not_pending'],
      [running, first, 'job_not_pending'],
      [first, blocked, 'job_not_pending'],
      [blocked, first, 'job_not_pending'],
      [first, child, 'job_not_pending'],
      [child, first, 'job_not_pending'],
      [first, first, 'invalid_request'],
      [first, 'j_none' as JobId, 'job_not_found'],
      ['j_none' as JobId, first, 'job_not_found'],
    ] as const;
    for (const [id, to, code] of refusedMoves)
      expect(refusalOf(await move(fleet, id, 'before', to))).toEqual({ code });
    expect(fleet.events).toHaveLength(before);
  });

  test('applies concurrent moves in order, and refuses a move next to a job that has started', async () => {
    const { fleet, rig, running, jobs, first, second, third } = await openQueue(10, 10, 10);
    const outcomes = await Promise.all([
      move(fleet, third, 'before', first),
      move(fleet, second, 'before', first),
    ]);
    expect(outcomes.map(({ ok }) => ok)).toEqual([true, true]);
    expect(positions(fleet, jobs)).toEqual([3, 2, 1]);
    await rig.report(running, 'completed');
    expect(refusalOf(await move(fleet, first, 'before', third))).toEqual({ code: 'job_not_pending' });
    expect(positions(fleet, [second, first])).toEqual([1, 2]);
  });
});

describe('moving a job to the top of the queue', () => {
  test('puts the job that was moved last before jobs of every priority, also after a restart', async () => {
    const { fleet, rig, running, jobs, first, second, third } = await openQueue(50, 10, 0);
    await fleet.orchestrator.jobs.moveToTop(third, bob);
    expect(lastRow(fleet)).toMatchObject({ type: 'job.moved_to_top', actor_id: 'bob', details: { top: 1 } });
    await fleet.orchestrator.jobs.moveToTop(second, bob);
    expect(positions(fleet, jobs)).toEqual([3, 1, 2]);
    await fleet.restart({ crash: true });
    expect(positions(fleet, jobs)).toEqual([3, 1, 2]);
    await rig.connect({ currentJobId: running });
    expect(await completeAll(fleet, rig, running)).toEqual([second, third, first]);
  });

  test('puts a newly moved job before an earlier moved job that is requeued', async () => {
    const { fleet, rig, running, first, second } = await openQueue(10, 10, 10);
    await fleet.orchestrator.jobs.moveToTop(first, bob);
    await rig.report(running, 'completed');
    await rig.run(first);
    await fleet.orchestrator.jobs.moveToTop(second, bob);
    expect(fleet.job(second).position).toBe(1);
    await fleet.drain(rig, { deadlineMs: 0 });
    await rig.report(first, 'cancelled');
    expect(fleet.job(first)).toMatchObject({ status: 'pending', is_top: true });
    expect(positions(fleet, [second, first])).toEqual([1, 2]);
  });
});

describe('boosting pending jobs', () => {
  test('boosts a pending job by one priority level per hour of waiting', async () => {
    const { fleet, rig, running, first } = await openQueue(10, 10, 10);
    await advanceInContact(fleet, rig, running, hourMs / 2);
    const { jobId: later } = await fleet.submit({ priority: 20 });
    expect(fleet.job(later).position).toBe(1);
    await advanceInContact(fleet, rig, running, hourMs / 2 + 60_000);
    expect(fleet.job(first)).toMatchObject({ boosts: 1, priority: 10, priority_name: 'normal', position: 1 });
    expect(fleet.job(later)).toMatchObject({ boosts: 0, position: 4 });
    expect(fleet.trail(first)).toEqual(['job.submitted', 'job.boosted']);
    const row = fleet.audit().find(({ type }) => type === 'job.boosted');
    expect(row).toMatchObject({ actor_type: 'system', actor_id: null, target_id: first });
  });

  test('keeps the boosts and the elapsed waiting time of a job across a restart', async () => {
    const { fleet, rig, running, first } = await openQueue(0, 0, 0);
    await advanceInContact(fleet, rig, running, 1.5 * hourMs);
    expect(fleet.job(first).boosts).toBe(1);
    await fleet.restart();
    expect(fleet.job(first).boosts).toBe(1);
    await rig.connect({ currentJobId: running });
    await advanceInContact(fleet, rig, running, hourMs / 2 + 60_000);
    expect(fleet.job(first).boosts).toBe(2);
  });

  test('resets the boosts of a preempted job', async () => {
    const { fleet, rig, running, first } = await openQueue(10, 10, 10);
    await advanceInContact(fleet, rig, running, hourMs + 60_000);
    await rig.report(running, 'completed');
    await rig.run(first);
    expect(fleet.job(first).boosts).toBe(1);
    await rig.report(first, 'failed', { signal: 'SIGTERM' });
    expect(fleet.job(first)).toMatchObject({ boosts: 0, attempts: [{ cause: 'preempted' }] });
  });

  test('does not boost a job that needs approval', async () => {
    const fleet = await openFleet();
    const { jobId } = await fleet.submit({ requires_approval: true });
    await fleet.clock.advance(2 * hourMs);
    expect(fleet.job(jobId).boosts).toBe(0);
    await fleet.orchestrator.jobs.approve(jobId, bob);
    await fleet.clock.advance(hourMs - 60_000);
    expect(fleet.job(jobId).boosts).toBe(0);
    await fleet.clock.advance(120_000);
    expect(fleet.job(jobId).boosts).toBe(1);
  });

  test('boosts each of 450 jobs once', async () => {
    const fleet = await openFleet();
    await Promise.all(Array.from({ length: 450 }, () => fleet.trySubmit()));
    await fleet.clock.advance(hourMs + 60_000);
    const boosted: JobId[] = [];
    for (const event of fleet.events)
      if (event.kind === 'job' && event.type === 'job.boosted') boosted.push(event.job_id);
    expect(boosted).toHaveLength(450);
    expect(new Set(boosted).size).toBe(450);
  });
});

describe.each([
  ['back', -3 * hourMs],
  ['forward', 3 * hourMs],
])('boosts after the wall clock is set %s', (_case, byMs) => {
  test('boosts a pending job on time after the clock jump', async () => {
    const fleet = await openFleet();
    const { jobId } = await fleet.submit();
    fleet.clock.shiftWall(byMs);
    await fleet.clock.advance(hourMs - 60_000);
    expect(fleet.job(jobId).boosts).toBe(0);
    await fleet.clock.advance(120_000);
    expect(fleet.job(jobId).boosts).toBe(1);
  });

  test('boosts on time a job that was submitted after the clock jump', async () => {
    const fleet = await openFleet();
    fleet.clock.shiftWall(byMs);
    const { jobId } = await fleet.submit();
    await fleet.clock.advance(hourMs - 60_000);
    expect(fleet.job(jobId).boosts).toBe(0);
    await fleet.clock.advance(120_000);
    expect(fleet.job(jobId).boosts).toBe(1);
  });

  test('boosts on time a job whose worker was lost after the clock jump', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    fleet.clock.shiftWall(byMs);
    await rig.disconnect();
    await fleet.release(job);
    expect(fleet.job(job).status).toBe('pending');
    await fleet.clock.advance(hourMs - 60_000);
    expect(fleet.job(job).boosts).toBe(0);
    await fleet.clock.advance(120_000);
    expect(fleet.job(job).boosts).toBe(1);
  });
});

test('stores the next boost time in whole milliseconds when waiting starts at a fraction of a millisecond', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  await fleet.clock.advance(0.25);
  const job = await fleet.runJob(rig, { priority: 10 });
  const { jobId: waiting } = await fleet.submit({ gpu_count: 8 });
  const { jobId: blocked } = await fleet.submit({ requires_approval: true, gpu_count: 8 });
  await fleet.clock.advance(0.25);
  valueOf(await fleet.orchestrator.jobs.setPriority(waiting, 20, bob));
  valueOf(await fleet.orchestrator.jobs.approve(blocked, bob));
  await rig.disconnect();
  await fleet.release(job);
  expect(fleet.store.pendingJobs().map(({ rank }) => rank.boostAt)).toEqual(
    [waiting, job, blocked].map(() => fleet.clock.wall() + hourMs),
  );
});

describe('a job that needs approval', () => {
  test('gives a blocked job no position and no worker until a user approves the job', async () => {
    const fleet = await openFleet();
    const answer = await fleet.submit({ requires_approval: true, priority: 50 });
    expect(answer).toMatchObject({ status: 'blocked', workerId: null, position: null });
    const { jobId: otherJob } = await fleet.submit({ gpu_count: 2 });
    expect(fleet.job(answer.jobId)).toMatchObject({ status: 'blocked', approval: 'wanted', position: null });
    expect(fleet.job(otherJob).position).toBe(1);
    expect(fleet.orchestrator.queue.view()).toMatchObject({ total_pending: 2, total_blocked: 1 });
    const rig = await fleet.addIdleWorker();
    expect(rig.commands).toEqual([]);
    await fleet.orchestrator.jobs.moveToTop(answer.jobId, bob);
    await fleet.restart();
    await rig.connect();
    expect(rig.commandsOf('job_submit')).toEqual([]);
    expect(fleet.job(answer.jobId).position).toBe(null);
  });

  test('dispatches an approved job before the call returns, and needs no approval for the next attempt', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const { jobId } = await fleet.submit({ requires_approval: true });
    const view = valueOf(await fleet.orchestrator.jobs.approve(jobId, bob));
    expect(view).toMatchObject({ status: 'dispatched', approval: 'given', worker_id: rig.id });
    expect(fleet.trail(jobId)).toEqual(['job.submitted', 'job.approved', 'job.dispatched']);
    expect(fleet.audit().find(({ type }) => type === 'job.approved')).toMatchObject({
      actor_id: 'bob',
      target_id: jobId,
    });
    await fleet.clock.settle();
    await rig.run(jobId);
    await rig.disconnect();
    await fleet.release(jobId);
    const otherRig = await fleet.addIdleWorker();
    expect(otherRig.lastOffer().job_id).toBe(jobId);
  });

  test('refuses to approve or reject a job that needs no approval', async () => {
    const fleet = await openFleet();
    const { jobId: unapproved } = await fleet.submit();
    const { jobId } = await fleet.submit({ requires_approval: true });
    await fleet.orchestrator.jobs.approve(jobId, bob);
    for (const id of [unapproved, jobId]) {
      expect(refusalOf(await fleet.orchestrator.jobs.approve(id, bob))).toEqual({
        code: 'no_approval_wanted',
      });
      expect(refusalOf(await fleet.orchestrator.jobs.reject(id, null, bob))).toEqual({
        code: 'no_approval_wanted',
      });
    }
  });

  test.each([
    ['too expensive', 'rejected by bob: too expensive'],
    [null, 'rejected by bob'],
  ])('fails a rejected job with the name of the user and the reason (%s)', async (reason, error) => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const { jobId } = await fleet.submit({ requires_approval: true });
    expect(valueOf(await fleet.orchestrator.jobs.reject(jobId, reason, bob))).toMatchObject({
      status: 'failed',
      cause: 'rejected',
      error_message: error,
      attempt: 0,
    });
    expect(fleet.trail(jobId)).toEqual(['job.submitted', 'job.failed']);
    expect(lastRow(fleet)).toMatchObject({
      type: 'job.failed',
      actor_id: 'bob',
      details: { from: 'pending', to: 'failed', on: 'reject', cause: 'rejected' },
    });
    expect(rig.commands).toEqual([]);
    expect(fleet.orchestrator.queue.view().total_blocked).toBe(0);
    expect(refusalOf(await fleet.orchestrator.jobs.approve(jobId, ada))).toEqual({ code: 'job_not_pending' });
    expect(refusalOf(await fleet.orchestrator.jobs.reject(jobId, null, ada)).code).toBe('job_final');
  });

  test('cancels a blocked job like any pending job', async () => {
    const fleet = await openFleet();
    const { jobId } = await fleet.submit({ requires_approval: true });
    expect(valueOf(await fleet.cancel(jobId)).status).toBe('cancelled');
    expect(fleet.orchestrator.queue.view()).toMatchObject({ total_pending: 0, total_blocked: 0 });
  });
});
