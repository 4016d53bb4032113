import { metricKeyOf } from '../protocol/metrics-api.ts';
import type { FilePoint } from './metrics-files/index.ts';
import type { BarePoint } from './point-list.ts';

/** What files say counts more than what is printed: knows which of the two a value is to be taken from. */
export interface Precedence {
  /** Without the values that files say better; null when nothing is left. */
  printed(point: BarePoint): BarePoint | null;
  /** Takes note that files which grow with each figure have these. Returns those that were not known. */
  own(point: BarePoint): ReadonlySet<string>;
  /** Takes note that a point goes out: what was printed of a step and has gone is not sent again from a file. */
  sent(point: BarePoint): void;
  /** The values of a file that grows with each figure, without those that have gone out as printed. */
  live(point: BarePoint): BarePoint | null;
  /** The values of a file that came late, as far as nothing has said them before; the others are `known`. */
  late(point: BarePoint): { readonly fresh: BarePoint | null; readonly known: BarePoint | null };
}

/** Of each key: more than a file lags behind. */
const maxGone = 4_096;
const epochKey = 'epoch';
const keysOf = ({ values, epoch }: BarePoint): readonly string[] => [
  ...Object.keys(values),
  ...(epoch === undefined ? [] : [epochKey]),
];

export function createPrecedence(): Precedence {
  /** Keys of files that grow with each figure. */
  const owned = new Set<string>();
  /** Up to which step a late file has told a key. */
  const lateUpTo = new Map<string, number>();
  /** The newest steps of which the printed value of a key has gone out. */
  const gone = new Map<string, Set<number>>();
  /** The highest step that has a value of a key, whoever said it. */
  const highest = new Map<string, number>();

  const notePlace = (point: BarePoint): void => {
    if (point.step === undefined) return;
    for (const key of keysOf(point)) highest.set(key, Math.max(point.step, highest.get(key) ?? -1));
  };

  return {
    printed(point) {
      const { step } = point;
      const rest = only(
        point,
        key => !owned.has(key) && (step === undefined || step > (lateUpTo.get(key) ?? -1)),
      );
      if (rest === null || Object.keys(rest.values).length === 0) return null;
      notePlace(rest);
      return rest;
    },
    own(point) {
      const fresh = new Set(keysOf(point).filter(key => !owned.has(key)));
      for (const key of fresh) owned.add(key);
      return fresh;
    },
    sent(point) {
      if (point.step === undefined) return;
      for (const key of keysOf(point).filter(each => !owned.has(each))) {
        const steps = gone.get(key) ?? new Set();
        gone.set(key, steps.add(point.step));
        for (const oldest of steps) if (steps.size > maxGone) steps.delete(oldest);
      }
    },
    live: point => only(point, key => !gone.get(key)?.has(point.step ?? -1)),
    late(point) {
      const { step = 0 } = point;
      const mine = only(point, key => !owned.has(key));
      const isBeyond = (key: string): boolean => step > (highest.get(key) ?? -1);
      const fresh = mine && only(mine, isBeyond);
      const known = mine && only(mine, key => !isBeyond(key));
      for (const key of mine === null ? [] : keysOf(mine))
        lateUpTo.set(key, Math.max(step, lateUpTo.get(key) ?? -1));
      if (fresh !== null) notePlace(fresh);
      return { fresh, known };
    },
  };
}

/** Null when none is left. */
export function only(point: BarePoint, isWanted: (key: string) => boolean): BarePoint | null {
  const values = Object.entries(point.values).filter(([key]) => isWanted(key));
  const epoch = point.epoch !== undefined && isWanted(epochKey) ? point.epoch : undefined;
  if (values.length === 0 && epoch === undefined) return null;
  return { ...point, epoch, values: Object.fromEntries(values) };
}

/** A step's figures in a file as a point; null when none of their names can be a key. */
export function toBarePoint(
  { step, epoch, values }: FilePoint,
  atMs: number,
  maxKeys: number,
): BarePoint | null {
  const entries = Object.entries(values).flatMap(([name, value]) => {
    const key = metricKeyOf(name);
    return key === null || key === epochKey ? [] : [[key, value] as const];
  });
  if (entries.length === 0 && epoch === undefined) return null;
  return { elapsed_ms: atMs, step, epoch, values: Object.fromEntries(entries.slice(0, maxKeys)) };
}
