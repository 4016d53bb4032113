import type { LaunchId, PoolId } from '../../../protocol/ids.ts';
import { applyLaunchEvent } from '../commands/pools/launches.ts';
import { planLaunches } from '../commands/pools/upkeep.ts';
import { enqueueCommand } from '../commands/command.ts';
import type { Core } from '../core.ts';
import type { MonoMs, WallMs } from '../model.ts';
import type { ContactOf, Pool } from '../pool-model.ts';
import type { EngineOf, Sighting, Tx } from '../ports/index.ts';
import { grantGrace } from './health.ts';
import { createLaunchCalls } from './launch-calls.ts';

/** Interval of the loop in ms. */
const lookMs = 5_000;
/** Interval in ms of the list requests to the engine of a pool without open launches. */
const calmListMs = 60_000;
/** After this many lists in a row with an unknown launch of this fleet, the orchestrator ends that launch. */
const maxOrphanSightings = 2;

export interface PoolLoop {
  readonly contactOf: ContactOf;
  /** Checks the pools immediately, because one was created or changed. */
  lookNow(): void;
  stop(): void;
}

interface Watch {
  isListing: boolean;
  /** When the newest complete list was requested; null before the first. */
  listedAt: MonoMs | null;
  failure: { readonly since: WallMs; readonly detail: string } | null;
  /** For each unknown launch of this fleet: the number of lists in a row that contained it. */
  readonly orphans: Map<LaunchId, number>;
}

/**
 * Creates the loop that synchronizes launches with engines. It applies the list of each engine, orders the machines that
 * jobs need, and ends launches that are not needed. Each pool has its own list request, so a slow engine delays no other
 * pool.
 */
export function createPoolLoop(core: Core, engineOf: EngineOf, takeLongPause: () => boolean): PoolLoop {
  const watches = new Map<PoolId, Watch>();
  const contactOf: ContactOf = id => {
    const watch = watches.get(id);
    return { failure: watch?.failure ?? null, isKnown: (watch?.listedAt ?? null) !== null };
  };
  const carryOut = createLaunchCalls(core, engineOf, contactOf);
  let cancelAlarm = (): void => {};
  let stopped = false;

  const watchOf = (id: PoolId): Watch => {
    const watch = watches.get(id) ?? { isListing: false, listedAt: null, failure: null, orphans: new Map() };
    watches.set(id, watch);
    return watch;
  };

  function look(): void {
    if (stopped) return;
    // The health loop may notice the pause later than this loop.
    if (takeLongPause()) grantGrace(core);
    cancelAlarm();
    cancelAlarm = core.clock.after(lookMs, look);
    const pools = core.store.pools();
    const poolIds = new Set(pools.map(({ id }) => id));
    for (const id of watches.keys()) if (!poolIds.has(id)) watches.delete(id);
    if (pools.length === 0) return;
    const open = new Set(core.store.openLaunches().map(({ poolId }) => poolId));
    for (const pool of pools) if (isDue(core, watchOf(pool.id), open.has(pool.id))) void list(pool);
    plan();
  }

  /** Plans launches in a transaction. The engines are called after the commit. */
  function plan(): void {
    if (stopped || !core.store.acceptsWrites()) return;
    enqueueCommand(core, tx => {
      planLaunches(core, tx, contactOf);
      tx.afterCommit(carryOut);
    });
  }

  async function list(pool: Pool): Promise<void> {
    const watch = watchOf(pool.id);
    const begun = { mono: core.clock.mono(), wall: core.time.now() };
    watch.isListing = true;
    try {
      const sightings = await engineOf(pool).list();
      if (stopped) return;
      await core.store.write(tx => reconcile(core, tx, pool.id, sightings, begun.wall));
      watch.listedAt = begun.mono;
      watch.failure = null;
      endOrphans(core, engineOf, pool, watch, sightings);
      plan();
    } catch (cause) {
      // A failed list changes no launch, because all launches may still run.
      if (watch.failure === null) core.log.warn('pool.unreachable', { pool: pool.name, cause });
      const detail = cause instanceof Error ? cause.message : 'the engine did not answer';
      watch.failure = { since: watch.failure?.since ?? core.time.now(), detail };
    } finally {
      watch.isListing = false;
    }
  }

  return {
    contactOf,
    lookNow: look,
    stop() {
      stopped = true;
      cancelAlarm();
    },
  };
}

const isDue = (core: Core, { isListing, listedAt, failure }: Watch, isOpen: boolean): boolean =>
  !isListing &&
  (isOpen || listedAt === null || failure !== null || core.clock.mono() - listedAt >= calmListMs);

/** Applies a complete list of the engine. `listedAt`: when the list was requested. */
function reconcile(
  core: Core,
  tx: Tx,
  poolId: PoolId,
  sightings: ReadonlyMap<LaunchId, Sighting>,
  listedAt: WallMs,
): void {
  for (const launch of tx.openLaunches()) {
    if (launch.poolId !== poolId) continue;
    const sighting = sightings.get(launch.id);
    if (sighting !== undefined) applyLaunchEvent(core, tx, launch.id, { type: 'sight', sighting });
    else if ((launch.submittedAt ?? listedAt) < listedAt)
      applyLaunchEvent(core, tx, launch.id, { type: 'miss', listedAt });
  }
}

/** Ends launches of this fleet that are not stored as open. For example, a restored backup may not contain them. */
function endOrphans(
  core: Core,
  engineOf: EngineOf,
  pool: Pool,
  { orphans }: Watch,
  sightings: ReadonlyMap<LaunchId, Sighting>,
): void {
  const isOrphan = (id: LaunchId): boolean => {
    const launch = core.store.launch(id);
    return launch === null || launch.state === 'ended';
  };
  const orphansSeen = [...sightings]
    .filter(([id, { state }]) => state !== 'ended' && isOrphan(id))
    .map(([id]) => id);
  for (const id of orphans.keys()) if (!orphansSeen.includes(id)) orphans.delete(id);
  for (const id of orphansSeen) orphans.set(id, (orphans.get(id) ?? 0) + 1);
  const confirmed = orphansSeen.filter(id => (orphans.get(id) ?? 0) >= maxOrphanSightings);
  if (confirmed.length === 0) return;
  core.log.warn('pool.orphans_ended', { pool: pool.name, launch_ids: confirmed });
  engineOf(pool)
    .end(confirmed, 'now')
    .catch((cause: unknown) => core.log.warn('pool.orphans_not_ended', { pool: pool.name, cause }));
}
