import { describe, expect, onTestFinished, test } from 'vitest';
import type { JobId } from '../../../../../../protocol/ids.ts';
import { ada } from '../../../../../support/fleet.ts';
import { refusalOf, valueOf } from '../../../../../support/fleet-outcome.ts';
import {
  createPoolFleet,
  type PoolFleet,
  type PoolFleetOptions,
  type PoolOptions,
  poolOf,
} from '../../../../../support/pool-fleet.ts';

async function start(options: PoolFleetOptions = {}): Promise<PoolFleet> {
  const pools = await createPoolFleet(options);
  onTestFinished(pools.close);
  return pools;
}

async function startWith(pool: PoolOptions = {}, options: PoolFleetOptions = {}): Promise<PoolFleet> {
  const pools = await start(options);
  await pools.addPool(pool);
  return pools;
}

const oneGpu = { gpu_count: 1 } as const;
const [minute, hour] = [60_000, 3_600_000];
const statesOf = ({ launches }: PoolFleet, name?: string) => launches(name).map(({ state }) => state);
const outcomesOf = ({ launches }: PoolFleet, name?: string) => launches(name).map(({ outcome }) => outcome);
const countsOf = ({ fleet }: PoolFleet) => {
  const counts: Record<string, number> = {};
  for (const { status, count } of fleet.store.countJobs()) counts[status] = (counts[status] ?? 0) + count;
  return counts;
};
const retriesOf = ({ fleet }: PoolFleet, id: JobId) => fleet.store.job(id)?.retriesUsed;
const idOf = ({ pool }: PoolFleet, name?: string) => pool(name).pool_id;
const poolLine = ({ fleet }: PoolFleet, job: Parameters<typeof fleet.job>[0]) =>
  valueOf(fleet.orchestrator.jobs.explain(job)).pools.map(({ detail }) => detail);

describe('a machine', () => {
  test('is ordered for a job, runs it, and leaves when it was idle', async () => {
    const pools = await startWith();
    const { fleet, memory, launches } = pools;
    const { jobId } = await fleet.submit(oneGpu);
    await fleet.clock.advance(10_000);
    expect(fleet.job(jobId).status).toBe('running');
    expect(launches()).toMatchObject([{ state: 'joined', job_id: jobId, gpus: 1, engine_id: '1000' }]);
    await fleet.clock.advance(minute);
    expect(fleet.job(jobId).status).toBe('completed');
    expect(statesOf(pools)).toEqual(['joined']);
    await fleet.clock.advance(150_000);
    expect(launches()).toMatchObject([{ state: 'ended', outcome: 'finished', is_test: false }]);
    expect(memory.live()).toEqual([]);
    expect(memory.calls.launch).toBe(1);
    expect(pools.pool().usage.gpu_hours_today).toBeGreaterThan(60 / 3_600);
    expect(pools.pool().open).toEqual({ launches: 0, waiting: 0, joined: 0, gpus: 0 });
  });

  test('takes the next job that fits, whichever it was ordered for', async () => {
    const pools = await startWith({ max_launches: 1 });
    const { fleet, memory } = pools;
    const first = await fleet.submit(oneGpu);
    await fleet.clock.advance(5_500);
    await fleet.submit(oneGpu);
    await fleet.cancel(first.jobId);
    await fleet.clock.advance(5 * minute);
    expect(memory.calls.launch).toBe(1);
    expect(countsOf(pools)).toMatchObject({
      completed: 1,
      cancelled: 1,
    });
  });

  test('that waits is ended when its job is cancelled, within 10 s', async () => {
    const pools = await startWith({}, { startMs: hour });
    const { fleet, memory } = pools;
    const { jobId } = await fleet.submit(oneGpu);
    await fleet.clock.advance(20_000);
    expect(statesOf(pools)).toEqual(['waiting']);
    await fleet.cancel(jobId);
    await fleet.clock.advance(10_000);
    expect(memory.live()).toEqual([]);
    await fleet.clock.advance(10_000);
    expect(outcomesOf(pools)).toEqual(['not_needed']);
    // Its worker is gone with it, and so is its token.
    expect(fleet.store.workers()).toEqual([]);
    expect(memory.orders.map(({ joinToken }) => joinToken)).toEqual(['tj_1']);
  });

  test('is ordered for no job that is held, local, or more than the pool has', async () => {
    const pools = await startWith({ gpus: 2 });
    const { fleet, memory } = pools;
    await fleet.submit({ gpu_count: 4 });
    await fleet.submit({ ...oneGpu, requires_approval: true });
    await fleet.submit({ ...oneGpu, worker_labels: { zone: 'moon' } });
    await fleet.clock.advance(2 * minute);
    expect(memory.calls.launch).toBe(0);
  });

  test('gets the labels of the pool, so that jobs can ask for them', async () => {
    const pools = await startWith({ labels: { zone: 'moon' } });
    const { fleet } = pools;
    const { jobId } = await fleet.submit({
      ...oneGpu,
      worker_labels: { zone: 'moon', pool: 'gpu' } as never,
    });
    await fleet.clock.advance(30_000);
    expect(poolLine(pools, jobId)).toEqual([expect.stringContaining('Label')]);
    await fleet.cancel(jobId);
    const other = await fleet.submit({ ...oneGpu, worker_labels: { zone: 'm*' } });
    await fleet.clock.advance(30_000);
    expect(fleet.job(other.jobId).status).toBe('running');
  });

  test('is ordered only after other workers had their time', async () => {
    const pools = await startWith({ after_s: 60 });
    const { fleet, memory } = pools;
    const { jobId } = await fleet.submit(oneGpu);
    await fleet.clock.advance(50_000);
    expect(memory.calls.launch).toBe(0);
    expect(poolLine(pools, jobId)).toEqual([expect.stringMatching(/orders a machine in \d+ s/)]);
    await fleet.clock.advance(20_000);
    expect(memory.calls.launch).toBe(1);
  });

  test('is not ordered for a job that a present worker takes', async () => {
    const pools = await startWith();
    const { fleet, memory } = pools;
    const rig = await fleet.addIdleWorker();
    await fleet.runJob(rig, oneGpu);
    await fleet.clock.advance(minute);
    expect(memory.calls.launch).toBe(0);
  });
});

describe('limits', () => {
  test('hold, whatever waits', async () => {
    const pools = await startWith({ max_launches: 3, max_waiting: 2, max_gpus: 4, gpus: 2 });
    const { fleet, memory } = pools;
    for (let n = 0; n < 6; n += 1) await fleet.submit({ gpu_count: 2 });
    for (let s = 0; s < 60; s += 1) {
      await fleet.clock.advance(5_000);
      const gpus = memory.live().reduce((sum, { order }) => sum + order.gpus, 0);
      expect(gpus).toBeLessThanOrEqual(4);
    }
    expect(countsOf(pools)).toMatchObject({ completed: 6 });
  });

  test('of the queue keep pools from ordering', async () => {
    const pools = await startWith();
    const { fleet, memory } = pools;
    await fleet.orchestrator.queue.limit({ user_max_concurrent: 1 } as never, ada);
    await fleet.submit(oneGpu);
    await fleet.submit(oneGpu);
    await fleet.clock.advance(30_000);
    expect(memory.live()).toHaveLength(1);
  });

  test('of GPU-hours stop orders until the next day', async () => {
    const pools = await startWith({ gpu_hours_per_day: 0.05, idle_s: 0, max_launches: 1 });
    const { fleet, memory, habits } = pools;
    habits.jobMs = 2 * minute;
    const jobs = [];
    for (let n = 0; n < 2; n += 1) jobs.push(await fleet.submit(oneGpu));
    await fleet.clock.advance(5 * minute);
    const { jobId } = await fleet.submit(oneGpu);
    await fleet.clock.advance(minute);
    // The machine of the first job took the second one, too, and is back.
    expect([memory.calls.launch, memory.live().length]).toEqual([1, 0]);
    expect(poolLine(pools, jobId)).toEqual([
      'The pool has used 0.1 of 0.05 GPU-hours today (gpu_hours_per_day)',
    ]);
    await fleet.clock.pause(12 * hour);
    await fleet.clock.advance(20_000);
    expect([memory.calls.launch, fleet.job(jobId).status]).toEqual([2, 'running']);
  });
});

describe('a warm pool', () => {
  test('keeps machines without jobs, and replaces the one that a job takes', async () => {
    const pools = await startWith({ warm: 1, wall_time_s: 600_000 });
    const { fleet, memory } = pools;
    await fleet.clock.advance(20 * minute);
    expect(statesOf(pools)).toEqual(['joined']);
    const { jobId } = await fleet.submit(oneGpu);
    await fleet.clock.advance(20_000);
    expect(fleet.job(jobId).status).toBe('running');
    expect(memory.live()).toHaveLength(2);
    await fleet.clock.advance(10 * minute);
    expect(memory.live()).toHaveLength(1);
  });
});

describe('machines whose workers never register', () => {
  test('are given back, and pause the pool the third time', async () => {
    const pools = await startWith({ join_s: 600, max_launches: 1 });
    const { fleet, memory, habits, pool } = pools;
    habits.joinMs = null;
    const { jobId } = await fleet.submit(oneGpu);
    await fleet.clock.advance(12 * minute);
    expect(outcomesOf(pools).slice(0, 1)).toEqual(['never_joined']);
    expect(pool().paused).toBeNull();
    await fleet.clock.advance(hour);
    expect(outcomesOf(pools)).toEqual(['never_joined', 'never_joined', 'never_joined']);
    expect(pool().paused).toMatchObject({
      by: 'system',
      reason: expect.stringContaining('3 machines in a row'),
    });
    expect(memory.live()).toEqual([]);
    expect(poolLine(pools, jobId)).toEqual([expect.stringContaining('system paused the pool: 3 machines')]);
    // The time that they cost counts.
    expect(pool().usage.gpu_hours_today).toBeCloseTo(0.5, 1);
    habits.joinMs = 1_000;
    valueOf(await fleet.orchestrator.pools.resume(idOf(pools), ada));
    await fleet.clock.advance(30_000);
    expect(fleet.job(jobId).status).toBe('running');
  });

  test('do not count when one of them registers in between', async () => {
    const pools = await startWith({ join_s: 60, max_launches: 1, idle_s: 0 });
    const { fleet, habits, pool } = pools;
    for (const joinMs of [null, null, 1_000, null, null]) {
      habits.joinMs = joinMs;
      const { jobId } = await fleet.submit(oneGpu);
      await fleet.clock.advance(80_000);
      await fleet.cancel(jobId);
      await fleet.clock.advance(minute);
    }
    expect(outcomesOf(pools).filter(outcome => outcome === 'never_joined')).toHaveLength(4);
    expect(pool().paused).toBeNull();
  });
});

describe('a refusal', () => {
  test('for now makes the pool wait, and then try again', async () => {
    const pools = await startWith();
    const { fleet, memory } = pools;
    memory.onLaunch = () => ({ kind: 'refuse', scope: 'temporary', message: 'QOSMaxSubmitJobPerUserLimit' });
    const { jobId } = await fleet.submit(oneGpu);
    const tries: number[] = [];
    for (let n = 0; n < 120; n += 1) {
      const before = memory.calls.launch;
      await fleet.clock.advance(5_000);
      if (memory.calls.launch > before) tries.push(n * 5);
    }
    expect(memory.calls.launch).toBeLessThan(9);
    const waits = tries.slice(1).map((at, index) => at - (tries[index] ?? 0));
    for (const [n, wait] of waits.entries()) {
      expect(wait).toBeGreaterThanOrEqual(15 * 2 ** n);
      expect(wait).toBeLessThanOrEqual(30 * 2 ** n + 10);
    }
    memory.onLaunch = () => ({ kind: 'accept', delayMs: 0 });
    await fleet.clock.advance(10 * minute);
    expect(fleet.job(jobId).status).toBe('completed');
  });

  test('of several orders at once counts once', async () => {
    const pools = await startWith({ max_launches: 8, max_waiting: 8 });
    const { fleet, memory } = pools;
    memory.onLaunch = () => ({ kind: 'refuse', scope: 'temporary', message: 'busy' });
    for (let n = 0; n < 8; n += 1) await fleet.submit(oneGpu);
    await fleet.clock.advance(10_000);
    memory.onLaunch = () => ({ kind: 'accept', delayMs: 0 });
    await fleet.clock.advance(35_000);
    expect(memory.live()).toHaveLength(8);
  });

  test('for good is shown and not repeated before "Try again"', async () => {
    const pools = await startWith({ gpus: 8 });
    const { fleet, memory, pool } = pools;
    memory.onLaunch = ({ gpus }) =>
      gpus > 4
        ? { kind: 'refuse', scope: 'permanent', message: 'Requested node configuration is not available' }
        : { kind: 'accept', delayMs: 0 };
    const { jobId } = await fleet.submit({ gpu_count: 8 });
    const other = await fleet.submit({ gpu_count: 2 });
    await fleet.clock.advance(10 * minute);
    expect(memory.orders.filter(({ gpus }) => gpus === 8)).toHaveLength(1);
    expect(fleet.job(other.jobId).status).toBe('completed');
    expect(pool().impossible).toMatchObject([
      { shape: '8 GPUs', message: 'Requested node configuration is not available' },
    ]);
    expect(poolLine(pools, jobId)).toEqual([expect.stringContaining('The engine refused such a machine')]);
    expect(outcomesOf(pools)).toContain('rejected');
    memory.onLaunch = () => ({ kind: 'accept', delayMs: 0 });
    valueOf(await fleet.orchestrator.pools.resume(idOf(pools), ada));
    await fleet.clock.advance(3 * minute);
    expect(fleet.job(jobId).status).toBe('completed');
  });

  test('for good makes another pool order the machine, and ends with a change of the pool', async () => {
    const pools = await start();
    const { fleet, memory } = pools;
    const strict = pools.addEngine('first');
    strict.onLaunch = () => ({ kind: 'refuse', scope: 'permanent', message: 'no' });
    await pools.addPool({ name: 'first' });
    await pools.addPool({ name: 'second' });
    await fleet.submit(oneGpu);
    await fleet.clock.advance(30_000);
    expect([strict.calls.launch, memory.live().length]).toEqual([1, 1]);
    valueOf(await fleet.orchestrator.pools.update(idOf(pools, 'first'), poolOf({ name: 'first' }), ada));
    await fleet.submit(oneGpu);
    await fleet.clock.advance(30_000);
    expect(strict.calls.launch).toBe(2);
  });
});

describe('an answer that does not arrive', () => {
  test('is not followed by a second order when the launch exists', async () => {
    const pools = await startWith();
    const { fleet, memory } = pools;
    memory.onLaunch = () => ({ kind: 'silent', createsAfterMs: 25_000, delayMs: 10_000 });
    const { jobId } = await fleet.submit(oneGpu);
    await fleet.clock.advance(16_000);
    expect(statesOf(pools)).toEqual(['unclear']);
    await fleet.clock.advance(10 * minute);
    expect(memory.calls.launch).toBe(1);
    expect(fleet.job(jobId).status).toBe('completed');
  });

  test('is followed by a second order only after a list that began 30 s later', async () => {
    const pools = await startWith();
    const { fleet, memory } = pools;
    memory.onLaunch = () => ({ kind: 'silent', createsAfterMs: null, delayMs: 40_000 });
    await fleet.submit(oneGpu);
    await fleet.clock.advance(45_000);
    expect(statesOf(pools)).toEqual(['unclear']);
    await fleet.clock.advance(29_000);
    expect(memory.calls.launch).toBe(1);
    memory.onLaunch = () => ({ kind: 'accept', delayMs: 0 });
    await fleet.clock.advance(12_000);
    expect(memory.calls.launch).toBe(2);
    expect(memory.orders.map(({ launchId }) => launchId)).toEqual(['l1', 'l1']);
    // Each try has a token of its own.
    expect(memory.orders.map(({ joinToken }) => joinToken)).toEqual(['tj_1', 'tj_2']);
  });

  test('is not followed by a second order while lists fail', async () => {
    const pools = await startWith();
    const { fleet, memory } = pools;
    memory.onLaunch = () => ({ kind: 'silent', createsAfterMs: null, delayMs: 0 });
    await fleet.submit(oneGpu);
    await fleet.clock.advance(6_000);
    memory.onList = () => ({ kind: 'fail', delayMs: 0 });
    await fleet.clock.advance(10 * minute);
    expect(memory.calls.launch).toBe(1);
  });
});

describe('a list', () => {
  test('that fails decides nothing, and the pool shows since when', async () => {
    const pools = await startWith();
    const { fleet, memory, pool } = pools;
    const { jobId } = await fleet.submit(oneGpu);
    await fleet.clock.advance(20_000);
    memory.onList = () => ({ kind: 'fail', delayMs: 1_000 });
    await fleet.clock.advance(30_000);
    expect(pool().unreachable).toEqual({
      since: expect.stringMatching(/^2026-01-01T12:00:2/),
      detail: 'The engine does not answer',
    });
    expect(statesOf(pools)).toEqual(['joined']);
    expect(fleet.job(jobId).status).toBe('running');
    const { jobId: next } = await fleet.submit(oneGpu);
    await fleet.clock.advance(10_000);
    expect(memory.calls.launch).toBe(1);
    expect(poolLine(pools, next)).toEqual(['The engine of the pool does not answer']);
    memory.onList = () => ({ kind: 'answer', delayMs: 0 });
    await fleet.clock.advance(10_000);
    expect(pool().unreachable).toBeNull();
    expect(memory.calls.launch).toBe(2);
  });

  test('without the launch ends it the third time, and its job is judged again', async () => {
    const pools = await startWith({ max_launches: 1 }, { keepsEndedMs: 0 });
    const { fleet, memory } = pools;
    const { jobId } = await fleet.submit(oneGpu);
    await fleet.clock.advance(20_000);
    const [allocation] = memory.live();
    if (allocation === undefined) throw new Error('nothing was launched');
    memory.finish(allocation, 'node_failed');
    await fleet.clock.advance(9_000);
    expect(fleet.job(jobId).status).toBe('running');
    await fleet.clock.advance(hour);
    expect(outcomesOf(pools)[0]).toBe('unknown');
    expect(fleet.job(jobId)).toMatchObject({ status: 'completed', attempt: 2 });
  });

  test('without the launch twice ends nothing', async () => {
    const pools = await startWith();
    const { fleet, memory } = pools;
    await fleet.submit(oneGpu);
    await fleet.clock.advance(20_000);
    let omissions = 2;
    memory.onList = () => ({ kind: 'answer', delayMs: 0, omits: () => (omissions -= 1) >= 0 });
    await fleet.clock.advance(30_000);
    expect(statesOf(pools)).toEqual(['joined']);
    expect(omissions).toBeLessThan(0);
  });

  test('that says nothing new is stored nowhere', async () => {
    const pools = await startWith({}, { startMs: hour });
    const { fleet } = pools;
    await fleet.submit(oneGpu);
    await fleet.clock.advance(30_000);
    const before = fleet.events.length;
    await fleet.clock.advance(5 * minute);
    expect(fleet.events.length).toBe(before);
  });

  test('with launches of this fleet that nobody knows ends them the second time', async () => {
    const pools = await startWith();
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

describe('a machine that is taken away', () => {
  const untilNotice = async (saves: boolean) => {
    const pools = await startWith({ wall_time_s: 300, notice_s: 120, max_launches: 1, idle_s: 5 });
    pools.habits.saves = saves;
    pools.habits.jobMs = 4 * minute;
    const { jobId } = await pools.fleet.submit({ ...oneGpu, max_retries: 2 });
    await pools.fleet.clock.advance(150_000);
    pools.habits.jobMs = minute;
    return { ...pools, pools, jobId };
  };

  test('gives notice before its wall time: a saved job returns to the queue for free', async () => {
    const { pools, fleet, jobId } = await untilNotice(true);
    await fleet.clock.advance(10 * minute);
    expect(fleet.job(jobId)).toMatchObject({ status: 'completed', attempt: 2 });
    expect(retriesOf(pools, jobId)).toBe(0);
    expect(outcomesOf(pools)).toEqual(['finished', 'finished']);
  });

  test('costs a retry when the job could not save', async () => {
    const { pools, fleet, jobId } = await untilNotice(false);
    await fleet.clock.advance(10 * minute);
    expect(fleet.job(jobId)).toMatchObject({ status: 'completed', attempt: 2 });
    expect(retriesOf(pools, jobId)).toBe(1);
  });

  test('gets no further job between the notice and its end', async () => {
    const pools = await startWith({ wall_time_s: 300, notice_s: 120, max_launches: 1 });
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
    await fleet.clock.advance(10 * minute);
    expect(fleet.job(jobId).status).toBe('completed');
  });

  test('without a notice loses its job to the next machine, for a retry', async () => {
    const pools = await startWith({ max_launches: 1 });
    const { fleet, memory } = pools;
    const { jobId } = await fleet.submit(oneGpu);
    await fleet.clock.advance(20_000);
    for (const allocation of memory.live()) memory.finish(allocation, 'preempted');
    await fleet.clock.advance(5 * minute);
    expect(outcomesOf(pools)[0]).toBe('preempted');
    expect(fleet.job(jobId)).toMatchObject({ status: 'completed', attempt: 2 });
    expect(retriesOf(pools, jobId)).toBe(1);
  });
});

describe('people', () => {
  test('pause a pool, and end its launches if they want', async () => {
    const pools = await startWith();
    const { fleet, memory } = pools;
    const { jobId } = await fleet.submit(oneGpu);
    await fleet.clock.advance(20_000);
    const pause = (endLaunches: boolean) =>
      fleet.orchestrator.pools.pause(idOf(pools), { reason: 'Repairs', endLaunches }, ada);
    expect(valueOf(await pause(false)).paused).toMatchObject({ by: 'ada', reason: 'Repairs' });
    await fleet.submit(oneGpu);
    await fleet.clock.advance(20_000);
    expect([memory.calls.launch, statesOf(pools)]).toEqual([1, ['joined']]);
    valueOf(await pause(true));
    await fleet.clock.advance(20_000);
    expect(outcomesOf(pools)).toEqual(['cancelled']);
    expect(memory.live()).toEqual([]);
    expect(fleet.job(jobId).status).toBe('pending');
    expect(retriesOf(pools, jobId)).toBe(0);
    expect(poolLine(pools, jobId)).toEqual(['ada paused the pool: Repairs']);
  });

  test('cannot delete a pool with open launches', async () => {
    const pools = await startWith({ idle_s: 0 });
    const { fleet } = pools;
    const id = idOf(pools);
    const { jobId } = await fleet.submit(oneGpu);
    await fleet.clock.advance(20_000);
    expect(refusalOf(await fleet.orchestrator.pools.remove(id, ada))).toEqual({ code: 'pool_in_use' });
    await fleet.cancel(jobId);
    await fleet.clock.advance(minute);
    valueOf(await fleet.orchestrator.pools.remove(id, ada));
    expect(fleet.orchestrator.pools.list()).toEqual([]);
    await fleet.submit(oneGpu);
    await fleet.clock.advance(minute);
    expect(refusalOf(await fleet.orchestrator.pools.remove(id, ada))).toEqual({ code: 'pool_not_found' });
  });

  test('end one launch: its job saves, and runs on another machine', async () => {
    const pools = await startWith();
    const { fleet, launches } = pools;
    const { jobId } = await fleet.submit(oneGpu);
    await fleet.clock.advance(20_000);
    const [launch] = launches();
    if (launch === undefined) throw new Error('nothing was launched');
    const ended = valueOf(await fleet.orchestrator.pools.endLaunch(launch.launch_id, ada));
    expect(ended).toMatchObject({ state: 'ending', detail: 'ada ended it' });
    await fleet.clock.advance(5 * minute);
    expect(outcomesOf(pools)[0]).toBe('cancelled');
    expect(fleet.job(jobId)).toMatchObject({ status: 'completed', attempt: 2 });
    expect(retriesOf(pools, jobId)).toBe(0);
    expect(valueOf(fleet.orchestrator.pools.launch(launch.launch_id))).toMatchObject({ state: 'ended' });
  });

  test('test a paused pool: a machine joins, leaves, and takes no job', async () => {
    const pools = await startWith();
    const { fleet, memory } = pools;
    valueOf(await fleet.orchestrator.pools.pause(idOf(pools), { reason: '', endLaunches: false }, ada));
    const { jobId } = await fleet.submit(oneGpu);
    const launch = valueOf(await fleet.orchestrator.pools.test(idOf(pools), ada));
    expect(launch).toMatchObject({ is_test: true, job_id: null, state: 'wanted' });
    await fleet.clock.advance(2 * minute);
    expect(valueOf(fleet.orchestrator.pools.launch(launch.launch_id))).toMatchObject({
      state: 'ended',
      outcome: 'finished',
      joined_at: expect.any(String),
      machines: ['node-1000'],
    });
    expect(memory.live()).toEqual([]);
    expect(fleet.job(jobId).status).toBe('pending');
  });

  test('cannot have two pools of one name, or more than 50', async () => {
    const pools = await startWith();
    const { orchestrator } = pools.fleet;
    expect(refusalOf(await orchestrator.pools.create(poolOf(), ada))).toEqual({ code: 'name_taken' });
    const other = await pools.addPool({ name: 'other' });
    expect(refusalOf(await orchestrator.pools.update(other.pool_id, poolOf(), ada))).toEqual({
      code: 'name_taken',
    });
    for (let n = 2; n < 50; n += 1) valueOf(await orchestrator.pools.create(poolOf({ name: `p${n}` }), ada));
    expect(refusalOf(await orchestrator.pools.create(poolOf({ name: 'p51' }), ada))).toEqual({
      code: 'invalid_request',
    });
  });

  test('get a refusal for pools and launches that do not exist', async () => {
    const pools = await startWith();
    const { orchestrator } = pools.fleet;
    const calls = orchestrator.pools;
    const id = 'p_none' as never;
    const pause = { reason: '', endLaunches: true };
    const answers = [
      calls.get(id),
      await calls.update(id, poolOf({ name: 'x' }), ada),
      await calls.remove(id, ada),
      await calls.pause(id, pause, ada),
      await calls.resume(id, ada),
      await calls.check(id),
      await calls.test(id, ada),
      calls.launches(id, 5),
    ];
    for (const answer of answers) expect(refusalOf(answer)).toEqual({ code: 'pool_not_found' });
    expect(refusalOf(calls.launch('l9' as never))).toEqual({ code: 'launch_not_found' });
    expect(refusalOf(await calls.endLaunch('l9' as never, ada))).toEqual({ code: 'launch_not_found' });
    expect(valueOf(await calls.check(idOf(pools)))).toMatchObject({ ok: true });
  });
});

test('explains what each pool does about a job', async () => {
  const pools = await startWith({}, { startMs: hour });
  const { fleet } = pools;
  await pools.addPool({ name: 'tiny', gpus: 0 });
  await pools.addPool({ name: 'third' });
  const { jobId } = await fleet.submit(oneGpu);
  expect(poolLine(pools, jobId)).toEqual([
    'The pool orders a machine for it',
    expect.stringContaining('GPUs: the job needs 1, it has 0'),
    expect.any(String),
  ]);
  await fleet.clock.advance(10_000);
  expect(poolLine(pools, jobId)).toEqual([
    expect.stringMatching(
      /^Requested from pool gpu at .* \(id 1000\): waiting for a free machine \(\(Resources\)\); expected to start at /,
    ),
    expect.stringContaining('GPUs: the job needs 1, it has 0'),
    'Another pool provides its machine',
  ]);
  expect(fleet.job(jobId)).toMatchObject({
    wait: { code: 'requested', params: { pool: 'gpu', state: 'waiting' } },
  });
});
