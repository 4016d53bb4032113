import { describe, expect, test } from 'vitest';
import { ada } from '../../../../../support/fleet.ts';
import { refusalOf, valueOf } from '../../../../../support/fleet-outcome.ts';
import { poolOf } from '../../../../../support/pool-fleet.ts';
import {
  hourMs,
  poolIdOf,
  minuteMs,
  oneGpu,
  launchOutcomes,
  openPool,
  launchStates,
} from '../../pool-fixture.ts';

test('ends a launch within 10 s after the engine accepts the order when the job was cancelled during the order', async () => {
  const pools = await openPool({}, { startMs: hourMs });
  const { fleet, memory } = pools;
  memory.onLaunch = () => ({ kind: 'accept', delayMs: 20_000 });
  const { jobId } = await fleet.submit(oneGpu);
  await fleet.clock.advance(6_000);
  expect(launchStates(pools)).toEqual(['submitting']);
  await fleet.cancel(jobId);
  await fleet.clock.advance(20_000);
  expect(launchStates(pools)).toEqual(['ending']);
  await fleet.clock.advance(10_000);
  expect(memory.live()).toEqual([]);
});

test('records launch.not_found, not launch.refused, for a launch that the engine does not know', async () => {
  const { fleet, memory } = await openPool();
  memory.onLaunch = () => ({ kind: 'silent', createsAfterMs: null, delayMs: 1_000 });
  await fleet.submit(oneGpu);
  await fleet.clock.advance(minuteMs);
  const types = fleet.audit().map(({ type }) => type);
  expect(types).toContain('launch.not_found');
  expect(types).not.toContain('launch.refused');
});

test('refuses a second test of a pool while the launch of the first test is open', async () => {
  const pools = await openPool({}, { startMs: hourMs });
  const { orchestrator, clock } = pools.fleet;
  const first = valueOf(await orchestrator.pools.test(poolIdOf(pools), ada));
  expect(refusalOf(await orchestrator.pools.test(poolIdOf(pools), ada))).toEqual({ code: 'pool_in_use' });
  valueOf(await orchestrator.pools.endLaunch(first.launch_id, ada));
  await clock.advance(10_000);
  valueOf(await orchestrator.pools.test(poolIdOf(pools), ada));
});

test('refuses another engine for a pool with open launches, but accepts other limits', async () => {
  const pools = await openPool();
  const { orchestrator, clock, submit } = pools.fleet;
  await submit(oneGpu);
  await clock.advance(10_000);
  const change = (changes: Parameters<typeof poolOf>[0]) =>
    orchestrator.pools.update(poolIdOf(pools), poolOf(changes), ada);
  const otherEngine = { kind: 'command', programs: 'other' } as const;
  expect(refusalOf(await change({ engine: otherEngine }))).toEqual({ code: 'pool_in_use' });
  expect(valueOf(await change({ max_launches: 9 })).settings.max_launches).toBe(9);
  await clock.advance(hourMs);
  expect(valueOf(await change({ engine: otherEngine })).engine).toEqual(otherEngine);
});

test('writes no shell lines of a pool to the audit trail, because they can contain secrets', async () => {
  const settings = { setup: 'export HF_TOKEN=hf_secret', worker_options: '--env WANDB=wb_secret' };
  const pools = await openPool(settings);
  await pools.fleet.orchestrator.pools.update(poolIdOf(pools), poolOf({ ...settings, max_launches: 9 }), ada);
  const trail = JSON.stringify(pools.fleet.audit());
  expect(trail).toContain('max_launches');
  expect(trail).not.toContain('secret');
});

describe('a launch that waits after a temporary refusal', () => {
  const openRefused = async (settings: Parameters<typeof openPool>[0]) => {
    const pools = await openPool(settings);
    pools.memory.onLaunch = () => ({ kind: 'refuse', scope: 'temporary', message: 'busy' });
    await pools.fleet.submit(oneGpu);
    await pools.fleet.clock.advance(6_000);
    expect(launchStates(pools)).toEqual(['wanted']);
    pools.memory.onLaunch = () => ({ kind: 'accept', delayMs: 0 });
    return pools;
  };

  test('ends the launch when the hours of the pool end, and orders a new launch when the hours begin again', async () => {
    // The clock of the tests starts at 12:00.
    const pools = await openRefused({ hours: { from: '11:00', to: '12:01' } });
    const { memory, fleet } = pools;
    // The back-off lasts until the hours are over, for example because the orchestrator was paused.
    await fleet.clock.pause(2 * minuteMs);
    await fleet.clock.advance(10 * minuteMs);
    expect([memory.calls.launch, launchOutcomes(pools)]).toEqual([1, ['not_needed']]);
    await fleet.clock.pause(23 * hourMs);
    await fleet.clock.advance(minuteMs);
    expect(memory.orders.map(({ launchId }) => launchId)).toEqual(['l1', 'l2']);
  });

  test('does not order the machine again when the GPU-hours of the day are used', async () => {
    const pools = await openRefused({ gpu_hours_per_day: 1 });
    const { memory, fleet } = pools;
    const changes = { gpu_hours_per_day: 0 };
    valueOf(await fleet.orchestrator.pools.update(poolIdOf(pools), poolOf(changes), ada));
    await fleet.clock.advance(10 * minuteMs);
    expect(memory.calls.launch).toBe(1);
  });
});

describe('the time to register', () => {
  const openUnregistered = async () => {
    const pools = await openPool({ join_s: 60, max_launches: 1 });
    pools.habits.joinMs = null;
    await pools.fleet.submit(oneGpu);
    await pools.fleet.clock.advance(40_000);
    expect(launchStates(pools)).toEqual(['running']);
    return pools;
  };

  test('restarts the time to register after a restart of the orchestrator', async () => {
    const pools = await openUnregistered();
    await pools.restart({ awayMs: hourMs });
    await pools.fleet.clock.advance(50_000);
    expect(launchStates(pools)).toEqual(['running']);
    await pools.fleet.clock.advance(20_000);
    expect(launchOutcomes(pools)[0]).toBe('never_joined');
  });

  test('restarts the time to register after a long pause of the orchestrator', async () => {
    const pools = await openUnregistered();
    await pools.fleet.clock.pause(hourMs);
    await pools.fleet.clock.advance(50_000);
    expect(launchStates(pools)).toEqual(['running']);
    await pools.fleet.clock.advance(20_000);
    expect(launchOutcomes(pools)[0]).toBe('never_joined');
  });
});
