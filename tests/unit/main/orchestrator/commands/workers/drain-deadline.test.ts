/**
 * Drains with a deadline: docs/internals/semantics.md, section 5. Jobs that still run then move to another worker,
 * without using a retry.
 */
import { describe, expect, test } from 'vitest';
import { openFleet } from '../../../../../support/fleet-bench.ts';
import { valueOf } from '../../../../../support/fleet-outcome.ts';

const takeover = 160_000;
const hour = 3_600_000;

test('the view says until when', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  expect(await fleet.drain(rig, { reason: 'new disk', deadlineMs: 90_000 })).toMatchObject({
    status: 'draining',
    drain: { since: '2026-01-01T12:00:00.000Z', deadline: '2026-01-01T12:01:30.000Z' },
  });
});

describe.each([1, 2] as const)('protocol %i', protocol => {
  const start = async (status: 'dispatched' | 'starting' | 'running' = 'running') => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ agent: { protocol } });
    const { jobId: job } = await fleet.submit({ max_retries: 0 });
    if (status !== 'dispatched') await rig.report(job, status);
    return { fleet, rig, job };
  };

  test.each(['dispatched', 'starting', 'running'] as const)(
    'a %s job is stopped at the deadline, and not before',
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
    'what its worker calls “%s” goes to another one, at once and without a retry',
    async word => {
      const { fleet, rig, job } = await start();
      await fleet.drain(rig, { deadlineMs: 10_000 });
      const other = await fleet.addIdleWorker();
      await fleet.clock.advance(10_000);
      await rig.report(job, word, { signal: 'SIGTERM' });
      expect(fleet.job(job)).toMatchObject({ status: 'dispatched', attempt: 2, worker_id: other.id });
      expect(fleet.job(job).attempts[0]).toMatchObject({ outcome: 'requeued', cause: null });
      await other.run(job);
      await other.report(job, 'completed');
      expect(fleet.job(job)).toMatchObject({ status: 'completed', max_attempts: 1 });
      expect(rig.view().status).toBe('draining');
    },
  );

  test('a completion that comes first counts', async () => {
    const { fleet, rig, job } = await start();
    await fleet.drain(rig, { deadlineMs: 10_000 });
    await fleet.clock.advance(10_000);
    await rig.report(job, 'completed');
    expect(fleet.job(job).status).toBe('completed');
  });

  test('a job of a silent worker waits for takeover, and that may cost its retry', async () => {
    const { fleet, rig, job } = await start();
    await fleet.drain(rig, { deadlineMs: 130_000 });
    await fleet.clock.advance(takeover - 1);
    expect(fleet.job(job).status).toBe('recovering');
    await fleet.clock.advance(1);
    expect(fleet.job(job)).toMatchObject({ status: 'failed', cause: 'worker_lost' });
  });

  test('a job whose worker comes back after the deadline is stopped then', async () => {
    const { fleet, rig, job } = await start();
    await fleet.drain(rig, { deadlineMs: 130_000 });
    await fleet.clock.advance(140_000);
    expect(fleet.job(job).status).toBe('recovering');
    await rig.connect({ currentJobId: job });
    expect(fleet.job(job)).toMatchObject({ status: 'cancelling', attempt: 1 });
    await rig.report(job, 'cancelled');
    expect(fleet.job(job)).toMatchObject({ status: 'pending', attempts: [{ outcome: 'requeued' }] });
  });

  test('a stop that its worker never confirms, because it falls silent, moves the job at takeover', async () => {
    const { fleet, rig, job } = await start();
    const other = await fleet.addIdleWorker();
    await fleet.drain(rig, { deadlineMs: 10_000 });
    for (let s = 0; s < takeover - 1_000; s += 53_000) {
      await fleet.clock.advance(53_000);
      await other.beat();
    }
    expect(fleet.job(job).status).toBe('cancelling');
    await fleet.clock.advance(1_000);
    expect(fleet.job(job)).toMatchObject({ status: 'dispatched', worker_id: other.id });
    expect(fleet.job(job).attempts[0]).toMatchObject({ outcome: 'given_up', cause: null });
    expect(await rig.register({ currentJobId: job })).toMatchObject({ abandon_job: job });
  });

  test.each([
    ['a crash', { crash: true }],
    ['an orderly stop', { crash: false }],
  ])('the deadline goes on over %s', async (_what, how) => {
    const { fleet, rig, job } = await start();
    await fleet.drain(rig, { deadlineMs: 100_000 });
    await fleet.clock.advance(40_000);
    await fleet.restart(how);
    await rig.connect({ currentJobId: job });
    await fleet.clock.advance(59_999);
    expect(fleet.job(job).status).toBe('running');
    await fleet.clock.advance(1);
    expect(fleet.job(job).status).toBe('cancelling');
  });
});

describe('over a restart', () => {
  test.each([
    ['back', -hour, 60_000],
    ['back by years', -10_000 * hour, 60_000],
  ])('a wall clock that was set %s leaves no more than the whole deadline', async (_what, ms, deadlineMs) => {
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
  });

  test('a deadline that has passed meanwhile is due at once', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    await fleet.drain(rig, { deadlineMs: 60_000 });
    await fleet.restart({ awayMs: hour });
    expect(fleet.job(job).status).toBe('cancelling');
    expect(valueOf(await rig.beat(job)).cancel).toMatchObject({ job_id: job });
  });
});

describe('asked for again', () => {
  test('with a deadline counts from then, whether the first one had one or not', async () => {
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

  test('without one changes nothing', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    const before = await fleet.drain(rig, { reason: 'new disk', deadlineMs: 20_000 });
    expect((await fleet.drain(rig, { reason: 'another' })).drain).toEqual(before.drain);
    await fleet.clock.advance(20_000);
    expect(fleet.job(job).status).toBe('cancelling');
  });

  test('with a deadline and no reason keeps the first reason', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    await fleet.drain(rig, { reason: 'new disk' });
    expect(await fleet.drain(rig, { deadlineMs: 1_000 })).toMatchObject({ drain: { reason: 'new disk' } });
  });
});

describe('taken back', () => {
  test('its deadline counts no longer', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    await fleet.drain(rig, { deadlineMs: 20_000 });
    await fleet.undrain(rig);
    await fleet.clock.advance(100_000);
    expect(fleet.job(job).status).toBe('running');
    expect(rig.view()).toMatchObject({ status: 'busy', drain: null });
  });

  test('in the very moment of the deadline, and before it: the job runs on', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    await fleet.drain(rig, { deadlineMs: 20_000 });
    // Queued before the decision of the same moment is carried out.
    fleet.clock.after(20_000, () => void fleet.undrain(rig));
    await fleet.clock.advance(20_000);
    expect(fleet.job(job).status).toBe('running');
    await fleet.clock.advance(1_000);
    expect(fleet.job(job).status).toBe('running');
  });

  test('a job that had been told to stop goes elsewhere all the same', async () => {
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

test('a person’s cancel takes the place of the deadline’s order', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const job = await fleet.runJob(rig);
  await fleet.drain(rig, { deadlineMs: 0 });
  expect(fleet.job(job).status).toBe('cancelling');
  await fleet.cancel(job);
  await rig.report(job, 'cancelled');
  expect(fleet.job(job)).toMatchObject({ status: 'cancelled', attempt: 1 });
});

test('an ephemeral worker leaves after its job was sent elsewhere', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker({ type: 'ephemeral' });
  const job = await fleet.runJob(rig);
  await fleet.drain(rig, { deadlineMs: 5_000 });
  await fleet.clock.advance(5_000);
  await rig.report(job, 'cancelled');
  expect(rig.commandsOf('shutdown')).toEqual([{ type: 'shutdown', reason: 'drained' }]);
});
