import { describe, expect, test } from 'vitest';
import { ada } from '../../../../../support/fleet.ts';
import { valueOf } from '../../../../../support/fleet-outcome.ts';
import { poolOf } from '../../../../../support/pool-fleet.ts';
import {
  hourMs,
  poolIdOf,
  minuteMs,
  oneGpu,
  launchOutcomes,
  poolDetails,
  retriesOf,
  openPoolFleet,
  openPool,
  launchStates,
} from '../../pool-fixture.ts';

describe('machines whose workers never register', () => {
  test('ends a machine whose worker does not register, and pauses the pool at the third such machine in a row', async () => {
    const pools = await openPool({ join_s: 600, max_launches: 1 });
    const { fleet, memory, habits, pool } = pools;
    habits.joinMs = null;
    const { jobId } = await fleet.submit(oneGpu);
    await fleet.clock.advance(12 * minuteMs);
    expect(launchOutcomes(pools).slice(0, 1)).toEqual(['never_joined']);
    expect(pool().paused).toBeNull();
    await fleet.clock.advance(hourMs);
    expect(launchOutcomes(pools)).toEqual(['never_joined', 'never_joined', 'never_joined']);
    expect(pool().paused).toMatchObject({
      by: 'system',
      reason: expect.stringContaining('3 machines in a row'),
    });
    expect(memory.live()).toEqual([]);
    expect(poolDetails(pools, jobId)).toEqual([
      expect.stringContaining('system paused the pool: 3 machines'),
    ]);
    // The time of a machine whose worker never registered counts as GPU-hours.
    expect(pool().usage.gpu_hours_today).toBeCloseTo(0.5, 1);
    habits.joinMs = 1_000;
    valueOf(await fleet.orchestrator.pools.resume(poolIdOf(pools), ada));
    await fleet.clock.advance(30_000);
    expect(fleet.job(jobId).status).toBe('running');
  });

  test('does not pause the pool when a worker registers between machines whose workers do not', async () => {
    const pools = await openPool({ join_s: 60, max_launches: 1, idle_s: 0 });
    const { fleet, habits, pool } = pools;
    for (const joinMs of [null, null, 1_000, null, null]) {
      habits.joinMs = joinMs;
      const { jobId } = await fleet.submit(oneGpu);
      await fleet.clock.advance(80_000);
      await fleet.cancel(jobId);
      await fleet.clock.advance(minuteMs);
    }
    expect(launchOutcomes(pools).filter(outcome => outcome === 'never_joined')).toHaveLength(4);
    expect(pool().paused).toBeNull();
  });
});

describe('refused orders', () => {
  test('orders again after a temporary refusal, with a longer delay each time', async () => {
    const pools = await openPool();
    const { fleet, memory } = pools;
    memory.onLaunch = () => ({ kind: 'refuse', scope: 'temporary', message: 'QOSMaxSubmitJobPerUserLimit' });
    const { jobId } = await fleet.submit(oneGpu);
    const attemptTimes: number[] = [];
    for (let seconds = 0; seconds < 600; seconds += 5) {
      const before = memory.calls.launch;
      await fleet.clock.advance(5_000);
      if (memory.calls.launch > before) attemptTimes.push(seconds);
    }
    expect(memory.calls.launch).toBeLessThan(9);
    // The delay doubles after each refusal. Up to half of the delay is random. The loop above checks every 5 s.
    for (let n = 1; n < attemptTimes.length; n += 1) {
      const delay = (attemptTimes[n] ?? 0) - (attemptTimes[n - 1] ?? 0);
      expect(delay).toBeGreaterThanOrEqual(15 * 2 ** (n - 1));
      expect(delay).toBeLessThanOrEqual(30 * 2 ** (n - 1) + 10);
    }
    memory.onLaunch = () => ({ kind: 'accept', delayMs: 0 });
    await fleet.clock.advance(10 * minuteMs);
    expect(fleet.job(jobId).status).toBe('completed');
  });

  test('counts simultaneous refusals of several orders as one refusal', async () => {
    const pools = await openPool({ max_launches: 8, max_waiting: 8 });
    const { fleet, memory } = pools;
    memory.onLaunch = () => ({ kind: 'refuse', scope: 'temporary', message: 'busy' });
    for (let n = 0; n < 8; n += 1) await fleet.submit(oneGpu);
    await fleet.clock.advance(10_000);
    memory.onLaunch = () => ({ kind: 'accept', delayMs: 0 });
    await fleet.clock.advance(35_000);
    expect(memory.live()).toHaveLength(8);
  });

  test('shows a permanent refusal, and orders such a machine again only after a user resumes the pool', async () => {
    const pools = await openPool({ gpus: 8 });
    const { fleet, memory, pool } = pools;
    memory.onLaunch = ({ gpus }) =>
      gpus > 4
        ? { kind: 'refuse', scope: 'permanent', message: 'Requested node configuration is not available' }
        : { kind: 'accept', delayMs: 0 };
    const { jobId } = await fleet.submit({ gpu_count: 8 });
    const other = await fleet.submit({ gpu_count: 2 });
    await fleet.clock.advance(10 * minuteMs);
    expect(memory.orders.filter(({ gpus }) => gpus === 8)).toHaveLength(1);
    expect(fleet.job(other.jobId).status).toBe('completed');
    expect(pool().impossible).toMatchObject([
      { shape: '8 GPUs', message: 'Requested node configuration is not available' },
    ]);
    expect(poolDetails(pools, jobId)).toEqual([expect.stringContaining('The engine refused such a machine')]);
    expect(launchOutcomes(pools)).toContain('rejected');
    memory.onLaunch = () => ({ kind: 'accept', delayMs: 0 });
    valueOf(await fleet.orchestrator.pools.resume(poolIdOf(pools), ada));
    await fleet.clock.advance(3 * minuteMs);
    expect(fleet.job(jobId).status).toBe('completed');
  });

  test('orders from another pool after a permanent refusal, until the refusing pool is changed', async () => {
    const pools = await openPoolFleet();
    const { fleet, memory } = pools;
    const strict = pools.addEngine('first');
    strict.onLaunch = () => ({ kind: 'refuse', scope: 'permanent', message: 'no' });
    await pools.addPool({ name: 'first' });
    await pools.addPool({ name: 'second' });
    await fleet.submit(oneGpu);
    await fleet.clock.advance(30_000);
    expect([strict.calls.launch, memory.live().length]).toEqual([1, 1]);
    valueOf(await fleet.orchestrator.pools.update(poolIdOf(pools, 'first'), poolOf({ name: 'first' }), ada));
    await fleet.submit(oneGpu);
    await fleet.clock.advance(30_000);
    expect(strict.calls.launch).toBe(2);
  });
});

describe('orders that the engine does not answer', () => {
  test('does not repeat an unanswered order when its launch exists', async () => {
    const pools = await openPool();
    const { fleet, memory } = pools;
    memory.onLaunch = () => ({ kind: 'silent', createsAfterMs: 25_000, delayMs: 10_000 });
    const { jobId } = await fleet.submit(oneGpu);
    await fleet.clock.advance(16_000);
    expect(launchStates(pools)).toEqual(['unclear']);
    await fleet.clock.advance(10 * minuteMs);
    expect(memory.calls.launch).toBe(1);
    expect(fleet.job(jobId).status).toBe('completed');
  });

  test('repeats an unanswered order only when a list that is requested 30 s later lacks the launch', async () => {
    const pools = await openPool();
    const { fleet, memory } = pools;
    memory.onLaunch = () => ({ kind: 'silent', createsAfterMs: null, delayMs: 40_000 });
    await fleet.submit(oneGpu);
    await fleet.clock.advance(45_000);
    expect(launchStates(pools)).toEqual(['unclear']);
    await fleet.clock.advance(29_000);
    expect(memory.calls.launch).toBe(1);
    memory.onLaunch = () => ({ kind: 'accept', delayMs: 0 });
    await fleet.clock.advance(12_000);
    expect(memory.calls.launch).toBe(2);
    expect(memory.orders.map(({ launchId }) => launchId)).toEqual(['l1', 'l1']);
    // Each order has its own join token.
    expect(memory.orders.map(({ joinToken }) => joinToken)).toEqual(['tj_1', 'tj_2']);
  });

  test('does not repeat an unanswered order while lists fail', async () => {
    const pools = await openPool();
    const { fleet, memory } = pools;
    memory.onLaunch = () => ({ kind: 'silent', createsAfterMs: null, delayMs: 0 });
    await fleet.submit(oneGpu);
    await fleet.clock.advance(6_000);
    memory.onList = () => ({ kind: 'fail', delayMs: 0 });
    await fleet.clock.advance(10 * minuteMs);
    expect(memory.calls.launch).toBe(1);
  });
});

describe('lists of the engine', () => {
  test('changes no launch while lists fail, and shows since when the engine is unreachable', async () => {
    const pools = await openPool();
    const { fleet, memory, pool } = pools;
    const { jobId } = await fleet.submit(oneGpu);
    await fleet.clock.advance(20_000);
    memory.onList = () => ({ kind: 'fail', delayMs: 1_000 });
    await fleet.clock.advance(30_000);
    expect(pool().unreachable).toEqual({
      since: expect.stringMatching(/^2026-01-01T12:00:2/),
      detail: 'The engine does not answer',
    });
    expect(launchStates(pools)).toEqual(['joined']);
    expect(fleet.job(jobId).status).toBe('running');
    const { jobId: next } = await fleet.submit(oneGpu);
    await fleet.clock.advance(10_000);
    expect(memory.calls.launch).toBe(1);
    expect(poolDetails(pools, next)).toEqual(['The engine of the pool does not answer']);
    memory.onList = () => ({ kind: 'answer', delayMs: 0 });
    await fleet.clock.advance(10_000);
    expect(pool().unreachable).toBeNull();
    expect(memory.calls.launch).toBe(2);
  });

  test('ends a launch that is missing from three lists in a row, and retries its job', async () => {
    const pools = await openPool({ max_launches: 1 }, { keepsEndedMs: 0 });
    const { fleet, memory } = pools;
    const { jobId } = await fleet.submit(oneGpu);
    await fleet.clock.advance(20_000);
    const [allocation] = memory.live();
    if (allocation === undefined) throw new Error('nothing was launched');
    memory.finish(allocation, 'node_failed');
    await fleet.clock.advance(9_000);
    expect(fleet.job(jobId).status).toBe('running');
    await fleet.clock.advance(hourMs);
    expect(launchOutcomes(pools)[0]).toBe('unknown');
    expect(fleet.job(jobId)).toMatchObject({ status: 'completed', attempt: 2 });
  });

  test('keeps a launch that is missing from only two lists in a row', async () => {
    const pools = await openPool();
    const { fleet, memory } = pools;
    await fleet.submit(oneGpu);
    await fleet.clock.advance(20_000);
    let omissions = 2;
    memory.onList = () => ({ kind: 'answer', delayMs: 0, omits: () => (omissions -= 1) >= 0 });
    await fleet.clock.advance(30_000);
    expect(launchStates(pools)).toEqual(['joined']);
    expect(omissions).toBeLessThan(0);
  });

  test('stores nothing when a list of the engine has no changes', async () => {
    const pools = await openPool({}, { startMs: hourMs });
    const { fleet } = pools;
    await fleet.submit(oneGpu);
    await fleet.clock.advance(30_000);
    const before = fleet.events.length;
    await fleet.clock.advance(5 * minuteMs);
    expect(fleet.events.length).toBe(before);
  });

  test('ends unknown launches of this fleet when two lists in a row contain them', async () => {
    const pools = await openPool();
    const { fleet, memory, habits } = pools;
    habits.joinMs = null;
    const order = {
      launchId: 'lost1',
      nodes: 1,
      gpus: 1,
      wallTimeS: 9e6,
      noticeS: 9,
      workerName: 'x',
      joinToken: 'x',
    };
    await memory.engine(fleet.store.fleetId()).launch(order as never);
    await memory.engine('otherone').launch(order as never);
    await fleet.clock.advance(70_000);
    expect(memory.live(fleet.store.fleetId())).toHaveLength(1);
    await fleet.clock.advance(60_000);
    expect(memory.live(fleet.store.fleetId())).toEqual([]);
    expect(memory.live('otherone')).toHaveLength(1);
  });
});

describe('machines that are taken away', () => {
  // Runs a job on a machine until the machine gets its notice.
  const runUntilNotice = async (saves: boolean) => {
    const pools = await openPool({ wall_time_s: 300, notice_s: 120, max_launches: 1, idle_s: 5 });
    pools.habits.saves = saves;
    pools.habits.jobMs = 4 * minuteMs;
    const { jobId } = await pools.fleet.submit({ ...oneGpu, max_retries: 2 });
    await pools.fleet.clock.advance(150_000);
    pools.habits.jobMs = minuteMs;
    return { ...pools, pools, jobId };
  };

  test('gives a notice before the wall time, and requeues a saved job without using a retry', async () => {
    const { pools, fleet, jobId } = await runUntilNotice(true);
    await fleet.clock.advance(10 * minuteMs);
    expect(fleet.job(jobId)).toMatchObject({ status: 'completed', attempt: 2 });
    expect(retriesOf(pools, jobId)).toBe(0);
    expect(launchOutcomes(pools)).toEqual(['finished', 'finished']);
  });

  test('uses a retry when a job could not save after the notice', async () => {
    const { pools, fleet, jobId } = await runUntilNotice(false);
    await fleet.clock.advance(10 * minuteMs);
    expect(fleet.job(jobId)).toMatchObject({ status: 'completed', attempt: 2 });
    expect(retriesOf(pools, jobId)).toBe(1);
  });

  test('assigns no further job to a machine between its notice and its end', async () => {
    const pools = await openPool({ wall_time_s: 300, notice_s: 120, max_launches: 1 });
    const { fleet, habits, workers } = pools;
    habits.jobMs = 10_000;
    habits.leaveMs = null;
    await fleet.submit(oneGpu);
    await fleet.clock.advance(60_000);
    await fleet.clock.advance(130_000);
    const { jobId } = await fleet.submit(oneGpu);
    await fleet.clock.advance(30_000);
    expect(fleet.job(jobId).status).toBe('pending');
    expect(workers[0]?.job ?? null).toBeNull();
    await fleet.clock.advance(10 * minuteMs);
    expect(fleet.job(jobId).status).toBe('completed');
  });

  test('moves a job to the next machine and uses a retry when its machine is preempted without a notice', async () => {
    const pools = await openPool({ max_launches: 1 });
    const { fleet, memory } = pools;
    const { jobId } = await fleet.submit(oneGpu);
    await fleet.clock.advance(20_000);
    for (const allocation of memory.live()) memory.finish(allocation, 'preempted');
    await fleet.clock.advance(5 * minuteMs);
    expect(launchOutcomes(pools)[0]).toBe('preempted');
    expect(fleet.job(jobId)).toMatchObject({ status: 'completed', attempt: 2 });
    expect(retriesOf(pools, jobId)).toBe(1);
  });
});
