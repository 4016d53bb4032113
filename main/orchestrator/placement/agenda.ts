import type { MonoMs } from '../model.ts';
import { createRanking, type Rankable } from './ranking.ts';

/** What is to be looked at again: at once, or at a moment. */
export interface Agenda<K> {
  add(key: K): void;
  /** Replaces the moment that was set before. */
  addAt(key: K, at: MonoMs): void;
  /** All that is due by now, each once; it is off the agenda then. */
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
