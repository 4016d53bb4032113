/** A random generator that returns the same numbers for the same seed. */
export interface Random {
  /** Returns a number in [0, 1). */
  next(): number;
  between(min: number, max: number): number;
  pick<T>(choices: readonly [T, ...T[]]): T;
  /** Returns an independent generator. Its numbers do not depend on how often the parent is used. */
  fork(name: string): Random;
}

export function createRandom(seed: string): Random {
  const next = mulberry32(hashOf(seed));
  const between = (min: number, max: number): number => min + (max - min) * next();
  return {
    next,
    between,
    pick: choices => choices[Math.floor(next() * choices.length)] ?? choices[0],
    fork: name => createRandom(`${seed}/${name}`),
  };
}

/** Returns the 32-bit FNV-1a hash. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (const char of text) hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 0x01000193);
  return hash >>> 0;
}

/** Tommy Ettinger's generator mulberry32: small, and random enough for a demo. */
function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
