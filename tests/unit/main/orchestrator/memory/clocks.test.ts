/**
 * The orchestrator's own pauses, and clock changes: docs/internals/semantics.md, section 3; docs/internals/faults.md
 * F6, F20. T = 120 s.
 */
import { describe, expect, test } from 'vitest';
import { openFleet } from '../../../../support/fleet-bench.ts';
import type { Fleet } from '../../../../support/fleet.ts';

const T = 120_000;
const takeover = 160_000;
const hour = 3_600_000;
const tenYears = 10 * 365 * 24 * hour;

/** A worker that runs a job, one that is idle, and a job that waits in its backoff. */
async function openBusyFleet(): Promise<Fleet> {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const other = await fleet.addIdleWorker();
  const tried = await fleet.runJob(rig);
  await rig.report(tried, 'failed', { signal: 'SIGTERM' });
  await other.report(tried, 'starting');
  await other.report(tried, 'failed', { signal: 'SIGTERM' });
  await fleet.submit({ timeout_s: 7_200 });
  await rig.run(rig.lastOffer().job_id);
  return fleet;
}

const transitions = (fleet: Fleet): readonly string[] =>
  fleet.events.flatMap(event => ('type' in event ? [event.type] : []));

describe('while the orchestrator is held up', () => {
  test.each([
    ['less than its tick may be late', 5_500],
    ['more than that', 20_000],
    ['more than T', T + 10_000],
    ['more than a takeover', takeover + 10_000],
    ['a night', 10 * hour],
  ])('nobody falls silent: %s', async (_what, ms) => {
    const fleet = await openBusyFleet();
    const before = transitions(fleet);
    await fleet.clock.advance(100_000);
    const inBackoff = transitions(fleet);
    await fleet.clock.pause(ms);
    expect(transitions(fleet)).toEqual(inBackoff);
    expect(inBackoff.slice(0, before.length)).toEqual(before);
    expect(inBackoff).not.toContain('worker.offline');
  });

  test('a short pause counts, because it is no longer than a beat may be late', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    await fleet.clock.advance(100_000);
    await fleet.clock.pause(5_500);
    await fleet.clock.advance(T - 105_500 - 1);
    expect(rig.view().status).toBe('idle');
    await fleet.clock.advance(1);
    expect(rig.view().status).toBe('offline');
  });

  test('a longer one does not count, and deadlines go on from where they were', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig, { max_retries: 0 });
    await fleet.clock.advance(100_000);
    await fleet.clock.pause(31_000);
    // One tick of it counts.
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

  test('a long one gives everybody the whole span anew, from its end', async () => {
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

  test('sleep that only the wall clock shows gives everybody the whole span anew', async () => {
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

  test('a sleep that it is told of does, however short it was', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    await fleet.runJob(rig);
    await fleet.clock.advance(T - 1_000);
    fleet.clock.shiftWall(5_000);
    fleet.orchestrator.lifecycle.awoken();
    await fleet.clock.advance(T - 1);
    expect(rig.view().status).toBe('busy');
    await fleet.clock.advance(1);
    expect(rig.view().status).toBe('offline');
  });

  test('an offer is not given up for a pause in which nobody could take it', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const { jobId } = await fleet.submit({ max_retries: 0 });
    await fleet.clock.advance(43_000);
    await fleet.clock.pause(T);
    expect(fleet.job(jobId)).toMatchObject({ status: 'dispatched', attempt: 1 });
    await rig.run(jobId);
    expect(fleet.job(jobId)).toMatchObject({ status: 'running', attempt: 1 });
  });

  test('a timeout does not run', async () => {
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

describe('a wall clock that is set', () => {
  test.each([
    ['an hour back', -hour],
    ['an hour forward', hour],
    ['ten years forward', tenYears],
    ['ten years back', -tenYears],
  ])('%s causes no transition', async (_what, ms) => {
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
  ])('%s moves no backoff, and the reason tells the time by the clock as it is now', async (_what, ms) => {
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
