import { createRandom as createChance } from '../simulation/world/random.ts';

/** A random generator that gives the same values for the same seed. */
export interface Random {
  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
  next(): number;
  below(count: number): number;
  chance(of: number): boolean;
  pick<T>(from: readonly T[]): T;
}

export function createRandom(seed: number): Random {
  const { next } = createChance(String(seed));
  const below = (count: number): number => Math.floor(next() * count);
  return {
    next,
    below,
    chance: of => next() < of,
    pick<T>(from: readonly T[]): T {
      const at = below(from.length);
      if (at >= from.length) throw new Error('there is nothing to pick from');
      return from[at] as T;
    },
  };
}
