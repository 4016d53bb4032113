// Kills the orchestrator at every point between a row and an engine, one after the other.
import { expect, test } from 'vitest';
import type { FleetPoint } from '../../../../../support/fleet.ts';
import { createPoolFleet } from '../../../../../support/pool-fleet.ts';

interface Told {
  readonly points: number;
  readonly launches: number;
  readonly status: string;
  readonly retries: number | undefined;
  readonly open: number;
}

/** Runs one job on an ordered machine until the machine is back. Kills the orchestrator at the point with this number. */
async function run(killAt: number): Promise<Told> {
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
  for (let s = 0; s < 150; s += 1) {
    await fleet.clock.advance(1_000);
    if (!isDead) continue;
    isArmed = false;
    isDead = false;
    await pools.restart({ crash: true, awayMs: 2_000 });
  }
  const openIds = new Set(fleet.store.openLaunches().map(({ id }) => id));
  expect(memory.findLeaks(id => openIds.has(id))).toEqual([]);
  const told = {
    points,
    launches: memory.allocations.length,
    status: fleet.job(jobId).status,
    retries: fleet.store.job(jobId)?.retriesUsed,
    open: openIds.size,
  };
  await pools.close();
  return told;
}

test('orders exactly one machine for a job and leaks none, at whatever point the orchestrator is killed', async () => {
  const calm = await run(0);
  expect(calm).toMatchObject({ launches: 1, status: 'completed', retries: 0, open: 0 });
  expect(calm.points).toBeGreaterThan(100);
  const wrong: unknown[] = [];
  for (let point = 1; point <= calm.points; point += 1) {
    const { points: _, ...told } = await run(point);
    if (JSON.stringify(told) !== JSON.stringify({ launches: 1, status: 'completed', retries: 0, open: 0 }))
      wrong.push({ point, ...told });
  }
  expect(wrong).toEqual([]);
}, 300_000);
