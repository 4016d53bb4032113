// See docs/internals/semantics.md, section 7. The heartbeat timeout is 120 s.
import { describe, expect, test } from 'vitest';
import type { JobId } from '../../../../../../protocol/ids.ts';
import { openFleet } from '../../../../../support/fleet-bench.ts';
import { bob, type Fleet } from '../../../../../support/fleet.ts';
import { refusalOf, valueOf } from '../../../../../support/fleet-outcome.ts';
import type { FleetWorker } from '../../../../../support/fleet-worker.ts';
import { jobId } from '../../builders.ts';

const dayMs = 86_400_000;

const submitAfter = async (fleet: Fleet, after: readonly JobId[], options = {}): Promise<JobId> =>
  (await fleet.submit({ after: [...after], ...options })).jobId;

const parentStates = (fleet: Fleet, id: JobId) =>
  fleet.job(id).after?.parents.map(({ status, done }) => [status, done]);

// Opens a fleet with a job that runs on the only worker, and a child that waits for that job.
async function openPair(childOptions = {}) {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const parent = await fleet.runJob(rig, { name: 'flux-base', max_retries: 0 });
  const child = await submitAfter(fleet, [parent], childOptions);
  return { fleet, rig, parent, child };
}

const fail = (rig: FleetWorker, job: JobId) => rig.report(job, 'failed', { exit_code: 1 });

async function retry(fleet: Fleet, id: JobId): Promise<JobId> {
  const retried = valueOf(await fleet.orchestrator.jobs.retry(id, bob));
  if (retried.status === 'rejected') throw new Error('the retry was rejected');
  await fleet.clock.settle();
  return retried.jobId;
}

describe('a job with a parent job', () => {
  test('dispatches a child when its parent completes, and not before', async () => {
    const { fleet, rig, parent, child } = await openPair();
    await fleet.addIdleWorker();
    expect(fleet.job(child)).toMatchObject({
      status: 'pending',
      position: null,
      attempt: 0,
      reason: 'Waits for flux-base (running)',
      wait: { code: 'after', params: { count: 1, job_id: parent, name: 'flux-base', state: 'running' } },
    });
    await rig.report(parent, 'completed');
    expect(fleet.job(child)).toMatchObject({ status: 'dispatched', reason: null });
    expect(parentStates(fleet, child)).toEqual([['completed', true]]);
    expect(fleet.trail(child)).toEqual(['job.submitted', 'job.dependencies_met', 'job.dispatched']);
  });

  test('keeps a child pending until every parent completes', async () => {
    const { fleet, rig, parent } = await openPair();
    const second = await fleet.addIdleWorker();
    const otherJob = await fleet.runJob(second);
    const child = await submitAfter(fleet, [parent, otherJob]);
    await second.report(otherJob, 'completed');
    expect(parentStates(fleet, child)).toEqual([
      ['running', false],
      ['completed', true],
    ]);
    expect(fleet.job(child).status).toBe('pending');
    await rig.report(parent, 'completed');
    expect(fleet.trail(child)).toContain('job.dispatched');
  });

  test.each(['completed', 'failed', 'cancelled'] as const)(
    'dispatches a child with after_on "end" when its parent is %s',
    async end => {
      const { fleet, rig, parent, child } = await openPair({ after_on: 'end' });
      if (end === 'cancelled') await fleet.cancel(parent);
      await rig.report(parent, end);
      await fleet.clock.advance(1_000);
      expect(fleet.job(parent).status).toBe(end);
      expect(fleet.job(child).status).toBe('dispatched');
    },
  );

  test('does not make a child wait for a parent that ended before the submission', async () => {
    const { fleet, rig, parent } = await openPair({ after_on: 'end' });
    await rig.report(parent, 'completed');
    const late = await fleet.submit({ after: [parent] });
    expect(parentStates(fleet, late.jobId)).toEqual([['completed', true]]);
    expect(fleet.job(late.jobId).reason).not.toContain('Waits for');
  });

  test('rejects a child with no_wait while its parent runs', async () => {
    const { fleet, parent } = await openPair();
    await fleet.addIdleWorker();
    const outcome = await fleet.trySubmit({ after: [parent], no_wait: true });
    expect(valueOf(outcome)).toEqual({ status: 'rejected', reason: 'Waits for flux-base (running)' });
  });

  test('keeps a child blocked until its approval after its parents have ended', async () => {
    const { fleet, rig, parent, child } = await openPair({ requires_approval: true });
    await rig.report(parent, 'completed');
    expect(fleet.job(child)).toMatchObject({ status: 'blocked', wait: { code: 'approval' } });
    valueOf(await fleet.orchestrator.jobs.approve(child, bob));
    await fleet.clock.settle();
    expect(fleet.job(child).status).toBe('dispatched');
  });

  test('does not boost a child while the child waits for its parents', async () => {
    const { fleet, rig, parent, child } = await openPair();
    for (let minutes = 0; minutes < 130; minutes += 1) {
      await rig.beat(parent);
      await fleet.clock.advance(60_000);
    }
    expect(fleet.job(child).boosts).toBe(0);
    expect(fleet.orchestrator.queue.view().total_pending).toBe(1);
  });
});

describe('a job whose parent did not complete', () => {
  test.each(['failed', 'cancelled'] as const)(
    'keeps a child pending when its parent is %s, and dispatches the child when a retry completes',
    async end => {
      const { fleet, rig, parent, child } = await openPair();
      if (end === 'failed') await fail(rig, parent);
      else {
        await fleet.cancel(parent);
        await rig.report(parent, 'cancelled');
      }
      const ending = end === 'failed' ? 'which failed' : 'which was cancelled';
      expect(fleet.job(child)).toMatchObject({
        status: 'pending',
        reason: `Waits for flux-base, ${ending}. Retry that job, or cancel this one`,
      });
      await fleet.clock.advance(1_000);
      const first = await retry(fleet, parent);
      expect(fleet.job(child).after?.parents).toMatchObject([
        { job_id: parent, status: 'dispatched', retry_id: first, done: false },
      ]);
      await rig.run(first);
      await fail(rig, first);
      const second = await retry(fleet, first);
      valueOf(await fleet.orchestrator.jobs.remove(first, bob));
      await rig.run(second);
      await rig.report(second, 'completed');
      expect(fleet.job(child)).toMatchObject({
        status: 'dispatched',
        after: { parents: [{ job_id: parent, status: 'completed', retry_id: second, done: true }] },
      });
    },
  );

  test('makes a new child wait for the running retry of its failed parent', async () => {
    const { fleet, rig, parent } = await openPair();
    await fail(rig, parent);
    const retryJob = await retry(fleet, parent);
    await rig.run(retryJob);
    const lateJob = await submitAfter(fleet, [parent]);
    await rig.report(retryJob, 'completed');
    expect(parentStates(fleet, lateJob)).toEqual([['completed', true]]);
  });

  test('keeps the child of a failed parent pending when an unrelated job completes', async () => {
    const { fleet, rig, parent, child } = await openPair();
    await fail(rig, parent);
    const otherJob = await fleet.runJob(rig);
    await rig.report(otherJob, 'completed');
    expect(parentStates(fleet, child)).toEqual([['failed', false]]);
    expect(fleet.job(child).status).toBe('pending');
  });

  test('makes the retry of a cancelled child wait for the same parent', async () => {
    const { fleet, rig, parent, child } = await openPair();
    valueOf(await fleet.cancel(child));
    const retryJob = await retry(fleet, child);
    expect(fleet.job(retryJob)).toMatchObject({ status: 'pending', reason: 'Waits for flux-base (running)' });
    await rig.report(parent, 'completed');
    expect(fleet.job(retryJob).status).toBe('dispatched');
    expect(fleet.job(child).status).toBe('cancelled');
  });
});

describe('deleting parents', () => {
  test('refuses to delete a failed parent of a pending job, and clean-up keeps the parent', async () => {
    const { fleet, rig, parent, child } = await openPair();
    await fail(rig, parent);
    expect(refusalOf(await fleet.orchestrator.jobs.remove(parent, bob))).toEqual({ code: 'job_awaited' });
    await fleet.clock.advance(2 * dayMs);
    expect(await fleet.orchestrator.queue.cleanUp(1, bob)).toBe(0);
    valueOf(await fleet.cancel(child));
    valueOf(await fleet.orchestrator.jobs.remove(parent, bob));
    expect(refusalOf(await fleet.orchestrator.jobs.retry(child, bob))).toEqual({ code: 'job_not_found' });
  });

  test('keeps a job waiting for its other parents when a completed parent is deleted', async () => {
    const { fleet, rig, parent } = await openPair();
    const otherJob = await fleet.runJob(await fleet.addIdleWorker(), { name: 'sdxl' });
    const child = await submitAfter(fleet, [parent, otherJob]);
    await rig.report(parent, 'completed');
    valueOf(await fleet.orchestrator.jobs.remove(parent, bob));
    expect(fleet.job(child)).toMatchObject({
      reason: 'Waits for sdxl (running)',
      after: { parents: [{ job_id: parent, name: null, status: null, done: true }, { done: false }] },
    });
  });
});

describe('submitting with parents', () => {
  test('refuses parents that do not exist or that the submitter may not see', async () => {
    const { fleet, parent } = await openPair();
    expect(refusalOf(await fleet.trySubmit({ after: [jobId('j_99')] }))).toEqual({ code: 'job_not_found' });
    expect(refusalOf(await fleet.trySubmit({ after: [parent] }, bob))).toEqual({ code: 'job_not_found' });
  });

  test('refuses to add parents to an existing job, so that no cycles can arise', async () => {
    const { JobEdit } = await import('../../../../../../protocol/job-about.ts');
    const { success, error } = JobEdit.safeParse({ after: ['j_1'] });
    expect([success, error?.issues[0]?.code]).toEqual([false, 'unrecognized_keys']);
  });
});

describe('restarts', () => {
  test.each([true, false])('keeps a waiting job and its parents after a restart (crash: %s)', async crash => {
    const { fleet, rig, parent, child } = await openPair();
    await fleet.restart({ crash });
    await rig.connect({ currentJobId: parent });
    expect(fleet.job(child).status).toBe('pending');
    await rig.report(parent, 'completed');
    expect(fleet.job(child).status).toBe('dispatched');
  });

  test('dispatches a job whose parent completed before the crash', async () => {
    const { fleet, rig, parent, child } = await openPair();
    await fleet.drain(rig);
    await rig.report(parent, 'completed');
    await fleet.restart({ crash: true });
    await fleet.addIdleWorker();
    expect(fleet.job(child).status).toBe('dispatched');
  });

  test('makes the remaining children of a completed parent ready after a crash', async () => {
    const { fleet, rig, parent } = await openPair();
    // One transaction makes at most 100 children ready.
    for (let n = 0; n < 250; n += 1) void fleet.trySubmit({ after: [parent] });
    await fleet.clock.settle();
    void rig.report(parent, 'completed');
    await fleet.store.write(() => undefined);
    expect(fleet.store.dependentJobs(500)).toHaveLength(151);
    await fleet.restart({ crash: true });
    await fleet.clock.advance(1_000);
    expect(fleet.store.dependentJobs(500)).toEqual([]);
    // The worker has one of the 251 children. The other 250 are in the queue.
    expect(fleet.orchestrator.queue.order()).toHaveLength(250);
  });
});

test('publishes an event about a waiting job for each change of its parent', async () => {
  const { fleet, rig, parent, child } = await openPair();
  const reasons = () =>
    fleet.events.flatMap(event =>
      event.kind === 'job' && event.type === 'job.parent_changed' && event.job_id === child
        ? [event.job?.reason]
        : [],
    );
  await fail(rig, parent);
  await rig.run(await retry(fleet, parent));
  expect(reasons()).toEqual([
    'Waits for flux-base, which failed. Retry that job, or cancel this one',
    'Waits for flux-base (starting)',
    'Waits for flux-base (starting)',
    'Waits for flux-base (starting)',
    'Waits for flux-base (running)',
  ]);
  expect(fleet.audit().filter(({ target_id: id }) => id === child)).toHaveLength(1);
});

describe('children of a job', () => {
  test('lists only the children of a job that the viewer may see', async () => {
    const { fleet, parent, child } = await openPair({ name: 'eval' });
    expect(fleet.job(parent)).toMatchObject({
      children: [{ job_id: child, name: 'eval', status: 'pending', on: 'success' }],
      children_count: 1,
    });
    const viewOfBob = valueOf(fleet.orchestrator.jobs.get(parent, 'bob'));
    expect(viewOfBob).toMatchObject({ children: [], children_count: 0 });
  });
});

test('predicts the start of a child from the remaining time of its parent', async () => {
  const { fleet, rig, parent, child } = await openPair();
  await rig.beat(parent, { job_progress: { step: 1, total_steps: 3, eta_s: 2_400 } });
  const explain = (id: JobId) => valueOf(fleet.orchestrator.jobs.explain(id));
  expect(explain(child)).toMatchObject({
    summary: 'Waits for flux-base (running, about 40 min left)',
    position: null,
    predicted_start: { in_s: 2_400 },
    reasons: [{ code: 'after', params: { left_s: 2_400 } }],
  });
  const last = await submitAfter(fleet, [child]);
  expect(explain(last)).toMatchObject({ predicted_start: null, no_prediction: 'Waits for inline (pending)' });
});
