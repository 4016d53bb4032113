import { createRandom as createChance } from '../simulation/world/random.ts';

/** A generator that repeats its values for the same seed. */
export interface Random {
  /** Returns a number from 0 to 1, without 1. */
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
