// See docs/internals/semantics.md, section 3, and docs/internals/faults.md, F6 and F20. T, the heartbeat timeout, is 120 s.
import { describe, expect, test } from 'vitest';
import { openFleet } from '../../../../support/fleet-bench.ts';
import type { Fleet } from '../../../../support/fleet.ts';

// The heartbeat timeout T.
const timeoutMs = 120_000;
const takeoverMs = 160_000;
const hourMs = 3_600_000;
const tenYearsMs = 10 * 365 * 24 * hourMs;

/** Creates a worker with a job, an idle worker, and a job in back-off. */
async function openBusyFleet(): Promise<Fleet> {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const otherRig = await fleet.addIdleWorker();
  const failing = await fleet.runJob(rig);
  await rig.report(failing, 'failed', { signal: 'SIGTERM' });
  await otherRig.report(failing, 'starting');
  await otherRig.report(failing, 'failed', { signal: 'SIGTERM' });
  await fleet.submit({ timeout_s: 7_200 });
  await rig.run(rig.lastOffer().job_id);
  return fleet;
}

const eventTypes = (fleet: Fleet): readonly string[] =>
  fleet.events.flatMap(event => ('type' in event ? [event.type] : []));

describe('a paused orchestrator process', () => {
  test.each([
    ['short enough to count as a late timer', 5_500],
    ['too long to count as a late timer', 20_000],
    ['longer than T', timeoutMs + 10_000],
    ['longer than the takeover time', takeoverMs + 10_000],
    ['ten hours long', 10 * hourMs],
  ])('marks no worker offline after a pause that is %s', async (_case, pauseMs) => {
    const fleet = await openBusyFleet();
    const before = eventTypes(fleet);
    await fleet.clock.advance(100_000);
    const beforePause = eventTypes(fleet);
    await fleet.clock.pause(pauseMs);
    expect(eventTypes(fleet)).toEqual(beforePause);
    expect(beforePause.slice(0, before.length)).toEqual(before);
    expect(beforePause).not.toContain('worker.offline');
  });

  test('counts a short pause as silence of the workers', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    await fleet.clock.advance(100_000);
    await fleet.clock.pause(5_500);
    await fleet.clock.advance(timeoutMs - 105_500 - 1);
    expect(rig.view().status).toBe('idle');
    await fleet.clock.advance(1);
    expect(rig.view().status).toBe('offline');
  });

  test('does not count a longer pause as silence of the workers, and continues the deadlines', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig, { max_retries: 0 });
    await fleet.clock.advance(100_000);
    await fleet.clock.pause(31_000);
    // One second of the pause, the interval of the orchestrator's timer, counts.
    await fleet.clock.advance(timeoutMs - 101_000 - 1);
    expect(rig.view().status).toBe('busy');
    await fleet.clock.advance(1);
    expect(rig.view().status).toBe('offline');
    await fleet.clock.pause(31_000);
    await fleet.clock.advance(takeoverMs - timeoutMs - 1_001);
    expect(fleet.job(job).status).toBe('recovering');
    await fleet.clock.advance(1);
    expect(fleet.job(job).status).toBe('failed');
  });

  test('gives every worker its full timeout again after a long pause', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig, { max_retries: 0 });
    await fleet.clock.advance(timeoutMs - 1);
    await fleet.clock.pause(61_001);
    await fleet.clock.advance(timeoutMs - 1);
    expect(rig.view().status).toBe('busy');
    await fleet.clock.advance(1);
    expect(rig.view().status).toBe('offline');
    await fleet.clock.advance(takeoverMs - timeoutMs - 1_001);
    await fleet.clock.pause(61_001);
    await fleet.clock.advance(takeoverMs - 1);
    expect(fleet.job(job).status).toBe('recovering');
  });

  test('gives every worker its full timeout again after a sleep that only the wall clock shows', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig, { max_retries: 0 });
    await fleet.clock.advance(takeoverMs - 1_000);
    expect(fleet.job(job).status).toBe('recovering');
    fleet.clock.shiftWall(8 * hourMs);
    await fleet.clock.advance(takeoverMs - 1_000);
    expect(fleet.job(job).status).toBe('recovering');
    await rig.beat(job);
    expect(fleet.job(job)).toMatchObject({ status: 'running', attempt: 1 });
  });

  test('gives every worker its full timeout again after an announced short sleep', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    await fleet.runJob(rig);
    await fleet.clock.advance(timeoutMs - 1_000);
    fleet.clock.shiftWall(5_000);
    fleet.orchestrator.lifecycle.noteWake();
    await fleet.clock.advance(timeoutMs - 1);
    expect(rig.view().status).toBe('busy');
    await fleet.clock.advance(1);
    expect(rig.view().status).toBe('offline');
  });

  test('does not withdraw an offer because of a pause', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const { jobId } = await fleet.submit({ max_retries: 0 });
    await fleet.clock.advance(43_000);
    await fleet.clock.pause(timeoutMs);
    expect(fleet.job(jobId)).toMatchObject({ status: 'dispatched', attempt: 1 });
    await rig.run(jobId);
    expect(fleet.job(jobId)).toMatchObject({ status: 'running', attempt: 1 });
  });

  test('does not count a pause towards the timeout of a job', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig, { timeout_s: 100 });
    await fleet.clock.advance(50_000);
    await fleet.clock.pause(hourMs);
    await rig.beat(job);
    await fleet.clock.advance(48_999);
    expect(fleet.job(job).status).toBe('running');
    await fleet.clock.advance(1);
    expect(fleet.job(job).status).toBe('cancelling');
  });
});

describe('a changed wall clock', () => {
  test.each([
    ['an hour back', -hourMs],
    ['an hour forward', hourMs],
    ['ten years forward', tenYearsMs],
    ['ten years back', -tenYearsMs],
  ])('changes no status when the wall clock is set %s', async (_case, ms) => {
    const fleet = await openBusyFleet();
    const [rig, other] = fleet.orchestrator.workers.list(undefined);
    await fleet.addWorker({ type: 'ephemeral' });
    const leavingRig = await fleet.addIdleWorker({ type: 'ephemeral', agent: { gpus: 0 } });
    await leavingRig.disconnect();
    await fleet.clock.advance(1_000);
    const before = eventTypes(fleet);
    fleet.clock.shiftWall(ms);
    await fleet.clock.advance(1_000);
    expect(eventTypes(fleet)).toEqual(before);
    expect(fleet.orchestrator.workers.list(undefined).map(({ status }) => status)).toEqual([
      rig?.status,
      other?.status,
      'connecting',
      'offline',
    ]);
  });

  test.each([
    ['back', -hourMs],
    ['forward', hourMs],
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
