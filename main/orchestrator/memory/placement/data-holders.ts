import type { Idle } from './shape.ts';

/** Index of the idle workers that already have a dataset on their rig. */
export interface DataHolders {
  add(worker: Idle): void;
  drop(worker: Idle): void;
  /** How many of these versions each worker has. Omits workers with none. */
  countsOf(versions: readonly string[]): ReadonlyMap<Idle, number>;
}

export function createDataHolders(): DataHolders {
  const holders = new Map<string, Set<Idle>>();
  return {
    add(worker) {
      for (const version of worker.datasets) {
        const known = holders.get(version) ?? new Set();
        holders.set(version, known.add(worker));
      }
    },
    drop(worker) {
      for (const version of worker.datasets) {
        const known = holders.get(version);
        known?.delete(worker);
        if (known?.size === 0) holders.delete(version);
      }
    },
    countsOf(versions) {
      const counts = new Map<Idle, number>();
      for (const version of versions)
        for (const worker of holders.get(version) ?? []) counts.set(worker, (counts.get(worker) ?? 0) + 1);
      return counts;
    },
  };
}
