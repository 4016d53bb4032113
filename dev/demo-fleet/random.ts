/** A random generator that returns the same numbers for the same seed. */
export interface Random {
  /** In [0, 1). */
  next(): number;
  between(least: number, most: number): number;
  pick<T>(choices: readonly [T, ...T[]]): T;
  /** Returns an independent generator, which draws from this one do not affect. */
  fork(name: string): Random;
}

export function createRandom(seed: string): Random {
  const next = mulberry32(hashOf(seed));
  const between = (least: number, most: number): number => least + (most - least) * next();
  return {
    next,
    between,
    pick: choices => choices[Math.floor(next() * choices.length)] ?? choices[0],
    fork: name => createRandom(`${seed}/${name}`),
  };
}

/** FNV-1a, 32 bits. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (const char of text) hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 0x01000193);
  return hash >>> 0;
}

/** Tommy Ettinger's generator: small, and random enough for plausible figures. */
function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
