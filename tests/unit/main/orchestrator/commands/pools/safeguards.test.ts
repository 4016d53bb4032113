import { describe, expect, test } from 'vitest';
import { ada } from '../../../../../support/fleet.ts';
import { refusalOf, valueOf } from '../../../../../support/fleet-outcome.ts';
import { poolOf } from '../../../../../support/pool-fleet.ts';
import { hour, idOf, minute, oneGpu, outcomesOf, startWith, statesOf } from '../../pool-fixture.ts';

test('ends a launch within 10 s after its order is answered, if its job was cancelled meanwhile', async () => {
  const pools = await startWith({}, { startMs: hour });
  const { fleet, memory } = pools;
  memory.onLaunch = () => ({ kind: 'accept', delayMs: 20_000 });
  const { jobId } = await fleet.submit(oneGpu);
  await fleet.clock.advance(6_000);
  expect(statesOf(pools)).toEqual(['submitting']);
  await fleet.cancel(jobId);
  await fleet.clock.advance(20_000);
  expect(statesOf(pools)).toEqual(['ending']);
  await fleet.clock.advance(10_000);
  expect(memory.live()).toEqual([]);
});

test('records a lost order as not found, and not as refused', async () => {
  const { fleet, memory } = await startWith();
  memory.onLaunch = () => ({ kind: 'silent', createsAfterMs: null, delayMs: 1_000 });
  await fleet.submit(oneGpu);
  await fleet.clock.advance(minute);
  const types = fleet.audit().map(({ type }) => type);
  expect(types).toContain('launch.not_found');
  expect(types).not.toContain('launch.refused');
});

test('refuses a second test of a pool while the first one has a machine', async () => {
  const pools = await startWith({}, { startMs: hour });
  const { orchestrator, clock } = pools.fleet;
  const first = valueOf(await orchestrator.pools.test(idOf(pools), ada));
  expect(refusalOf(await orchestrator.pools.test(idOf(pools), ada))).toEqual({ code: 'pool_in_use' });
  valueOf(await orchestrator.pools.endLaunch(first.launch_id, ada));
  await clock.advance(10_000);
  valueOf(await orchestrator.pools.test(idOf(pools), ada));
});

test('refuses another engine for a pool with open launches, and takes other limits', async () => {
  const pools = await startWith();
  const { orchestrator, clock, submit } = pools.fleet;
  await submit(oneGpu);
  await clock.advance(10_000);
  const change = (changes: Parameters<typeof poolOf>[0]) =>
    orchestrator.pools.update(idOf(pools), poolOf(changes), ada);
  const other = { kind: 'command', programs: 'other' } as const;
  expect(refusalOf(await change({ engine: other }))).toEqual({ code: 'pool_in_use' });
  expect(valueOf(await change({ max_launches: 9 })).settings.max_launches).toBe(9);
  await clock.advance(hour);
  expect(valueOf(await change({ engine: other })).engine).toEqual(other);
});

test('writes no shell lines of a pool to the audit trail, because they can contain secrets', async () => {
  const secret = { setup: 'export HF_TOKEN=hf_secret', worker_options: '--env WANDB=wb_secret' };
  const pools = await startWith(secret);
  await pools.fleet.orchestrator.pools.update(idOf(pools), poolOf({ ...secret, max_launches: 9 }), ada);
  const trail = JSON.stringify(pools.fleet.audit());
  expect(trail).toContain('max_launches');
  expect(trail).not.toContain('secret');
});

describe('a launch that waits for the pool after a refusal', () => {
  const refused = async (settings: Parameters<typeof startWith>[0]) => {
    const pools = await startWith(settings);
    pools.memory.onLaunch = () => ({ kind: 'refuse', scope: 'temporary', message: 'busy' });
    await pools.fleet.submit(oneGpu);
    await pools.fleet.clock.advance(6_000);
    expect(statesOf(pools)).toEqual(['wanted']);
    pools.memory.onLaunch = () => ({ kind: 'accept', delayMs: 0 });
    return pools;
  };

  test('is ended when the hours are over, and ordered anew when they begin', async () => {
    // The clock of the tests starts at 12:00.
    const pools = await refused({ hours: { from: '11:00', to: '12:01' } });
    const { memory, fleet } = pools;
    // The back-off lasts until the hours are over, for example because the orchestrator was paused.
    await fleet.clock.pause(2 * minute);
    await fleet.clock.advance(10 * minute);
    expect([memory.calls.launch, outcomesOf(pools)]).toEqual([1, ['not_needed']]);
    await fleet.clock.pause(23 * hour);
    await fleet.clock.advance(minute);
    expect(memory.orders.map(({ launchId }) => launchId)).toEqual(['l1', 'l2']);
  });

  test('is not submitted when the GPU-hours of the day are used', async () => {
    const pools = await refused({ gpu_hours_per_day: 1 });
    const { memory, fleet } = pools;
    const changes = { gpu_hours_per_day: 0 };
    valueOf(await fleet.orchestrator.pools.update(idOf(pools), poolOf(changes), ada));
    await fleet.clock.advance(10 * minute);
    expect(memory.calls.launch).toBe(1);
  });
});

describe('the time to register', () => {
  const unregistered = async () => {
    const pools = await startWith({ join_s: 60, max_launches: 1 });
    pools.habits.joinMs = null;
    await pools.fleet.submit(oneGpu);
    await pools.fleet.clock.advance(40_000);
    expect(statesOf(pools)).toEqual(['running']);
    return pools;
  };

  test('begins again after a restart of the orchestrator', async () => {
    const pools = await unregistered();
    await pools.restart({ awayMs: hour });
    await pools.fleet.clock.advance(50_000);
    expect(statesOf(pools)).toEqual(['running']);
    await pools.fleet.clock.advance(20_000);
    expect(outcomesOf(pools)[0]).toBe('never_joined');
  });

  test('begins again after a long pause of the orchestrator', async () => {
    const pools = await unregistered();
    await pools.fleet.clock.pause(hour);
    await pools.fleet.clock.advance(50_000);
    expect(statesOf(pools)).toEqual(['running']);
    await pools.fleet.clock.advance(20_000);
    expect(outcomesOf(pools)[0]).toBe('never_joined');
  });
});
