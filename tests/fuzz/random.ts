import { createRandom as createChance } from '../simulation/world/random.ts';

/** A random generator that gives the same values for the same seed. */
export interface Random {
  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
  next(): number;
  /** Returns an integer from 0 (inclusive) to `count` (exclusive). */
  below(count: number): number;
  /** Returns true with this probability, from 0 to 1. */
  chance(probability: number): boolean;
  /** Returns a random element. Throws when the list is empty. */
  pick<T>(from: readonly T[]): T;
}

export function createRandom(seed: number): Random {
  const { next } = createChance(String(seed));
  const below = (count: number): number => Math.floor(next() * count);
  return {
    next,
    below,
    chance: probability => next() < probability,
    pick<T>(from: readonly T[]): T {
      const at = below(from.length);
      if (at >= from.length) throw new Error('cannot pick from an empty list');
      return from[at] as T;
    },
  };
}
