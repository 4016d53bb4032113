export type Random = {
  /** Returns a number that is uniformly distributed in [0, 1), with 32 random bits. */
  readonly next: () => number;
};

const GOLDEN_RATIO = 0x9e3779b9;

/**
 * A mulberry32 generator. Equal seeds and streams give equal numbers, and each stream of a seed is a separate sequence. The
 * seed and the epoch determine the random numbers of a run, so checkpoints need no generator state.
 */
export function createRandom(seed: number, stream: number): Random {
  let state = mix(mix(seed) ^ Math.imul(stream + 1, GOLDEN_RATIO));
  return {
    next: () => {
      state = (state + 0x6d2b79f5) | 0;
      let bits = Math.imul(state ^ (state >>> 15), 1 | state);
      bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
      return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
    },
  };
}

/** Returns the numbers 0 to `count` - 1 in random order (Fisher-Yates). */
export function shuffleIndices(count: number, random: Random): Uint32Array {
  const order = Uint32Array.from({ length: count }, (_, index) => index);
  for (let last = count - 1; last > 0; last--) {
    const chosen = Math.floor(random.next() * (last + 1));
    const lastValue = order[last] ?? 0;
    order[last] = order[chosen] ?? 0;
    order[chosen] = lastValue;
  }
  return order;
}

/** The finalizer of MurmurHash3: a change of one bit in the seed changes about half the bits of the state. */
function mix(value: number): number {
  let bits = value | 0;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return bits ^ (bits >>> 16);
}
