/** Drains with a deadline, and attempts that run for too long: SEMANTICS.md, sections 2 and 5. */
import { describe, expect, test } from 'vitest';
import { openFleet } from '../../support/fleet-bench.ts';
import { valueOf } from '../../support/fleet-outcome.ts';
import { ada, type Fleet } from '../../support/fleet.ts';
import type { FleetWorker } from '../../support/fleet-worker.ts';

const drainWithin = async (fleet: Fleet, rig: FleetWorker, deadlineMs: number) => {
  const wish = { reason: 'new disk', deadlineMs };
  const view = valueOf(await fleet.orchestrator.drainWorker(rig.id, wish, ada));
  await fleet.clock.settle();
  return view;
};

/** Time passes, and the worker beats all along. */
const pass = async (fleet: Fleet, rig: FleetWorker, job: Parameters<FleetWorker['beat']>[0], ms: number) => {
  for (let passed = 0; passed < ms; passed += 30_000) {
    await fleet.clock.advance(Math.min(30_000, ms - passed));
    await rig.beat(job);
  }
};

describe('a drain with a deadline', () => {
  test('stops what still runs then, and the job goes elsewhere without a charge', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig, { max_retries: 0 });
    const view = await drainWithin(fleet, rig, 60_000);
    expect(view.drain).toMatchObject({ reason: 'new disk', by: 'ada', deadline: '2026-01-01T12:01:00.000Z' });
    await pass(fleet, rig, job, 59_999);
    expect(fleet.job(job).status).toBe('running');
    await fleet.clock.advance(1);
    expect(fleet.job(job)).toMatchObject({ status: 'cancelling', hold: { kind: 'unconfirmed' } });
    expect(rig.commandsOf('job_cancel')).toHaveLength(1);
    const other = await fleet.addIdleWorker();
    valueOf(await rig.report(job, 'cancelled'));
    expect(other.lastOffer().job_id).toBe(job);
    expect(fleet.job(job)).toMatchObject({ status: 'dispatched', attempt: 2 });
    expect(fleet.job(job).attempts[0]).toMatchObject({ outcome: 'requeued', cause: null });
    expect(rig.view().status).toBe('draining');
  });

  test('outlives a restart, with what is left of it', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    await drainWithin(fleet, rig, 90_000);
    await pass(fleet, rig, job, 30_000);
    await fleet.restart({ crash: true });
    await rig.connect({ currentJobId: job });
    await pass(fleet, rig, job, 59_000);
    expect(fleet.job(job).status).toBe('running');
    await fleet.clock.advance(1_000);
    expect(fleet.job(job).status).toBe('cancelling');
  });

  test('can be moved by a second one, and is taken back with the drain', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    await drainWithin(fleet, rig, 30_000);
    await drainWithin(fleet, rig, 300_000);
    await pass(fleet, rig, job, 60_000);
    expect(fleet.job(job).status).toBe('running');
    await fleet.orchestrator.undrainWorker(rig.id, ada);
    await pass(fleet, rig, job, 600_000);
    expect(fleet.job(job).status).toBe('running');
  });

  test('a result that comes first is kept', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    await drainWithin(fleet, rig, 0);
    expect(fleet.job(job).status).toBe('cancelling');
    await rig.report(job, 'completed', { exit_code: 0 });
    expect(fleet.job(job).status).toBe('completed');
  });
});

describe('a timeout', () => {
  test('stops the attempt and fails the job', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig, { timeout_s: 100 });
    await pass(fleet, rig, job, 99_999);
    expect(fleet.job(job).status).toBe('running');
    await fleet.clock.advance(1);
    expect(rig.commandsOf('job_cancel')).toHaveLength(1);
    await rig.report(job, 'cancelled');
    expect(fleet.job(job)).toMatchObject({ status: 'failed', cause: 'timeout', timeout_s: 100 });
    expect(rig.view().status).toBe('idle');
  });

  test('counts each attempt on its own, over a restart, and tries again if that was asked for', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig, { timeout_s: 60, retry_on: ['timeout'], max_retries: 1 });
    await pass(fleet, rig, job, 30_000);
    await fleet.restart({ crash: true });
    await rig.connect({ currentJobId: job });
    await pass(fleet, rig, job, 30_000);
    await rig.report(job, 'cancelled');
    expect(fleet.job(job)).toMatchObject({ status: 'dispatched', attempt: 2 });
    await rig.run(job);
    await pass(fleet, rig, job, 59_999);
    expect(fleet.job(job).status).toBe('running');
    await fleet.clock.advance(1);
    await rig.report(job, 'cancelled');
    expect(fleet.job(job)).toMatchObject({ status: 'failed', cause: 'timeout' });
  });
});

describe('a person who does not want to wait', () => {
  test('has the job of a silent worker go on elsewhere; what returns is stopped', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig, { max_retries: 0 });
    await fleet.clock.advance(120_000);
    expect(fleet.job(job).hold).toEqual({
      kind: 'silent',
      since: '2026-01-01T12:00:00.000Z',
      until: '2026-01-01T12:02:40.000Z',
      releasable: true,
    });
    const other = await fleet.addIdleWorker();
    expect(valueOf(await fleet.orchestrator.release(job, ada)).status).toBe('dispatched');
    await fleet.clock.settle();
    await other.run(job);
    expect(valueOf(await rig.beat(job))).toMatchObject({ abandon_job: job });
  });

  test('can end a stop that nobody confirms, after a minute', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    await fleet.cancel(job);
    await pass(fleet, rig, job, 59_999);
    expect(await fleet.orchestrator.release(job, ada)).toMatchObject({
      ok: false,
      refusal: { code: 'nothing_to_release' },
    });
    await pass(fleet, rig, job, 1);
    expect(valueOf(await fleet.orchestrator.release(job, ada))).toMatchObject({
      status: 'cancelled',
      error_message: expect.stringContaining('not confirmed'),
      hold: null,
    });
    expect(valueOf(await rig.beat(job))).toMatchObject({ abandon_job: job });
  });

  test('finds nothing to release in a job that runs', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    expect(await fleet.orchestrator.release(job, ada)).toMatchObject({
      ok: false,
      refusal: { code: 'nothing_to_release' },
    });
  });
});
