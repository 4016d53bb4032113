import type { LaunchId } from '../../../protocol/ids.ts';
import type { Launch } from '../../../main/orchestrator/ports/index.ts';
import { hashOf } from '../../support/fleet.ts';
import type { Allocation, MemoryEngine } from '../../support/memory-engine.ts';
import type { PoolFleet } from '../../support/pool-fleet.ts';

interface PoolChecksDeps {
  readonly pools: PoolFleet;
  readonly engines: readonly MemoryEngine[];
  readonly violate: (rule: string, how: string) => void;
  /** Returns how often the orchestrator was killed. The answer to a call from before a kill never arrives. */
  readonly life: () => number;
}

/** Maximum time in ms in which the orchestrator must end a machine that it no longer needs, including all outages. */
const maxEndMs = 300_000;
/** The orchestrator must request a list at least this many ms after an unanswered order before it repeats the order. */
const unclearMs = 30_000;
/** Returns true for a launch that no pool has ordered. pool-world.ts creates such launches. */
const isStray = (id: string): boolean => id.startsWith('stray');

/** Checks the guarantees of pools: compares the machines in the engines with the stored launches. */
export function watchPools({ pools, engines, violate, life }: PoolChecksDeps) {
  const { fleet } = pools;
  /** State of each launch that was open at the previous check. */
  const previousStates = new Map<LaunchId, Launch['state']>();
  /** The time at which each condition became true, by the key of the condition. */
  const heldSince = new Map<string, number>();
  /** The time of the last order that the engine has not answered clearly, by launch. */
  const silentSince = new Map<LaunchId, number>();
  for (const engine of engines) watchAnswers(engine);

  /** Checks that the orchestrator repeats an unanswered order only after a list that it requested at least 30 s later. */
  function watchAnswers(engine: MemoryEngine): void {
    const { engine: engineOf } = engine;
    let listedFrom = 0;
    engine.engine = name => {
      const realEngine = engineOf(name);
      return {
        ...realEngine,
        async launch(order) {
          const { launchId } = order;
          const from = silentSince.get(launchId);
          if (from !== undefined && listedFrom < from + unclearMs)
            violate('an unclear launch is not repeated too early', `${launchId} is submitted again`);
          const lifeAtOrder = life();
          silentSince.set(launchId, fleet.clock.wall());
          const answer = await realEngine.launch(order);
          if (answer.kind !== 'unknown' && lifeAtOrder === life()) silentSince.delete(launchId);
          else if (lifeAtOrder === life()) silentSince.set(launchId, fleet.clock.wall());
          return answer;
        },
        async list() {
          const from = fleet.clock.wall();
          const listed = await realEngine.list();
          listedFrom = Math.max(listedFrom, from);
          return listed;
        },
      };
    };
  }

  const liveOf = (id: LaunchId): Allocation | undefined =>
    engines.flatMap(engine => engine.live()).find(({ order }) => order.launchId === id);

  function checkRow(launch: Launch): void {
    if (!previousStates.has(launch.id) && !launch.isTest) checkBudget(launch);
    if (launch.state !== 'ended') previousStates.set(launch.id, launch.state);
    else previousStates.delete(launch.id);
    const live = launch.state === 'ended' ? liveOf(launch.id) : undefined;
    if (live !== undefined)
      violate(
        'no launch ends while it exists',
        `${launch.id} (${launch.outcome}) is ${live.state} as ${live.engineId}`,
      );
  }

  function checkBudget({ id, poolId, orderedAt }: Launch): void {
    const budget = fleet.store.pool(poolId)?.settings.gpu_hours_per_day ?? null;
    if (budget === null) return;
    const hours = fleet.store.launchesOf(poolId, 10_000).reduce((sum, each) => {
      const from = Math.min(each.startedAt ?? orderedAt, orderedAt);
      const to = Math.min(each.endedAt ?? orderedAt, orderedAt);
      return sum + (Math.max(0, to - from) * each.nodes * each.gpus) / 3_600_000;
    }, 0);
    if (hours > budget) violate('no order beyond the budget', `${id} was ordered after ${hours} GPU-hours`);
  }

  function checkLimits(): void {
    const open = fleet.store.openLaunches().filter(({ isTest }) => !isTest);
    for (const { id, name, settings } of fleet.store.pools()) {
      const openOfPool = open.filter(({ poolId }) => poolId === id);
      const gpus = openOfPool.reduce((sum, each) => sum + each.nodes * each.gpus, 0);
      const queued = openOfPool.filter(
        ({ id: each, state }) => state === 'waiting' && liveOf(each)?.state === 'waiting',
      ).length;
      const checkMax = (what: string, count: number, max: number | null): void => {
        if (max !== null && count > max)
          violate('no limit is exceeded', `${name}: ${count} ${what}, at most ${max} allowed`);
      };
      checkMax('launches', openOfPool.length, settings.max_launches);
      checkMax('GPUs', gpus, settings.max_gpus);
      checkMax('launches in the queue', queued, settings.max_waiting);
    }
  }

  /** Calls `report` when a condition has been true for longer than `forMs`. `key` identifies the condition between checks. */
  function reportIfLasting(key: string, holds: boolean, forMs: number, report: () => void): void {
    const now = fleet.clock.wall();
    if (!holds) heldSince.delete(key);
    else if (now - (heldSince.get(key) ?? now) > forMs) report();
    else if (!heldSince.has(key)) heldSince.set(key, now);
  }

  function checkMachine(each: Allocation): void {
    const { launchId } = each.order;
    const row = fleet.store.launch(launchId);
    const pool = row && fleet.store.pool(row.poolId);
    const isOpen = row !== null && row.state !== 'ended';
    reportIfLasting(`stray ${each.engineId} ${launchId}`, !isOpen, maxEndMs, () =>
      violate('no machine runs without an open launch', `${each.engineId} of ${launchId}`),
    );
    if (!isOpen || !pool) return;
    const isSilent = each.state === 'running' && row.joinedAt === null;
    reportIfLasting(`silent ${each.engineId}`, isSilent, pool.settings.join_s * 1_000 + maxEndMs, () =>
      violate('machines that never register are given back', launchId),
    );
    const isIdle =
      row.state === 'joined' && pool.settings.warm === 0 && fleet.store.liveJobOf(row.workerId) === null;
    reportIfLasting(`idle ${each.engineId}`, isIdle, pool.settings.idle_s * 1_000 + maxEndMs, () =>
      violate('idle machines are given back', launchId),
    );
  }

  return {
    checkAll(): void {
      for (const { violations } of engines)
        for (const each of violations) violate('no launch exists twice', each);
      const open = fleet.store.openLaunches();
      const rows = [...previousStates.keys()]
        .map(id => fleet.store.launch(id))
        .filter(row => row?.state === 'ended');
      for (const row of [...rows, ...open]) if (row !== null) checkRow(row);
      checkLimits();
      for (const engine of engines) for (const each of engine.live()) checkMachine(each);
    },
    expectNothingComing(): void {
      for (const { id, state } of fleet.store.openLaunches())
        if (state !== 'joined') violate('surplus launches are ended', `${id} is ${state}`);
    },
    expectNothingLeft(): void {
      for (const { id, state } of fleet.store.openLaunches())
        violate('no launch is open at the end', `${id} is ${state}`);
      for (const engine of engines) {
        for (const { engineId, order } of engine.live())
          violate('no machine is left at the end', `${engineId} of ${order.launchId}`);
        for (const { joinToken, launchId } of engine.orders)
          if (!isStray(launchId) && fleet.orchestrator.workers.knowsJoinToken(hashOf(joinToken)))
            violate('tokens end with their launches', `${joinToken} of ${launchId}`);
      }
    },
  };
}
