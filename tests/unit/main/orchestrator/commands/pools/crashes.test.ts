// Runs the same job many times, and kills the orchestrator at a different point in each run. The points are before and
// after each write to the database and each call of the engine.
import { expect, test } from 'vitest';
import type { FleetPoint } from '../../../../../support/fleet.ts';
import { createPoolFleet } from '../../../../../support/pool-fleet.ts';

interface RunResult {
  /** Number of points of the run at which the orchestrator can be killed. */
  readonly points: number;
  readonly launches: number;
  readonly status: string;
  readonly retries: number | undefined;
  readonly open: number;
}

/**
 * Runs one job on an ordered machine until the machine has ended. Kills the orchestrator at the point `killAt`,
 * counted from 1. With 0, the orchestrator is not killed.
 */
async function run(killAt: number): Promise<RunResult> {
  let points = 0;
  let isArmed = false;
  let isDead = false;
  const onPoint = (_point: FleetPoint): void => {
    if (!isArmed || isDead) return;
    points += 1;
    if (points !== killAt) return;
    isDead = true;
    pools.kill();
  };
  const pools = await createPoolFleet({ onPoint, startMs: 3_000 });
  const { fleet, memory, habits } = pools;
  habits.jobMs = 10_000;
  await pools.addPool({ idle_s: 10, max_launches: 1 });
  const { jobId } = await fleet.submit({ gpu_count: 1 });
  isArmed = true;
  for (let second = 0; second < 150; second += 1) {
    await fleet.clock.advance(1_000);
    if (!isDead) continue;
    isArmed = false;
    isDead = false;
    await pools.restart({ crash: true, awayMs: 2_000 });
  }
  const openIds = new Set(fleet.store.openLaunches().map(({ id }) => id));
  expect(memory.findLeaks(id => openIds.has(id))).toEqual([]);
  const result = {
    points,
    launches: memory.allocations.length,
    status: fleet.job(jobId).status,
    retries: fleet.store.job(jobId)?.retriesUsed,
    open: openIds.size,
  };
  await pools.close();
  return result;
}

test('orders exactly one machine for a job, and leaks no machine, wherever the orchestrator is killed', async () => {
  const expected = { launches: 1, status: 'completed', retries: 0, open: 0 };
  const { points: pointCount, ...resultWithoutKill } = await run(0);
  expect(resultWithoutKill).toEqual(expected);
  expect(pointCount).toBeGreaterThan(100);
  const failures: unknown[] = [];
  for (let point = 1; point <= pointCount; point += 1) {
    const { points: _, ...result } = await run(point);
    if (JSON.stringify(result) !== JSON.stringify(expected)) failures.push({ point, ...result });
  }
  expect(failures).toEqual([]);
}, 300_000);
