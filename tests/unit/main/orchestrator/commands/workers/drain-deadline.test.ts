// See docs/internals/semantics.md, section 5. T, the heartbeat timeout, is 120 s. A job that is requeued at the drain deadline
// uses no retry.
import { describe, expect, test } from 'vitest';
import { openFleet } from '../../../../../support/fleet-bench.ts';
import { valueOf } from '../../../../../support/fleet-outcome.ts';

const takeoverMs = 160_000;
const hourMs = 3_600_000;

test('shows the deadline of a drain', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  expect(await fleet.drain(rig, { reason: 'new disk', deadlineMs: 90_000 })).toMatchObject({
    status: 'draining',
    drain: { since: '2026-01-01T12:00:00.000Z', deadline: '2026-01-01T12:01:30.000Z' },
  });
});

describe.each([1, 2] as const)('drain deadline (protocol %i)', protocol => {
  const start = async (status: 'dispatched' | 'starting' | 'running' = 'running') => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ agent: { protocol } });
    const { jobId: job } = await fleet.submit({ max_retries: 0 });
    if (status !== 'dispatched') await rig.report(job, status);
    return { fleet, rig, job };
  };

  test.each(['dispatched', 'starting', 'running'] as const)(
    'stops a %s job exactly at the drain deadline',
    async status => {
      const { fleet, rig, job } = await start(status);
      await fleet.drain(rig, { deadlineMs: 10_000 });
      await fleet.clock.advance(9_999);
      expect(fleet.job(job).status).toBe(status);
      expect(rig.commandsOf('job_cancel')).toEqual([]);
      await fleet.clock.advance(1);
      expect(fleet.job(job)).toMatchObject({ status: 'cancelling', hold: { kind: 'unconfirmed' } });
      expect(rig.commandsOf('job_cancel')).toEqual([{ type: 'job_cancel', job_id: job, attempt_id: 'a_1' }]);
    },
  );

  test.each(['cancelled', 'failed'] as const)(
    'requeues the job immediately, without a retry, when its worker reports “%s”',
    async status => {
      const { fleet, rig, job } = await start();
      await fleet.drain(rig, { deadlineMs: 10_000 });
      const otherRig = await fleet.addIdleWorker();
      await fleet.clock.advance(10_000);
      await rig.report(job, status, { signal: 'SIGTERM' });
      expect(fleet.job(job)).toMatchObject({ status: 'dispatched', attempt: 2, worker_id: otherRig.id });
      expect(fleet.job(job).attempts[0]).toMatchObject({ outcome: 'requeued', cause: null });
      await otherRig.run(job);
      await otherRig.report(job, 'completed');
      expect(fleet.job(job)).toMatchObject({ status: 'completed', max_attempts: 1 });
      expect(rig.view().status).toBe('draining');
    },
  );

  test('completes the job when its worker reports “completed” after the drain deadline', async () => {
    const { fleet, rig, job } = await start();
    await fleet.drain(rig, { deadlineMs: 10_000 });
    await fleet.clock.advance(10_000);
    await rig.report(job, 'completed');
    expect(fleet.job(job).status).toBe('completed');
  });

  test('takes the job of a silent worker over at the takeover time, with the cause worker_lost', async () => {
    const { fleet, rig, job } = await start();
    await fleet.drain(rig, { deadlineMs: 130_000 });
    await fleet.clock.advance(takeoverMs - 1);
    expect(fleet.job(job).status).toBe('recovering');
    await fleet.clock.advance(1);
    expect(fleet.job(job)).toMatchObject({ status: 'failed', cause: 'worker_lost' });
  });

  test('stops the job when its silent worker returns after the drain deadline', async () => {
    const { fleet, rig, job } = await start();
    await fleet.drain(rig, { deadlineMs: 130_000 });
    await fleet.clock.advance(140_000);
    expect(fleet.job(job).status).toBe('recovering');
    await rig.connect({ currentJobId: job });
    expect(fleet.job(job)).toMatchObject({ status: 'cancelling', attempt: 1 });
    await rig.report(job, 'cancelled');
    expect(fleet.job(job)).toMatchObject({ status: 'pending', attempts: [{ outcome: 'requeued' }] });
  });

  test('takes the job over when its worker becomes silent instead of confirming the stop', async () => {
    const { fleet, rig, job } = await start();
    const otherRig = await fleet.addIdleWorker();
    await fleet.drain(rig, { deadlineMs: 10_000 });
    // The other worker stays in contact: 3 × 53 s are just below the takeover time.
    for (let elapsedMs = 0; elapsedMs < takeoverMs - 1_000; elapsedMs += 53_000) {
      await fleet.clock.advance(53_000);
      await otherRig.beat();
    }
    expect(fleet.job(job).status).toBe('cancelling');
    await fleet.clock.advance(1_000);
    expect(fleet.job(job)).toMatchObject({ status: 'dispatched', worker_id: otherRig.id });
    expect(fleet.job(job).attempts[0]).toMatchObject({ outcome: 'given_up', cause: null });
    expect(await rig.register({ currentJobId: job })).toMatchObject({ abandon_job: job });
  });

  test.each([
    ['a crash', { crash: true }],
    ['an orderly stop', { crash: false }],
  ])('keeps the drain deadline across %s', async (_case, restart) => {
    const { fleet, rig, job } = await start();
    await fleet.drain(rig, { deadlineMs: 100_000 });
    await fleet.clock.advance(40_000);
    await fleet.restart(restart);
    await rig.connect({ currentJobId: job });
    await fleet.clock.advance(59_999);
    expect(fleet.job(job).status).toBe('running');
    await fleet.clock.advance(1);
    expect(fleet.job(job).status).toBe('cancelling');
  });
});

describe('drain deadline after a restart', () => {
  test.each([
    ['back', -hourMs, 60_000],
    ['back by years', -10_000 * hourMs, 60_000],
  ])(
    'limits the remaining time of a drain to its whole deadline when the wall clock is set %s',
    async (_case, ms, deadlineMs) => {
      const fleet = await openFleet();
      const rig = await fleet.addIdleWorker();
      const job = await fleet.runJob(rig);
      await fleet.drain(rig, { deadlineMs });
      fleet.clock.shiftWall(ms);
      await fleet.restart();
      await rig.connect({ currentJobId: job });
      await fleet.clock.advance(deadlineMs - 1);
      expect(fleet.job(job).status).toBe('running');
      await fleet.clock.advance(1);
      expect(fleet.job(job).status).toBe('cancelling');
    },
  );

  test('stops the job immediately when the drain deadline passed during the downtime', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    await fleet.drain(rig, { deadlineMs: 60_000 });
    await fleet.restart({ awayMs: hourMs });
    expect(fleet.job(job).status).toBe('cancelling');
    expect(valueOf(await rig.beat(job)).cancel).toMatchObject({ job_id: job });
  });
});

describe('draining a worker again', () => {
  test('counts the drain deadline from the newest request', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    await fleet.drain(rig, { reason: 'new disk' });
    await fleet.clock.advance(10_000);
    await fleet.drain(rig, { deadlineMs: 20_000 });
    await fleet.clock.advance(10_000);
    expect(await fleet.drain(rig, { reason: 'and fans', deadlineMs: 90_000 })).toMatchObject({
      drain: { reason: 'and fans', since: '2026-01-01T12:00:20.000Z', deadline: '2026-01-01T12:01:50.000Z' },
    });
    await fleet.clock.advance(89_999);
    expect(fleet.job(job).status).toBe('running');
    await fleet.clock.advance(1);
    expect(fleet.job(job).status).toBe('cancelling');
    expect(fleet.trail(rig.id).filter(type => type === 'worker.draining')).toHaveLength(3);
  });

  test('keeps the drain deadline when the new request has no deadline', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    const before = await fleet.drain(rig, { reason: 'new disk', deadlineMs: 20_000 });
    expect((await fleet.drain(rig, { reason: 'another' })).drain).toEqual(before.drain);
    await fleet.clock.advance(20_000);
    expect(fleet.job(job).status).toBe('cancelling');
  });

  test('keeps the first drain reason when the new request has no reason', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    await fleet.drain(rig, { reason: 'new disk' });
    expect(await fleet.drain(rig, { deadlineMs: 1_000 })).toMatchObject({ drain: { reason: 'new disk' } });
  });
});

describe('undraining a worker', () => {
  test('cancels the drain deadline when the worker is undrained', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    await fleet.drain(rig, { deadlineMs: 20_000 });
    await fleet.undrain(rig);
    await fleet.clock.advance(100_000);
    expect(fleet.job(job).status).toBe('running');
    expect(rig.view()).toMatchObject({ status: 'busy', drain: null });
  });

  test('keeps the job running when the worker is undrained exactly at the drain deadline', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    await fleet.drain(rig, { deadlineMs: 20_000 });
    // The undrain is queued before the drain deadline, although both are due at the same time.
    fleet.clock.after(20_000, () => void fleet.undrain(rig));
    await fleet.clock.advance(20_000);
    expect(fleet.job(job).status).toBe('running');
    await fleet.clock.advance(1_000);
    expect(fleet.job(job).status).toBe('running');
  });

  test('requeues a job that was stopped before the worker was undrained', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig, { max_retries: 0 });
    await fleet.drain(rig, { deadlineMs: 20_000 });
    await fleet.clock.advance(20_000);
    await fleet.undrain(rig);
    await rig.report(job, 'cancelled');
    expect(fleet.job(job)).toMatchObject({ status: 'dispatched', attempt: 2, worker_id: rig.id });
  });
});

test('cancels a job, instead of requeuing it, when a user cancels the job after the drain deadline', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const job = await fleet.runJob(rig);
  await fleet.drain(rig, { deadlineMs: 0 });
  expect(fleet.job(job).status).toBe('cancelling');
  await fleet.cancel(job);
  await rig.report(job, 'cancelled');
  expect(fleet.job(job)).toMatchObject({ status: 'cancelled', attempt: 1 });
});

test('shuts an ephemeral worker down after the drain deadline has requeued its job', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker({ type: 'ephemeral' });
  const job = await fleet.runJob(rig);
  await fleet.drain(rig, { deadlineMs: 5_000 });
  await fleet.clock.advance(5_000);
  await rig.report(job, 'cancelled');
  expect(rig.commandsOf('shutdown')).toEqual([{ type: 'shutdown', reason: 'drained' }]);
});
