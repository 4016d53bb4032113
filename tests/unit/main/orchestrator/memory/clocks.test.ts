// See docs/internals/semantics.md, section 3, and docs/internals/faults.md, F6 and F20. T, the heartbeat timeout, is 120 s.
import { describe, expect, test } from 'vitest';
import { openFleet } from '../../../../support/fleet-bench.ts';
import type { Fleet } from '../../../../support/fleet.ts';

const T = 120_000;
const takeover = 160_000;
const hour = 3_600_000;
const tenYears = 10 * 365 * 24 * hour;

/** Creates a worker with a job, an idle worker, and a job in back-off. */
async function openBusyFleet(): Promise<Fleet> {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const otherRig = await fleet.addIdleWorker();
  const tried = await fleet.runJob(rig);
  await rig.report(tried, 'failed', { signal: 'SIGTERM' });
  await otherRig.report(tried, 'starting');
  await otherRig.report(tried, 'failed', { signal: 'SIGTERM' });
  await fleet.submit({ timeout_s: 7_200 });
  await rig.run(rig.lastOffer().job_id);
  return fleet;
}

const transitions = (fleet: Fleet): readonly string[] =>
  fleet.events.flatMap(event => ('type' in event ? [event.type] : []));

describe('a paused orchestrator process', () => {
  test.each([
    ['shorter than a late tick', 5_500],
    ['longer than a late tick', 20_000],
    ['longer than T', T + 10_000],
    ['longer than the takeover', takeover + 10_000],
    ['a night', 10 * hour],
  ])('marks no worker offline after a pause: %s', async (_case, ms) => {
    const fleet = await openBusyFleet();
    const before = transitions(fleet);
    await fleet.clock.advance(100_000);
    const inBackoff = transitions(fleet);
    await fleet.clock.pause(ms);
    expect(transitions(fleet)).toEqual(inBackoff);
    expect(inBackoff.slice(0, before.length)).toEqual(before);
    expect(inBackoff).not.toContain('worker.offline');
  });

  test('counts a short pause as silence', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    await fleet.clock.advance(100_000);
    await fleet.clock.pause(5_500);
    await fleet.clock.advance(T - 105_500 - 1);
    expect(rig.view().status).toBe('idle');
    await fleet.clock.advance(1);
    expect(rig.view().status).toBe('offline');
  });

  test('does not count a longer pause as silence, and continues the deadlines', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig, { max_retries: 0 });
    await fleet.clock.advance(100_000);
    await fleet.clock.pause(31_000);
    // One tick of the pause counts.
    await fleet.clock.advance(T - 101_000 - 1);
    expect(rig.view().status).toBe('busy');
    await fleet.clock.advance(1);
    expect(rig.view().status).toBe('offline');
    await fleet.clock.pause(31_000);
    await fleet.clock.advance(takeover - T - 1_001);
    expect(fleet.job(job).status).toBe('recovering');
    await fleet.clock.advance(1);
    expect(fleet.job(job).status).toBe('failed');
  });

  test('gives every worker its full timeout again after a long pause', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig, { max_retries: 0 });
    await fleet.clock.advance(T - 1);
    await fleet.clock.pause(61_001);
    await fleet.clock.advance(T - 1);
    expect(rig.view().status).toBe('busy');
    await fleet.clock.advance(1);
    expect(rig.view().status).toBe('offline');
    await fleet.clock.advance(takeover - T - 1_001);
    await fleet.clock.pause(61_001);
    await fleet.clock.advance(takeover - 1);
    expect(fleet.job(job).status).toBe('recovering');
  });

  test('gives every worker its full timeout again after a sleep that only the wall clock shows', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig, { max_retries: 0 });
    await fleet.clock.advance(takeover - 1_000);
    expect(fleet.job(job).status).toBe('recovering');
    fleet.clock.shiftWall(8 * hour);
    await fleet.clock.advance(takeover - 1_000);
    expect(fleet.job(job).status).toBe('recovering');
    await rig.beat(job);
    expect(fleet.job(job)).toMatchObject({ status: 'running', attempt: 1 });
  });

  test('gives every worker its full timeout again after an announced short sleep', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    await fleet.runJob(rig);
    await fleet.clock.advance(T - 1_000);
    fleet.clock.shiftWall(5_000);
    fleet.orchestrator.lifecycle.noteWake();
    await fleet.clock.advance(T - 1);
    expect(rig.view().status).toBe('busy');
    await fleet.clock.advance(1);
    expect(rig.view().status).toBe('offline');
  });

  test('does not withdraw an offer because of a pause', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const { jobId } = await fleet.submit({ max_retries: 0 });
    await fleet.clock.advance(43_000);
    await fleet.clock.pause(T);
    expect(fleet.job(jobId)).toMatchObject({ status: 'dispatched', attempt: 1 });
    await rig.run(jobId);
    expect(fleet.job(jobId)).toMatchObject({ status: 'running', attempt: 1 });
  });

  test('does not count a pause towards a timeout', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig, { timeout_s: 100 });
    await fleet.clock.advance(50_000);
    await fleet.clock.pause(hour);
    await rig.beat(job);
    await fleet.clock.advance(48_999);
    expect(fleet.job(job).status).toBe('running');
    await fleet.clock.advance(1);
    expect(fleet.job(job).status).toBe('cancelling');
  });
});

describe('a changed wall clock', () => {
  test.each([
    ['an hour back', -hour],
    ['an hour forward', hour],
    ['ten years forward', tenYears],
    ['ten years back', -tenYears],
  ])('changes no status when the wall clock is set %s', async (_case, ms) => {
    const fleet = await openBusyFleet();
    const [rig, other] = fleet.orchestrator.workers.list(undefined);
    await fleet.addWorker({ type: 'ephemeral' });
    const leaver = await fleet.addIdleWorker({ type: 'ephemeral', agent: { gpus: 0 } });
    await leaver.disconnect();
    await fleet.clock.advance(1_000);
    const before = transitions(fleet);
    fleet.clock.shiftWall(ms);
    await fleet.clock.advance(1_000);
    expect(transitions(fleet)).toEqual(before);
    expect(fleet.orchestrator.workers.list(undefined).map(({ status }) => status)).toEqual([
      rig?.status,
      other?.status,
      'connecting',
      'offline',
    ]);
  });

  test.each([
    ['back', -hour],
    ['forward', hour],
  ])('keeps a back-off and shows its end by the new clock when the clock is set %s', async (_case, ms) => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    await rig.report(job, 'failed', { signal: 'SIGTERM' });
    await rig.report(job, 'failed', { signal: 'SIGTERM' });
    fleet.clock.shiftWall(ms);
    await fleet.clock.advance(10_000);
    const due = fleet.clock.iso(fleet.clock.wall() + 20_000);
    expect(fleet.job(job).reason).toBe(`Waits until ${due} for the worker that lost it, or for another one`);
    await fleet.clock.advance(19_999);
    expect(fleet.job(job).status).toBe('pending');
    await fleet.clock.advance(1);
    expect(fleet.job(job)).toMatchObject({ status: 'dispatched', attempt: 3 });
  });
});
