import type { LaunchId, PoolId } from '../../../../protocol/ids.ts';
import type { EngineCheck, LaunchView, NewPool, PoolView } from '../../../../protocol/pool.ts';
import { accept, type Outcome, refuse } from '../../../../protocol/problem.ts';
import { type Core, recordPoolEvent } from '../../core.ts';
import { type Actor, nameOf } from '../../model.ts';
import type { Pool } from '../../pool-model.ts';
import type { EngineOf, Tx } from '../../ports/index.ts';
import { launchView, poolView } from '../../views/pool-views.ts';
import { endLaunch, orderLaunch } from './launches.ts';

const unknown = (id: PoolId) => refuse('pool_not_found', `There is no pool ${id}`);

const maxPools = 50;

export interface PoolCallsDeps {
  readonly core: Core;
  readonly engineOf: EngineOf;
  /** Makes the loop look at once. */
  readonly lookNow: () => void;
}

/** Calls of people about pools and launches. */
export function createPoolCalls({ core, engineOf, lookNow }: PoolCallsDeps) {
  const viewOf = (id: PoolId): Outcome<PoolView> => {
    const pool = core.store.pool(id);
    return pool === null ? unknown(id) : accept(poolView(core, core.store, pool));
  };

  /** Runs a command about one pool. Returns the pool after it. */
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

    async create({ name, engine, ...settings }: NewPool, by: Actor): Promise<Outcome<PoolView>> {
      const id = core.ids.pool();
      const refused = await core.store.write(tx => {
        if (tx.pools().length >= maxPools) return refuse('invalid_request', `At most ${maxPools} pools`);
        if (isTaken(tx, name, id)) return nameTaken(name);
        const pool: Pool = {
          id,
          name,
          engine,
          settings,
          createdAt: core.time.now(),
          pause: null,
          impossible: [],
          neverJoined: 0,
          backoff: null,
        };
        tx.insertPool(pool);
        recordPoolEvent(core, tx, 'pool.created', pool, by, { engine, settings });
        return null;
      });
      if (refused !== null) return refused;
      lookNow();
      return viewOf(id);
    },

    update: (id: PoolId, { name, engine, ...settings }: NewPool, by: Actor): Promise<Outcome<PoolView>> =>
      change(id, (tx, pool) => {
        if (isTaken(tx, name, id)) return nameTaken(name);
        const next: Pool = { ...pool, name, engine, settings, impossible: [], backoff: null };
        tx.updatePool(next);
        recordPoolEvent(core, tx, 'pool.changed', next, by, { engine, settings });
        return null;
      }),

    remove: async (id: PoolId, by: Actor): Promise<Outcome<{ readonly success: true }>> =>
      core.store.write(tx => {
        const pool = tx.pool(id);
        if (pool === null) return unknown(id);
        const open = tx.openLaunches().filter(({ poolId }) => poolId === id).length;
        if (open > 0)
          return refuse(
            'pool_in_use',
            `Pool ${pool.name} has ${open} open ${open === 1 ? 'launch' : 'launches'}: ` +
              `end them with "trainyard pools pause ${pool.name} --end-launches", then delete it`,
          );
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
        const own = endLaunches ? tx.openLaunches().filter(({ poolId }) => poolId === id) : [];
        for (const launch of own) endLaunch(core, tx, launch, 'cancelled', `${nameOf(by)} paused the pool`);
        return null;
      }),

    resume: (id: PoolId, by: Actor): Promise<Outcome<PoolView>> =>
      change(id, (tx, pool) => {
        const next: Pool = { ...pool, pause: null, impossible: [], neverJoined: 0, backoff: null };
        tx.updatePool(next);
        recordPoolEvent(core, tx, 'pool.resumed', next, by);
        return null;
      }),

    async check(id: PoolId): Promise<Outcome<EngineCheck>> {
      const pool = core.store.pool(id);
      return pool === null ? unknown(id) : accept(await engineOf(pool).check());
    },

    /** Works while the pool is paused, too: that is when people need it. */
    async test(id: PoolId, by: Actor): Promise<Outcome<LaunchView>> {
      const launch = await core.store.write(tx => {
        const pool = tx.pool(id);
        if (pool === null) return null;
        recordPoolEvent(core, tx, 'pool.tested', pool, by);
        return orderLaunch(core, tx, pool, {
          jobId: null,
          nodes: 1,
          gpus: pool.settings.gpus,
          isTest: true,
        });
      });
      if (launch === null) return unknown(id);
      lookNow();
      return accept(launchView(core, core.store, launch));
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
        const known = tx.launch(id);
        if (known !== null) endLaunch(core, tx, known, 'cancelled', `${nameOf(by)} ended it`);
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
