/**
 * The only source of randomness in the simulation. A stream with the same seed and label always gives the same values, regardless
 * of other streams.
 */
export interface Random {
  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
  next(): number;
  /** Returns a whole number from `from` to `to`, including both. */
  int(from: number, to: number): number;
  chance(probability: number): boolean;
  pick<T>(list: readonly [T, ...T[]]): T;
  /** Returns a random part of the list. Each element is included with this probability. */
  some<T>(list: readonly T[], probability: number): readonly T[];
  /** Returns an independent stream for a label. */
  fork(label: string): Random;
}

export function createRandom(seed: string): Random {
  const next = sfc32(hashOf(seed));
  const int = (from: number, to: number): number => from + Math.floor(next() * (to - from + 1));
  return {
    next,
    int,
    chance: probability => next() < probability,
    pick: list => list[int(0, list.length - 1)] ?? list[0],
    some: (list, probability) => list.filter(() => next() < probability),
    fork: label => createRandom(`${seed}/${label}`),
  };
}

/** Hashes a text to four 32-bit words ("cyrb128"). */
function hashOf(text: string): readonly [number, number, number, number] {
  let [a, b, c, d] = [1779033703, 3144134277, 1013904242, 2773480762];
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    a = b ^ Math.imul(a ^ code, 597399067);
    b = c ^ Math.imul(b ^ code, 2869860233);
    c = d ^ Math.imul(c ^ code, 951274213);
    d = a ^ Math.imul(d ^ code, 2716044179);
  }
  a = Math.imul(c ^ (a >>> 18), 597399067);
  b = Math.imul(d ^ (b >>> 22), 2869860233);
  c = Math.imul(a ^ (c >>> 17), 951274213);
  d = Math.imul(b ^ (d >>> 19), 2716044179);
  return [a ^ b ^ c ^ d, b ^ a, c ^ a, d ^ a];
}

/** The 32-bit generator "small fast counter". It is short, and passes the usual tests of randomness. */
function sfc32(words: readonly [number, number, number, number]): () => number {
  let [a, b, c, d] = words;
  const draw = (): number => {
    const sum = (((a + b) | 0) + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return (sum >>> 0) / 2 ** 32;
  };
  // Skip the first values, which still depend visibly on the seed.
  for (let n = 0; n < 12; n += 1) draw();
  return draw;
}
