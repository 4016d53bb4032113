/** The maximum duration of an attempt: docs/internals/semantics.md, section 2 (`timeout_s`). */
import { describe, expect, test } from 'vitest';
import { openFleet } from '../../../../../support/fleet-bench.ts';
import type { Fleet } from '../../../../../support/fleet.ts';
import type { FleetWorker } from '../../../../../support/fleet-worker.ts';

const takeover = 160_000;
const hour = 3_600_000;
const limit = 'the attempt ran longer than its timeout of 100 s';

/** Keeps the workers in contact on the way. */
async function pass(fleet: Fleet, ms: number, ...rigs: readonly FleetWorker[]): Promise<void> {
  for (let left = ms; left > 0; left -= 30_000) {
    await fleet.clock.advance(Math.min(left, 30_000));
    for (const rig of rigs) await rig.beat(rig.view().current_job_id);
  }
}

describe.each([1, 2] as const)('protocol %i', protocol => {
  const start = async (more: { readonly retry_on?: ['timeout']; readonly max_retries?: number } = {}) => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ agent: { protocol } });
    const { jobId: job } = await fleet.submit({ timeout_s: 100, ...more });
    return { fleet, rig, job };
  };

  test('counts from the claim: not from the offer, and not from the first step', async () => {
    const { fleet, rig, job } = await start();
    await fleet.clock.advance(40_000);
    await rig.report(job, 'starting');
    await fleet.clock.advance(50_000);
    await rig.report(job, 'running');
    await fleet.clock.advance(49_999);
    expect(fleet.job(job)).toMatchObject({ status: 'running', timeout_s: 100 });
    await fleet.clock.advance(1);
    expect(fleet.job(job).status).toBe('cancelling');
    expect(rig.commandsOf('job_cancel')).toHaveLength(1);
  });

  test.each(['cancelled', 'failed'] as const)('the job fails by it when its worker says “%s”', async word => {
    const { fleet, rig, job } = await start();
    await rig.run(job);
    await fleet.clock.advance(100_000);
    await rig.report(job, word, { signal: 'SIGTERM', error: 'Training exited with code -15' });
    expect(fleet.job(job)).toMatchObject({ status: 'failed', cause: 'timeout', error_message: limit });
    expect(fleet.job(job).attempts).toMatchObject([{ outcome: 'failed', cause: 'timeout' }]);
  });

  test('a completion that comes first counts', async () => {
    const { fleet, rig, job } = await start();
    await rig.run(job);
    await fleet.clock.advance(100_000);
    await rig.report(job, 'completed');
    expect(fleet.job(job)).toMatchObject({ status: 'completed', cause: null });
  });

  test('a job that asks for it is tried again, each attempt with its whole time, until the budget is used', async () => {
    const { fleet, rig, job } = await start({ retry_on: ['timeout'], max_retries: 1 });
    await rig.run(job);
    await pass(fleet, 100_000, rig);
    await rig.report(job, 'cancelled');
    await fleet.clock.advance(1_000);
    expect(fleet.job(job)).toMatchObject({ status: 'dispatched', attempt: 2 });
    expect(fleet.job(job).attempts[0]).toMatchObject({ outcome: 'requeued', cause: 'timeout' });
    await rig.run(job);
    await pass(fleet, 99_999, rig);
    expect(fleet.job(job).status).toBe('running');
    await fleet.clock.advance(1);
    await rig.report(job, 'cancelled');
    expect(fleet.job(job)).toMatchObject({ status: 'failed', cause: 'timeout', attempt: 2 });
  });

  test('a silent worker’s job is failed at takeover, and not moved: it had its time', async () => {
    const { fleet, rig, job } = await start();
    await rig.run(job);
    await fleet.clock.advance(119_999);
    expect(fleet.job(job).status).toBe('cancelling');
    await fleet.clock.advance(takeover - 120_000);
    expect(fleet.job(job).status).toBe('cancelling');
    await fleet.clock.advance(1);
    expect(fleet.job(job)).toMatchObject({
      status: 'failed',
      cause: 'timeout',
      error_message: `${limit}; not confirmed: the trainer may still run on worker ${rig.id}`,
    });
  });

  test('a recovering job runs out of its time, too', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ agent: { protocol } });
    const job = await fleet.runJob(rig, { timeout_s: 130 });
    await fleet.clock.advance(129_999);
    expect(fleet.job(job).status).toBe('recovering');
    await fleet.clock.advance(1);
    expect(fleet.job(job).status).toBe('cancelling');
    await rig.connect({ currentJobId: job });
    await rig.report(job, 'cancelled');
    expect(fleet.job(job)).toMatchObject({ status: 'failed', cause: 'timeout' });
  });
});

describe('time that has passed', () => {
  test('is not forgotten when an attempt that was given up is taken up again', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig, { timeout_s: 200 });
    await fleet.clock.advance(takeover);
    expect(fleet.job(job).status).toBe('pending');
    await rig.beat(job);
    expect(fleet.job(job).status).toBe('running');
    await fleet.clock.advance(39_999);
    expect(fleet.job(job).status).toBe('running');
    await fleet.clock.advance(1);
    expect(fleet.job(job).status).toBe('cancelling');
  });

  test('is not that of the attempt before', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig, { timeout_s: 200 });
    await fleet.clock.advance(takeover);
    const other = await fleet.addIdleWorker();
    await other.run(job);
    await pass(fleet, 199_999, other);
    expect(fleet.job(job)).toMatchObject({ status: 'running', attempt: 2 });
    await fleet.clock.advance(1);
    expect(fleet.job(job).status).toBe('cancelling');
  });

  test.each([
    ['a crash', { crash: true }],
    ['an orderly stop', { crash: false }],
  ])('is counted over %s', async (_what, how) => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig, { timeout_s: 100 });
    await fleet.clock.advance(60_000);
    await fleet.restart(how);
    await rig.connect({ currentJobId: job });
    await fleet.clock.advance(39_999);
    expect(fleet.job(job).status).toBe('running');
    await fleet.clock.advance(1);
    expect(fleet.job(job).status).toBe('cancelling');
  });

  test('while the orchestrator was away counts as well', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig, { timeout_s: 100 });
    await fleet.restart({ awayMs: hour });
    expect(fleet.job(job).status).toBe('cancelling');
    await rig.connect({ currentJobId: job });
    await rig.report(job, 'cancelled');
    expect(fleet.job(job)).toMatchObject({ status: 'failed', cause: 'timeout' });
  });

  test.each([
    ['a day ahead', 24 * hour],
    ['ten hours back', -10 * hour],
  ])('is neither shortened nor extended by a clock that is set %s before a restart', async (_what, ms) => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig, { timeout_s: 100 });
    await fleet.clock.advance(50_000);
    fleet.clock.shiftWall(ms);
    await fleet.restart();
    await rig.connect({ currentJobId: job });
    await fleet.clock.advance(49_999);
    expect(fleet.job(job).status).toBe('running');
    await fleet.clock.advance(1);
    expect(fleet.job(job).status).toBe('cancelling');
  });

  test('is only that of its own attempt when a new one begins in the very moment of the deadline', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig, { timeout_s: 100 });
    // Queued before the decision of the same moment is carried out.
    fleet.clock.after(100_000, () => void rig.report(job, 'failed', { signal: 'SIGTERM' }));
    await fleet.clock.advance(100_000);
    expect(fleet.job(job)).toMatchObject({ status: 'dispatched', attempt: 2 });
  });
});

test('a timeout may be any part of a second', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  for (const timeout of [2.3, 4.35, 1.000_49]) {
    const job = await fleet.runJob(rig, { timeout_s: timeout });
    expect(fleet.job(job).timeout_s).toBeCloseTo(timeout, 3);
    await fleet.clock.advance(Math.round(timeout * 1_000) - 1);
    expect(fleet.job(job).status).toBe('running');
    await fleet.clock.advance(1);
    expect(fleet.job(job).status).toBe('cancelling');
    await rig.report(job, 'cancelled');
  }
});
