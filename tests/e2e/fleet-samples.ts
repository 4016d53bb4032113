/**
 * Sample images for the trainings in the screenshots of the documentation. Samples of early steps are noisy, like those of a
 * real training.
 */
import { pngOf } from '../support/picture.ts';

type Colour = readonly [red: number, green: number, blue: number];

/** Width and height in pixels. */
const size = 176;

/** Mixes two colours. `share`: the share of `to`, limited to 0 to 1. */
const mix = (from: Colour, to: Colour, share: number): Colour => {
  const limited = Math.min(1, Math.max(0, share));
  const channel = (index: 0 | 1 | 2): number => Math.round(from[index] + (to[index] - from[index]) * limited);
  return [channel(0), channel(1), channel(2)];
};

/** Returns pseudo-random noise from 0 to 1. The same point and seed give the same number. */
function noise(x: number, y: number, seed: number): number {
  const value = Math.sin(x * 12.9898 + y * 78.233 + seed * 37.719) * 43_758.5453;
  return value - Math.floor(value);
}

/** Returns the colour at a point of a motif; `x` and `y` from 0 to 1. */
type Motif = (x: number, y: number) => Colour;

const hills: Motif = (x, y) => {
  const sun = Math.hypot(x - 0.7, y - 0.28);
  const ridges = [
    [0.52, 0.07, 5, [148, 163, 196]],
    [0.64, 0.06, 8, [94, 124, 156]],
    [0.78, 0.05, 6, [52, 88, 92]],
  ] as const;
  const sky = mix([250, 214, 165], [118, 160, 214], 1 - y * 1.6);
  const lit = sun < 0.09 ? mix([255, 244, 214], sky, (sun - 0.07) * 50) : mix([255, 232, 190], sky, sun * 3);
  return ridges.reduce<Colour>((colour, [height, swing, pace, ridge]) => {
    const edge = height + swing * Math.sin(x * pace + height * 20) + 0.02 * Math.sin(x * 31 + pace);
    return y > edge ? mix(ridge, [24, 44, 48], (y - edge) * 0.9) : colour;
  }, lit);
};

const portrait: Motif = (x, y) => {
  const wall = mix([214, 202, 190], [140, 128, 126], Math.hypot(x - 0.25, y - 0.2));
  const head = Math.hypot((x - 0.5) / 0.17, (y - 0.4) / 0.23);
  const hair = Math.hypot((x - 0.5) / 0.23, (y - 0.37) / 0.29);
  const shoulders = Math.hypot((x - 0.5) / 0.4, (y - 1.02) / 0.32);
  const eye = Math.min(Math.hypot(x - 0.43, y - 0.4), Math.hypot(x - 0.57, y - 0.4));
  if (head < 1) {
    if (eye < 0.02) return [48, 34, 30];
    if (Math.hypot((x - 0.5) / 2, y - 0.52) < 0.02) return [168, 84, 78];
    return mix([240, 200, 172], [176, 120, 96], (x - 0.34) * 2.4);
  }
  if (Math.abs(x - 0.5) < 0.07 && y > 0.55 && y < 0.76) return [206, 158, 132];
  if (hair < 1 && y < 0.62) return mix([92, 58, 40], [40, 26, 22], x);
  return shoulders < 1 ? mix([54, 86, 128], [28, 44, 74], y) : wall;
};

const bottle: Motif = (x, y) => {
  const table = y > 0.78;
  const background = table
    ? mix([196, 170, 142], [140, 110, 88], (y - 0.78) * 4)
    : mix([238, 232, 224], [206, 196, 188], y);
  const body = Math.abs(x - 0.5) < 0.13 && y > 0.36 && y < 0.86;
  const neck = Math.abs(x - 0.5) < 0.045 && y > 0.2 && y <= 0.36;
  const cap = Math.abs(x - 0.5) < 0.055 && y > 0.14 && y <= 0.21;
  if (cap) return [46, 44, 42];
  if (!body && !neck) return mix(background, [90, 70, 56], table ? 0.5 - Math.abs(x - 0.56) * 2 : 0);
  if (body && y > 0.5 && y < 0.7) return mix([250, 246, 236], [214, 206, 190], Math.abs(x - 0.46) * 6);
  return mix([168, 214, 190], [28, 96, 78], Math.abs(x - 0.45) * 7);
};

const cloth: Motif = (x, y) => {
  const warp = Math.sin(x * 40 + Math.sin(y * 9) * 1.4);
  const weft = Math.sin(y * 40 + Math.sin(x * 7) * 1.4);
  const plaid = (Math.sin(x * 11) > 0.55 ? 0.45 : 0) + (Math.sin(y * 11 + 1) > 0.55 ? 0.45 : 0);
  return mix(mix([184, 64, 58], [30, 52, 92], plaid), [250, 236, 214], 0.14 + 0.1 * warp * weft);
};

const motifs: readonly Motif[] = [hills, portrait, bottle, cloth];
/** Motifs of trainings with these words in their names. */
const preferred: readonly (readonly [word: RegExp, motif: Motif])[] = [
  [/portrait|fashion/, portrait],
  [/product|packaging|icons/, bottle],
  [/texture|linen/, cloth],
];

/** The short names of the prompts of every training. */
export const prompts = ['studio', 'outdoors'] as const;

/** Draws a sample of a training as a PNG. `share`: the completed share of the training, from 0 to 1. */
export function drawSample(name: string, prompt: (typeof prompts)[number], share: number) {
  const seed = Buffer.from(name).reduce((sum, letter) => sum + letter, 0);
  const ownMotif = preferred.find(([word]) => word.test(name))?.[1] ?? motifs[seed % motifs.length] ?? hills;
  const motif = prompt === 'outdoors' ? hills : ownMotif;
  const tint: Colour = [seed % 200, (seed * 7) % 200, (seed * 13) % 200];
  const blur = Math.max(0, 1 - share * 1.15);
  return pngOf(size, size, (column, row) => {
    const grain = noise(column, row, seed) - 0.5;
    const bend = blur * 0.05 * Math.sin(row / 14 + seed);
    const colour = mix(motif(column / size + bend, row / size + grain * blur * 0.3), tint, 0.1 + blur * 0.3);
    return mix(colour, grain > 0 ? [255, 255, 255] : [0, 0, 0], Math.abs(grain) * (0.06 + blur));
  });
}
