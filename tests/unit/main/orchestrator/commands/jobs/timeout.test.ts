// See docs/internals/semantics.md, section 2 (`timeout_s`).
import { describe, expect, test } from 'vitest';
import { openFleet } from '../../../../../support/fleet-bench.ts';
import type { Fleet } from '../../../../../support/fleet.ts';
import type { FleetWorker } from '../../../../../support/fleet-worker.ts';

const takeoverMs = 160_000;
const hourMs = 3_600_000;
const timeoutMessage = 'the attempt ran longer than its timeout of 100 s';

// Advances the clock while the workers stay in contact.
async function advanceInContact(fleet: Fleet, ms: number, ...rigs: readonly FleetWorker[]): Promise<void> {
  for (let left = ms; left > 0; left -= 30_000) {
    await fleet.clock.advance(Math.min(left, 30_000));
    for (const rig of rigs) await rig.beat(rig.view().current_job_id);
  }
}

describe.each([1, 2] as const)('timeout of an attempt (protocol %i)', protocol => {
  const start = async (options: { readonly retry_on?: ['timeout']; readonly max_retries?: number } = {}) => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ agent: { protocol } });
    const { jobId: job } = await fleet.submit({ timeout_s: 100, ...options });
    return { fleet, rig, job };
  };

  test('counts the timeout from the report “starting”, not from the offer or from “running”', async () => {
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

  test.each(['cancelled', 'failed'] as const)(
    'fails the job with cause timeout when its worker confirms the stop with “%s”',
    async status => {
      const { fleet, rig, job } = await start();
      await rig.run(job);
      await fleet.clock.advance(100_000);
      await rig.report(job, status, { signal: 'SIGTERM', error: 'Training exited with code -15' });
      expect(fleet.job(job)).toMatchObject({
        status: 'failed',
        cause: 'timeout',
        error_message: timeoutMessage,
      });
      expect(fleet.job(job).attempts).toMatchObject([{ outcome: 'failed', cause: 'timeout' }]);
    },
  );

  test('completes a timed-out job when its worker reports “completed” after the stop request', async () => {
    const { fleet, rig, job } = await start();
    await rig.run(job);
    await fleet.clock.advance(100_000);
    await rig.report(job, 'completed');
    expect(fleet.job(job)).toMatchObject({ status: 'completed', cause: null });
  });

  test('retries a job with retry_on "timeout", and gives each attempt the full timeout', async () => {
    const { fleet, rig, job } = await start({ retry_on: ['timeout'], max_retries: 1 });
    await rig.run(job);
    await advanceInContact(fleet, 100_000, rig);
    await rig.report(job, 'cancelled');
    await fleet.clock.advance(1_000);
    expect(fleet.job(job)).toMatchObject({ status: 'dispatched', attempt: 2 });
    expect(fleet.job(job).attempts[0]).toMatchObject({ outcome: 'requeued', cause: 'timeout' });
    await rig.run(job);
    await advanceInContact(fleet, 99_999, rig);
    expect(fleet.job(job).status).toBe('running');
    await fleet.clock.advance(1);
    await rig.report(job, 'cancelled');
    expect(fleet.job(job)).toMatchObject({ status: 'failed', cause: 'timeout', attempt: 2 });
  });

  test('fails a timed-out job of a silent worker at takeover instead of requeuing the job', async () => {
    const { fleet, rig, job } = await start();
    await rig.run(job);
    // The timeout passes after 100 s, before the heartbeat timeout of 120 s.
    await fleet.clock.advance(119_999);
    expect(fleet.job(job).status).toBe('cancelling');
    await fleet.clock.advance(takeoverMs - 120_000);
    expect(fleet.job(job).status).toBe('cancelling');
    await fleet.clock.advance(1);
    expect(fleet.job(job)).toMatchObject({
      status: 'failed',
      cause: 'timeout',
      error_message: `${timeoutMessage}; not confirmed: the trainer may still run on worker ${rig.id}`,
    });
  });

  test('stops a recovering job when its timeout passes', async () => {
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

describe('elapsed time of an attempt', () => {
  test('keeps the elapsed time when a taken-over attempt resumes', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig, { timeout_s: 200 });
    await fleet.clock.advance(takeoverMs);
    expect(fleet.job(job).status).toBe('pending');
    await rig.beat(job);
    expect(fleet.job(job).status).toBe('running');
    await fleet.clock.advance(39_999);
    expect(fleet.job(job).status).toBe('running');
    await fleet.clock.advance(1);
    expect(fleet.job(job).status).toBe('cancelling');
  });

  test('starts each attempt with zero elapsed time', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig, { timeout_s: 200 });
    await fleet.clock.advance(takeoverMs);
    const otherRig = await fleet.addIdleWorker();
    await otherRig.run(job);
    await advanceInContact(fleet, 199_999, otherRig);
    expect(fleet.job(job)).toMatchObject({ status: 'running', attempt: 2 });
    await fleet.clock.advance(1);
    expect(fleet.job(job).status).toBe('cancelling');
  });

  test.each([
    ['a crash', { crash: true }],
    ['an orderly stop', { crash: false }],
  ])('keeps the elapsed time across %s', async (_case, restart) => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig, { timeout_s: 100 });
    await fleet.clock.advance(60_000);
    await fleet.restart(restart);
    await rig.connect({ currentJobId: job });
    await fleet.clock.advance(39_999);
    expect(fleet.job(job).status).toBe('running');
    await fleet.clock.advance(1);
    expect(fleet.job(job).status).toBe('cancelling');
  });

  test('counts the downtime of the orchestrator as elapsed time', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig, { timeout_s: 100 });
    await fleet.restart({ awayMs: hourMs });
    expect(fleet.job(job).status).toBe('cancelling');
    await rig.connect({ currentJobId: job });
    await rig.report(job, 'cancelled');
    expect(fleet.job(job)).toMatchObject({ status: 'failed', cause: 'timeout' });
  });

  test.each([
    ['a day ahead', 24 * hourMs],
    ['ten hours back', -10 * hourMs],
  ])('keeps the timeout when the clock is set %s before a restart', async (_case, ms) => {
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

  test('does not stop a new attempt that starts at the deadline of the previous attempt', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig, { timeout_s: 100 });
    // The worker's report is queued before the timeout, although both are due at the same time.
    fleet.clock.after(100_000, () => void rig.report(job, 'failed', { signal: 'SIGTERM' }));
    await fleet.clock.advance(100_000);
    expect(fleet.job(job)).toMatchObject({ status: 'dispatched', attempt: 2 });
  });
});

test('accepts a timeout in fractions of a second', async () => {
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
