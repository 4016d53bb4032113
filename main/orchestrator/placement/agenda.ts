import type { MonoMs } from '../model.ts';
import { createRanking } from './ranking.ts';

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
  const later = createRanking<K, { readonly key: K; readonly at: MonoMs }>((a, b) => a.at - b.at);
  return {
    add: key => void changed.add(key),
    addAt: (key, at) => later.set(key, { key, at }),
    take(now) {
      for (let next = later.first(); next !== undefined && next.at <= now; next = later.first()) {
        later.delete(next.key);
        changed.add(next.key);
      }
      const due = changed;
      if (due.size > 0) changed = new Set();
      return due;
    },
  };
}
