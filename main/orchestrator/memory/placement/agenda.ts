import type { MonoMs } from '../../model.ts';
import { createRanking, type Rankable } from './ranking.ts';

/** Keys to check again, at once or at a given time. */
export interface Agenda<K> {
  add(key: K): void;
  /** Replaces the time that was set before. */
  addAt(key: K, at: MonoMs): void;
  /** Removes and returns all keys that are due, each once. */
  take(now: MonoMs): Iterable<K>;
}

export function createAgenda<K>(): Agenda<K> {
  let changed = new Set<K>();
  const later = createRanking<Moment<K>>((a, b) => a.at - b.at);
  const moments = new Map<K, Moment<K>>();
  const cancel = (key: K): void => {
    const moment = moments.get(key);
    if (moment === undefined) return;
    later.drop(moment);
    moments.delete(key);
  };
  return {
    add: key => void changed.add(key),
    addAt(key, at) {
      cancel(key);
      const moment = { key, at, isLive: true };
      moments.set(key, moment);
      later.add(moment);
    },
    take(now) {
      for (let next = later.first(); next !== undefined && next.at <= now; next = later.first()) {
        cancel(next.key);
        changed.add(next.key);
      }
      const due = changed;
      if (due.size > 0) changed = new Set();
      return due;
    },
  };
}

interface Moment<K> extends Rankable {
  readonly key: K;
  readonly at: MonoMs;
}
