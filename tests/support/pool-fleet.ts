/** A fleet on virtual time whose pools order machines from engines in memory. Each machine runs a simulated worker. */
import type { z } from 'zod';
import type { EngineOf } from '../../main/orchestrator/ports/index.ts';
import { type LaunchView, NewPool, type PoolView } from '../../protocol/pool.ts';
import { ada, createFleet, type Fleet, type FleetOptions } from './fleet.ts';
import { valueOf } from './fleet-outcome.ts';
import {
  type Allocation,
  createMemoryEngine,
  type MemoryEngine,
  type MemoryEngineOptions,
} from './memory-engine.ts';
import { createPoolWorker, type PoolWorker, type WorkerHabits } from './pool-worker.ts';

export type PoolOptions = Partial<z.input<typeof NewPool>>;

export type PoolFleetOptions = Omit<FleetOptions, 'engineOf'> & Omit<MemoryEngineOptions, 'clock'>;

export interface PoolFleet {
  readonly fleet: Fleet;
  /** The engine of every pool without a separate engine from `addEngine`. */
  readonly memory: MemoryEngine;
  readonly habits: WorkerHabits;
  readonly workers: readonly PoolWorker[];
  /** Creates a separate engine for the pool with this name. */
  addEngine(pool: string, options?: Omit<MemoryEngineOptions, 'clock'>): MemoryEngine;
  addPool(options?: PoolOptions): Promise<PoolView>;
  /** Returns the pool with this name, `gpu` by default. Throws when there is none. */
  pool(name?: string): PoolView;
  /** Returns the launches of a pool, oldest first. */
  launches(name?: string): readonly LaunchView[];
  /** Restarts the orchestrator, and reconnects the workers. */
  restart(options?: Parameters<Fleet['restart']>[0]): Promise<void>;
  /** Kills the orchestrator: workers cannot reach it until `restart`. */
  kill(): void;
  /** Closes the fleet. Throws when errors were logged, or when an engine has recorded violations. */
  close(): Promise<void>;
}

export function poolOf(changes: PoolOptions = {}): NewPool {
  return NewPool.parse({
    name: 'gpu',
    engine: { kind: 'command', programs: 'memory' },
    vram_gb: 80,
    after_s: 0,
    ...changes,
  });
}

export async function createPoolFleet(options: PoolFleetOptions = {}): Promise<PoolFleet> {
  const habits: WorkerHabits = { joinMs: 2_000, jobMs: 60_000, saves: true, leaveMs: 1_000 };
  const workers = new Map<Allocation, PoolWorker>();
  const engines: MemoryEngine[] = [];
  const ownEngines = new Map<string, MemoryEngine>();
  const engineOf: EngineOf = ({ name }) => (ownEngines.get(name) ?? memory).engine(fleet.store.fleetId());
  const fleet = await createFleet({ ...options, engineOf });
  const memory = newEngine(options);
  let isUp = true;

  function newEngine(engineOptions: Omit<MemoryEngineOptions, 'clock'>): MemoryEngine {
    const engine = createMemoryEngine({ ...engineOptions, clock: fleet.clock });
    engines.push(engine);
    engine.onStart = allocation => {
      if (habits.joinMs === null) return;
      const worker = createPoolWorker(fleet, engine, allocation, habits, () => isUp);
      workers.set(allocation, worker);
      fleet.clock.after(habits.joinMs, worker.join);
    };
    engine.onSignal = allocation => workers.get(allocation)?.leave();
    engine.onGone = allocation => workers.get(allocation)?.die();
    return engine;
  }

  const pool = (name = 'gpu'): PoolView => {
    const view = fleet.orchestrator.pools.list().find(each => each.name === name);
    if (view === undefined) throw new Error(`there is no pool ${name}`);
    return view;
  };

  return {
    fleet,
    memory,
    habits,
    get workers() {
      return [...workers.values()];
    },
    addEngine(name, engineOptions = {}) {
      const engine = newEngine(engineOptions);
      ownEngines.set(name, engine);
      return engine;
    },
    async addPool(changes) {
      const created = valueOf(await fleet.orchestrator.pools.create(poolOf(changes), ada));
      await fleet.clock.settle();
      return created;
    },
    pool,
    launches: name => valueOf(fleet.orchestrator.pools.launches(pool(name).pool_id, 500)).toReversed(),
    kill() {
      isUp = false;
      fleet.kill();
    },
    async restart(restartOptions) {
      isUp = false;
      await fleet.restart(restartOptions);
      isUp = true;
      for (const worker of workers.values()) worker.reconnect();
      await fleet.clock.settle();
    },
    async close() {
      await fleet.close();
      const violations = engines.flatMap(engine => engine.violations);
      if (violations.length > 0) throw new Error(`the engine recorded violations:\n${violations.join('\n')}`);
    },
  };
}
