/** Maps names in metrics files to the names of printed figures, so that both belong to one curve. */

import { countOf, lossNames } from '../progress-figures.ts';

/** The figures of a file for one step. */
export interface FilePoint {
  readonly step: number;
  readonly epoch: number | undefined;
  /** The figures by name; null for NaN and Infinity. */
  readonly values: Readonly<Record<string, number | null>>;
  /** When the trainer logged the figures, in ms since 1970; null if the file does not contain the time. */
  readonly wallMs: number | null;
}

/**
 * Hugging Face's Trainer logs `eval_loss` as `eval/loss`, and `loss` as `train/loss`; kohya's scripts log `avr_loss`
 * as `loss/average`.
 */
const nameRewrites: readonly (readonly [RegExp, string])[] = [
  [/^loss\/average$/, 'avr_loss'],
  [/^train\//, ''],
  [/^eval\//, 'eval_'],
  [/^test\//, 'test_'],
];

const plain = (name: string): string =>
  nameRewrites.reduce((text, [pattern, prefix]) => text.replace(pattern, prefix), name);

/**
 * Returns the name that becomes `loss`: the first of `lossNames` that is present. If a file contains `loss` itself,
 * `train_loss` stays a separate figure, as in the summary of Hugging Face's Trainer.
 */
export function findLossName(names: readonly string[], earlierName: string | null): string | null {
  const present = new Set([...names.map(plain), earlierName]);
  return lossNames.find(name => present.has(name)) ?? null;
}

/** Converts a name in a metrics file to the key of a curve. `lossName`: the name that becomes `loss`. */
export function toMetricName(name: string, lossName: string | null): string {
  const short = plain(name);
  if (short === 'lr') return 'learning_rate';
  return short === lossName ? 'loss' : short;
}

/** Collects the figures of a file into one point per step, in the order of the file. */
export function gatherPoints() {
  const points = new Map<
    number,
    { epoch: number | undefined; values: Map<string, number | null>; wallMs: number | null }
  >();
  return {
    add(step: number, wallMs: number | null, name: string, value: number): void {
      const point = points.get(step) ?? { epoch: undefined, values: new Map(), wallMs };
      points.set(step, point);
      if (name === 'epoch') point.epoch = countOf(value) ?? point.epoch;
      else point.values.set(name, Number.isFinite(value) ? value : null);
    },
    points: (): readonly FilePoint[] =>
      [...points].map(([step, { values, ...rest }]) => ({
        step,
        ...rest,
        values: Object.fromEntries(values),
      })),
  };
}

/** Creates a filter that remembers the last step of each name. With `onlyNewer`, it removes figures up to that step. */
export function createNewerFilter() {
  const lastSteps = new Map<string, number>();
  return (points: readonly FilePoint[], onlyNewer: boolean): readonly FilePoint[] => {
    const isNew = (name: string, step: number): boolean => !onlyNewer || step > (lastSteps.get(name) ?? -1);
    const newPoints = points.flatMap(point => {
      const values = Object.entries(point.values).filter(([name]) => isNew(name, point.step));
      const epoch = isNew('epoch', point.step) ? point.epoch : undefined;
      if (values.length === 0 && epoch === undefined) return [];
      return [{ ...point, epoch, values: Object.fromEntries(values) }];
    });
    for (const { step, epoch, values } of newPoints)
      for (const name of [...Object.keys(values), ...(epoch === undefined ? [] : ['epoch'])])
        lastSteps.set(name, Math.max(step, lastSteps.get(name) ?? -1));
    return newPoints;
  };
}
