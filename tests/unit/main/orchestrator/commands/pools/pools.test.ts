import { describe, expect, test } from 'vitest';
import { ada } from '../../../../../support/fleet.ts';
import { refusalOf, valueOf } from '../../../../../support/fleet-outcome.ts';
import { poolOf } from '../../../../../support/pool-fleet.ts';
import {
  jobCounts,
  hourMs,
  poolIdOf,
  minuteMs,
  oneGpu,
  launchOutcomes,
  poolDetails,
  retriesOf,
  openPool,
  launchStates,
} from '../../pool-fixture.ts';

describe('ordering machines', () => {
  test('orders a machine for a job, runs the job there, and ends the machine once it is idle', async () => {
    const pools = await openPool();
    const { fleet, memory, launches } = pools;
    const { jobId } = await fleet.submit(oneGpu);
    await fleet.clock.advance(10_000);
    expect(fleet.job(jobId).status).toBe('running');
    expect(launches()).toMatchObject([{ state: 'joined', job_id: jobId, gpus: 1, engine_id: '1000' }]);
    await fleet.clock.advance(minuteMs);
    expect(fleet.job(jobId).status).toBe('completed');
    expect(launchStates(pools)).toEqual(['joined']);
    await fleet.clock.advance(150_000);
    expect(launches()).toMatchObject([{ state: 'ended', outcome: 'finished', is_test: false }]);
    expect(memory.live()).toEqual([]);
    expect(memory.calls.launch).toBe(1);
    expect(pools.pool().usage.gpu_hours_today).toBeGreaterThan(60 / 3_600);
    expect(pools.pool().open).toEqual({ launches: 0, waiting: 0, joined: 0, gpus: 0 });
  });

  test('gives a machine the next job that fits, even if the machine was ordered for another job', async () => {
    const pools = await openPool({ max_launches: 1 });
    const { fleet, memory } = pools;
    const first = await fleet.submit(oneGpu);
    await fleet.clock.advance(5_500);
    await fleet.submit(oneGpu);
    await fleet.cancel(first.jobId);
    await fleet.clock.advance(5 * minuteMs);
    expect(memory.calls.launch).toBe(1);
    expect(jobCounts(pools)).toMatchObject({
      completed: 1,
      cancelled: 1,
    });
  });

  test('ends a waiting launch within 10 s after its job is cancelled', async () => {
    const pools = await openPool({}, { startMs: hourMs });
    const { fleet, memory } = pools;
    const { jobId } = await fleet.submit(oneGpu);
    await fleet.clock.advance(20_000);
    expect(launchStates(pools)).toEqual(['waiting']);
    await fleet.cancel(jobId);
    await fleet.clock.advance(10_000);
    expect(memory.live()).toEqual([]);
    await fleet.clock.advance(10_000);
    expect(launchOutcomes(pools)).toEqual(['not_needed']);
    // The worker of the launch was removed with its join token, and no other token was issued.
    expect(fleet.store.workers()).toEqual([]);
    expect(memory.orders.map(({ joinToken }) => joinToken)).toEqual(['tj_1']);
  });

  test('orders no machine for a job that is too large for the pool, needs approval, or requires other labels', async () => {
    const pools = await openPool({ gpus: 2 });
    const { fleet, memory } = pools;
    await fleet.submit({ gpu_count: 4 });
    await fleet.submit({ ...oneGpu, requires_approval: true });
    await fleet.submit({ ...oneGpu, worker_labels: { zone: 'moon' } });
    await fleet.clock.advance(2 * minuteMs);
    expect(memory.calls.launch).toBe(0);
  });

  test('gives workers the labels of the pool, so that jobs can require these labels', async () => {
    const pools = await openPool({ labels: { zone: 'moon' } });
    const { fleet } = pools;
    const { jobId } = await fleet.submit({
      ...oneGpu,
      worker_labels: { zone: 'moon', pool: 'gpu' },
    });
    await fleet.clock.advance(30_000);
    expect(poolDetails(pools, jobId)).toEqual([expect.stringContaining('Label')]);
    await fleet.cancel(jobId);
    const other = await fleet.submit({ ...oneGpu, worker_labels: { zone: 'm*' } });
    await fleet.clock.advance(30_000);
    expect(fleet.job(other.jobId).status).toBe('running');
  });

  test('orders a machine only after the job has waited for after_s seconds', async () => {
    const pools = await openPool({ after_s: 60 });
    const { fleet, memory } = pools;
    const { jobId } = await fleet.submit(oneGpu);
    await fleet.clock.advance(50_000);
    expect(memory.calls.launch).toBe(0);
    expect(poolDetails(pools, jobId)).toEqual([expect.stringMatching(/orders a machine in \d+ s/)]);
    await fleet.clock.advance(20_000);
    expect(memory.calls.launch).toBe(1);
  });

  test('orders no machine for a job that a connected worker takes', async () => {
    const pools = await openPool();
    const { fleet, memory } = pools;
    const rig = await fleet.addIdleWorker();
    await fleet.runJob(rig, oneGpu);
    await fleet.clock.advance(minuteMs);
    expect(memory.calls.launch).toBe(0);
  });
});

describe('limits of pools', () => {
  test('never exceeds max_launches, max_waiting and max_gpus', async () => {
    const pools = await openPool({ max_launches: 3, max_waiting: 2, max_gpus: 4, gpus: 2 });
    const { fleet, memory } = pools;
    for (let n = 0; n < 6; n += 1) await fleet.submit({ gpu_count: 2 });
    for (let n = 0; n < 60; n += 1) {
      await fleet.clock.advance(5_000);
      const gpus = memory.live().reduce((sum, { order }) => sum + order.gpus, 0);
      expect(gpus).toBeLessThanOrEqual(4);
    }
    expect(jobCounts(pools)).toMatchObject({ completed: 6 });
  });

  test('orders no machine for a job that a queue limit keeps pending', async () => {
    const pools = await openPool();
    const { fleet, memory } = pools;
    await fleet.orchestrator.queue.limit({ user_max_concurrent: 1 }, ada);
    await fleet.submit(oneGpu);
    await fleet.submit(oneGpu);
    await fleet.clock.advance(30_000);
    expect(memory.live()).toHaveLength(1);
  });

  test('orders no machine until the next day once the GPU-hours of the day are used', async () => {
    const pools = await openPool({ gpu_hours_per_day: 0.05, idle_s: 0, max_launches: 1 });
    const { fleet, memory, habits } = pools;
    habits.jobMs = 2 * minuteMs;
    for (let n = 0; n < 2; n += 1) await fleet.submit(oneGpu);
    await fleet.clock.advance(5 * minuteMs);
    const { jobId } = await fleet.submit(oneGpu);
    await fleet.clock.advance(minuteMs);
    // The machine of the first job ran the second job, too, and has ended.
    expect([memory.calls.launch, memory.live().length]).toEqual([1, 0]);
    expect(poolDetails(pools, jobId)).toEqual([
      'The pool has used 0.1 of 0.05 GPU-hours today (gpu_hours_per_day)',
    ]);
    await fleet.clock.pause(12 * hourMs);
    await fleet.clock.advance(20_000);
    expect([memory.calls.launch, fleet.job(jobId).status]).toEqual([2, 'running']);
  });
});

describe('a warm pool', () => {
  test('keeps one machine of a warm pool idle, and orders a new machine when a job takes the idle machine', async () => {
    const pools = await openPool({ warm: 1, wall_time_s: 600_000 });
    const { fleet, memory } = pools;
    await fleet.clock.advance(20 * minuteMs);
    expect(launchStates(pools)).toEqual(['joined']);
    const { jobId } = await fleet.submit(oneGpu);
    await fleet.clock.advance(20_000);
    expect(fleet.job(jobId).status).toBe('running');
    expect(memory.live()).toHaveLength(2);
    await fleet.clock.advance(10 * minuteMs);
    expect(memory.live()).toHaveLength(1);
  });
});

describe('requests of users', () => {
  test('pauses a pool, and also ends its launches on request', async () => {
    const pools = await openPool();
    const { fleet, memory } = pools;
    const { jobId } = await fleet.submit(oneGpu);
    await fleet.clock.advance(20_000);
    const pause = (endLaunches: boolean) =>
      fleet.orchestrator.pools.pause(poolIdOf(pools), { reason: 'Repairs', endLaunches }, ada);
    expect(valueOf(await pause(false)).paused).toMatchObject({ by: 'ada', reason: 'Repairs' });
    await fleet.submit(oneGpu);
    await fleet.clock.advance(20_000);
    expect([memory.calls.launch, launchStates(pools)]).toEqual([1, ['joined']]);
    valueOf(await pause(true));
    await fleet.clock.advance(20_000);
    expect(launchOutcomes(pools)).toEqual(['cancelled']);
    expect(memory.live()).toEqual([]);
    expect(fleet.job(jobId).status).toBe('pending');
    expect(retriesOf(pools, jobId)).toBe(0);
    expect(poolDetails(pools, jobId)).toEqual(['ada paused the pool: Repairs']);
  });

  test('refuses to delete a pool with open launches', async () => {
    const pools = await openPool({ idle_s: 0 });
    const { fleet } = pools;
    const id = poolIdOf(pools);
    const { jobId } = await fleet.submit(oneGpu);
    await fleet.clock.advance(20_000);
    expect(refusalOf(await fleet.orchestrator.pools.remove(id, ada))).toEqual({ code: 'pool_in_use' });
    await fleet.cancel(jobId);
    await fleet.clock.advance(minuteMs);
    valueOf(await fleet.orchestrator.pools.remove(id, ada));
    expect(fleet.orchestrator.pools.list()).toEqual([]);
    await fleet.submit(oneGpu);
    await fleet.clock.advance(minuteMs);
    expect(refusalOf(await fleet.orchestrator.pools.remove(id, ada))).toEqual({ code: 'pool_not_found' });
  });

  test('ends a launch on request, and runs its saved job on another machine', async () => {
    const pools = await openPool();
    const { fleet, launches } = pools;
    const { jobId } = await fleet.submit(oneGpu);
    await fleet.clock.advance(20_000);
    const [launch] = launches();
    if (launch === undefined) throw new Error('nothing was launched');
    const ended = valueOf(await fleet.orchestrator.pools.endLaunch(launch.launch_id, ada));
    expect(ended).toMatchObject({ state: 'ending', detail: 'ada ended it' });
    await fleet.clock.advance(5 * minuteMs);
    expect(launchOutcomes(pools)[0]).toBe('cancelled');
    expect(fleet.job(jobId)).toMatchObject({ status: 'completed', attempt: 2 });
    expect(retriesOf(pools, jobId)).toBe(0);
    expect(valueOf(fleet.orchestrator.pools.launch(launch.launch_id))).toMatchObject({ state: 'ended' });
  });

  test('tests a paused pool with a machine whose worker registers, takes no job, and leaves', async () => {
    const pools = await openPool();
    const { fleet, memory } = pools;
    valueOf(await fleet.orchestrator.pools.pause(poolIdOf(pools), { reason: '', endLaunches: false }, ada));
    const { jobId } = await fleet.submit(oneGpu);
    const launch = valueOf(await fleet.orchestrator.pools.test(poolIdOf(pools), ada));
    expect(launch).toMatchObject({ is_test: true, job_id: null, state: 'wanted' });
    await fleet.clock.advance(2 * minuteMs);
    expect(valueOf(fleet.orchestrator.pools.launch(launch.launch_id))).toMatchObject({
      state: 'ended',
      outcome: 'finished',
      joined_at: expect.any(String),
      machines: ['node-1000'],
    });
    expect(memory.live()).toEqual([]);
    expect(fleet.job(jobId).status).toBe('pending');
  });

  test('refuses a second pool of the same name, and more than 50 pools', async () => {
    const pools = await openPool();
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

  test('refuses calls for pools and launches that do not exist', async () => {
    const pools = await openPool();
    const { orchestrator } = pools.fleet;
    const { pools: calls } = orchestrator;
    const id = 'p_none' as never;
    const pause = { reason: '', endLaunches: true };
    const outcomes = [
      calls.get(id),
      await calls.update(id, poolOf({ name: 'x' }), ada),
      await calls.remove(id, ada),
      await calls.pause(id, pause, ada),
      await calls.resume(id, ada),
      await calls.check(id),
      await calls.test(id, ada),
      calls.launches(id, 5),
    ];
    for (const outcome of outcomes) expect(refusalOf(outcome)).toEqual({ code: 'pool_not_found' });
    expect(refusalOf(calls.launch('l9' as never))).toEqual({ code: 'launch_not_found' });
    expect(refusalOf(await calls.endLaunch('l9' as never, ada))).toEqual({ code: 'launch_not_found' });
    expect(valueOf(await calls.check(poolIdOf(pools)))).toMatchObject({ ok: true });
  });
});

test('explains for each pool whether it orders a machine for a job', async () => {
  const pools = await openPool({}, { startMs: hourMs });
  const { fleet } = pools;
  await pools.addPool({ name: 'tiny', gpus: 0 });
  await pools.addPool({ name: 'third' });
  const { jobId } = await fleet.submit(oneGpu);
  expect(poolDetails(pools, jobId)).toEqual([
    'The pool orders a machine for it',
    expect.stringContaining('GPUs: the job needs 1, it has 0'),
    expect.any(String),
  ]);
  await fleet.clock.advance(10_000);
  expect(poolDetails(pools, jobId)).toEqual([
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

test('orders a machine for the first job in the queue when more jobs wait than the pool may launch', async () => {
  const pools = await openPool({ max_launches: 1 }, { startMs: hourMs });
  const { fleet } = pools;
  const low = await fleet.submit({ ...oneGpu, priority: 'low' });
  const high = await fleet.submit({ ...oneGpu, priority: 'high' });
  await fleet.clock.advance(10_000);
  expect(poolDetails(pools, high.jobId)).toEqual([expect.stringContaining('Requested from pool gpu')]);
  expect(poolDetails(pools, low.jobId)).toEqual([
    expect.stringContaining('which is its limit (max_launches)'),
  ]);
});
