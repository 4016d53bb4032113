import type { LaunchId, PoolId } from '../../../../protocol/ids.ts';
import type {
  EngineCheck,
  EngineSettings,
  LaunchView,
  NewPool,
  PoolView,
} from '../../../../protocol/pool.ts';
import { accept, type Outcome, refuse } from '../../../../protocol/problem.ts';
import { type Core, recordPoolEvent } from '../../core.ts';
import { type Actor, nameOf } from '../../model.ts';
import type { Launch, Pool } from '../../pool-model.ts';
import type { EngineOf, Tx } from '../../ports/index.ts';
import { launchView, poolView } from '../../views/pool-views.ts';
import { endLaunch, orderLaunch } from './launches.ts';

const unknown = (id: PoolId) => refuse('pool_not_found', `There is no pool ${id}`);

const maxPools = 50;

export interface PoolCallsDeps {
  readonly core: Core;
  readonly engineOf: EngineOf;
  /** Makes the pools loop run immediately. */
  readonly lookNow: () => void;
}

/** Calls of users about pools. */
export function createPoolCalls({ core, lookNow }: PoolCallsDeps) {
  const viewOf = (id: PoolId): Outcome<PoolView> => {
    const pool = core.store.pool(id);
    return pool === null ? unknown(id) : accept(poolView(core, core.store, pool));
  };

  /** Changes one pool, and returns the changed pool. */
  const change = async (
    id: PoolId,
    act: (tx: Tx, pool: Pool) => Outcome<unknown> | null,
  ): Promise<Outcome<PoolView>> => {
    const refused = await core.store.write(tx => {
      const pool = tx.pool(id);
      return pool === null ? unknown(id) : act(tx, pool);
    });
    if (refused !== null && !refused.ok) return refused;
    lookNow();
    return viewOf(id);
  };

  return {
    list: (): readonly PoolView[] => core.store.pools().map(pool => poolView(core, core.store, pool)),
    get: viewOf,

    async create(request: NewPool, by: Actor): Promise<Outcome<PoolView>> {
      const pool = newPool(core, request);
      const refused = await core.store.write(tx => insertPool(core, tx, pool, by));
      if (refused !== null) return refused;
      lookNow();
      return viewOf(pool.id);
    },

    update: (id: PoolId, request: NewPool, by: Actor): Promise<Outcome<PoolView>> =>
      change(id, (tx, pool) => updatePool(core, tx, pool, request, by)),

    remove: (id: PoolId, by: Actor): Promise<Outcome<{ readonly success: true }>> =>
      core.store.write(tx => {
        const pool = tx.pool(id);
        if (pool === null) return unknown(id);
        const open = openOf(tx, id);
        if (open > 0) return inUse(pool, open, 'delete it');
        tx.removePool(id);
        recordPoolEvent(core, tx, 'pool.deleted', pool, by);
        return accept({ success: true as const });
      }),

    pause: (
      id: PoolId,
      { reason, endLaunches }: { readonly reason: string; readonly endLaunches: boolean },
      by: Actor,
    ): Promise<Outcome<PoolView>> =>
      change(id, (tx, pool) => {
        const next = { ...pool, pause: { reason, by: nameOf(by), since: core.time.now() } };
        tx.updatePool(next);
        recordPoolEvent(core, tx, 'pool.paused', next, by, { reason });
        const launchesToEnd = endLaunches ? tx.openLaunches().filter(({ poolId }) => poolId === id) : [];
        for (const launch of launchesToEnd)
          endLaunch(core, tx, launch, 'cancelled', `${nameOf(by)} paused the pool`);
        return null;
      }),

    resume: (id: PoolId, by: Actor): Promise<Outcome<PoolView>> =>
      change(id, (tx, pool) => {
        const next: Pool = { ...pool, pause: null, impossible: [], neverJoined: 0, backoff: null };
        tx.updatePool(next);
        recordPoolEvent(core, tx, 'pool.resumed', next, by);
        return null;
      }),
  };
}

const newPool = (core: Core, { name, engine, ...settings }: NewPool): Pool => ({
  id: core.ids.pool(),
  name,
  engine,
  settings,
  createdAt: core.time.now(),
  pause: null,
  impossible: [],
  neverJoined: 0,
  backoff: null,
});

/** Stores a new pool. Returns a refusal, or null on success. */
function insertPool(core: Core, tx: Tx, pool: Pool, by: Actor) {
  if (tx.pools().length >= maxPools)
    return refuse('invalid_request', `There can be at most ${maxPools} pools: delete one first`);
  if (isTaken(tx, pool.name, pool.id)) return nameTaken(pool.name);
  tx.insertPool(pool);
  recordPoolEvent(core, tx, 'pool.created', pool, by, auditedOf(pool));
  return null;
}

function updatePool(core: Core, tx: Tx, pool: Pool, { name, engine, ...settings }: NewPool, by: Actor) {
  if (isTaken(tx, name, pool.id)) return nameTaken(name);
  const open = openOf(tx, pool.id);
  // An engine on another cluster would not find the pool's open launches.
  if (open > 0 && clusterOf(engine) !== clusterOf(pool.engine)) return inUse(pool, open, 'change its engine');
  const next: Pool = { ...pool, name, engine, settings, impossible: [], backoff: null };
  tx.updatePool(next);
  recordPoolEvent(core, tx, 'pool.changed', next, by, auditedOf(next));
  return null;
}

/** Returns the settings for the audit trail. Omits `setup` and `worker_options`, because both can contain secrets. */
function auditedOf({ engine, settings }: Pool) {
  const { setup: _setup, worker_options: _options, ...shown } = settings;
  return { engine, settings: shown };
}

/**
 * Returns a text that identifies the cluster in which an engine orders machines. While a pool has open launches, users
 * cannot change its cluster.
 */
function clusterOf(engine: EngineSettings): string {
  switch (engine.kind) {
    case 'slurm':
      return JSON.stringify(['slurm', engine.login]);
    case 'kubernetes':
      return JSON.stringify(['kubernetes', engine.context, engine.namespace]);
    case 'command':
      return JSON.stringify(['command', engine.programs]);
  }
}

const openOf = (tx: Tx, id: PoolId): number => tx.openLaunches().filter(({ poolId }) => poolId === id).length;

/** Refuses an action because the pool has open launches. `action`: an imperative, such as "delete it". */
function inUse({ name }: Pool, open: number, action: string) {
  const launches = open === 1 ? 'launch' : 'launches';
  const how = `end them with "trainyard pools pause ${name} --end-launches", then ${action}`;
  return refuse('pool_in_use', `Pool ${name} has ${open} open ${launches}: ${how}`);
}

function orderTest(core: Core, tx: Tx, pool: Pool, by: Actor): Outcome<Launch> {
  const running = tx.openLaunches().find(({ poolId, isTest }) => poolId === pool.id && isTest);
  if (running !== undefined)
    return refuse(
      'pool_in_use',
      `A test of pool ${pool.name} has not ended yet: wait, or end it with "trainyard pools end ${running.id}"`,
    );
  recordPoolEvent(core, tx, 'pool.tested', pool, by);
  const order = { jobId: null, nodes: 1, gpus: pool.settings.gpus, isTest: true };
  return accept(orderLaunch(core, tx, pool, order));
}

/** Calls of users that query the engine of a pool, and calls about launches. */
export function createLaunchRequests({ core, engineOf, lookNow }: PoolCallsDeps) {
  return {
    async check(id: PoolId): Promise<Outcome<EngineCheck>> {
      const pool = core.store.pool(id);
      return pool === null ? unknown(id) : accept(await engineOf(pool).check());
    },

    /**
     * Orders a test launch. This also works while the pool is paused, because users then need a test most. Refused while
     * another test runs, because tests ignore the limits of the pool.
     */
    async test(id: PoolId, by: Actor): Promise<Outcome<LaunchView>> {
      const ordered = await core.store.write(tx => {
        const pool = tx.pool(id);
        return pool === null ? unknown(id) : orderTest(core, tx, pool, by);
      });
      if (!ordered.ok) return ordered;
      lookNow();
      return accept(launchView(core, core.store, ordered.value));
    },

    launches(id: PoolId, limit: number): Outcome<readonly LaunchView[]> {
      if (core.store.pool(id) === null) return unknown(id);
      return accept(core.store.launchesOf(id, limit).map(launch => launchView(core, core.store, launch)));
    },

    launch(id: LaunchId): Outcome<LaunchView> {
      const launch = core.store.launch(id);
      return launch === null ? unknownLaunch(id) : accept(launchView(core, core.store, launch));
    },

    async endLaunch(id: LaunchId, by: Actor): Promise<Outcome<LaunchView>> {
      const launch = await core.store.write(tx => {
        const stored = tx.launch(id);
        if (stored !== null) endLaunch(core, tx, stored, 'cancelled', `${nameOf(by)} ended it`);
        return tx.launch(id);
      });
      if (launch === null) return unknownLaunch(id);
      lookNow();
      return accept(launchView(core, core.store, launch));
    },
  };
}

const isTaken = (tx: Tx, name: string, id: PoolId): boolean =>
  tx.pools().some(pool => pool.name === name && pool.id !== id);

const nameTaken = (name: string) => refuse('name_taken', `There is a pool ${name} already`);

const unknownLaunch = (id: LaunchId) => refuse('launch_not_found', `There is no launch ${id}`);
