import type { WorkerId } from '../../protocol/ids.ts';
import type { WorkerView } from '../../protocol/worker.ts';

/** GPU load of a worker: percent over all its GPUs, at a time in milliseconds since 1970. */
export interface LoadSample {
  readonly at: number;
  readonly percent: number;
}

export type Loads = ReadonlyMap<WorkerId, readonly LoadSample[]>;

export const keptMs = 5 * 60_000;
/** A list that is read again sooner, because of an event, holds no new load. */
const minGapMs = 8_000;

/** Adds the current load of some workers. Drops workers that are gone or report none. */
export function sampled(
  loads: Loads,
  workers: readonly WorkerView[],
  known: { readonly has: (id: WorkerId) => boolean },
  now: number,
): Loads {
  const next = new Map([...loads].filter(([id]) => known.has(id)));
  for (const { id, status, gpu_utilization: percent } of workers) {
    const samples = (loads.get(id) ?? []).filter(({ at }) => at > now - keptMs);
    const last = samples.at(-1);
    const isDue = last === undefined || now - last.at >= minGapMs;
    const isKnown = percent !== null && status !== 'offline';
    const all = isKnown && isDue ? [...samples, { at: now, percent }] : samples;
    if (all.length > 0) next.set(id, all);
    else next.delete(id);
  }
  return next;
}

/** Returns how far the server's clock is ahead of this machine's, in milliseconds; null when no worker reveals it. */
export function clockLead(workers: Iterable<WorkerView>, now: number): number | null {
  for (const { last_heartbeat: at, last_contact_age_s: age } of workers)
    if (at !== null && age !== null) return Date.parse(at) + age * 1000 - now;
  return null;
}
