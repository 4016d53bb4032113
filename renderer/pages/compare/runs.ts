import { differingKeys, flatten, type FlatConfig } from '../../../protocol/compare-configs.ts';
import type { JobUsage, JobView } from '../../../protocol/job.ts';
import { bestLossOf } from '../jobs/best.ts';

/** A job in a comparison. */
export interface Run {
  readonly job: JobView;
  /** Null if the config was not read, or if the user may not see it. */
  readonly config: FlatConfig | null;
  /** Null if the usage was not read, and for a job that has not started. */
  readonly usage?: JobUsage | null;
}

/** Flattens config and dataloader into one map from path to value. */
export const flatConfig = (config: unknown, dataloader: unknown): FlatConfig =>
  new Map([
    ...flatten(config),
    ...(dataloader === null || dataloader === undefined ? [] : flatten({ dataloader })),
  ]);

/** The table of a comparison: the keys in which the jobs differ, and the value of each job. */
export interface Varied {
  readonly keys: readonly string[];
  readonly valueOf: (run: Run, key: string) => unknown;
}

/** Maximum number of keys that are columns. Configs of different trainers differ in nearly all keys. */
const maxKeys = 40;

/** Finds the keys whose values differ: in the sweep values if every run is part of a sweep, otherwise in the configs. */
export function variedKeys(runs: readonly Run[]): Varied {
  const isSweep = runs.length > 0 && runs.every(({ job }) => job.sweep !== null);
  const valuesOf = ({ job, config }: Run): FlatConfig =>
    isSweep ? new Map(Object.entries(job.sweep ?? {})) : (config ?? new Map<string, unknown>());
  const runsWithConfig = isSweep ? runs : runs.filter(({ config }) => config !== null);
  const keys = differingKeys(runsWithConfig.map(valuesOf)).slice(0, maxKeys);
  return { keys, valueOf: (run, key) => valuesOf(run).get(key) };
}

/**
 * Returns why no value differs. `same`: the configs are equal. `hidden`: the user may not see one of the configs.
 * `unread`: a config has not been read. Returns null when values differ, and for a single job.
 */
export function whyNoneDiffers(
  runs: readonly Run[],
  { keys }: Varied,
  maySee: (job: JobView) => boolean,
): 'same' | 'hidden' | 'unread' | null {
  if (keys.length > 0 || runs.length < 2) return null;
  const isSweep = runs.every(({ job }) => job.sweep !== null);
  if (isSweep || runs.every(({ config }) => config !== null)) return 'same';
  return runs.every(({ job }) => maySee(job)) ? 'unread' : 'hidden';
}

/** Returns the only key that differs; null if there are none or several, or if a config is unknown. */
export function onlyDifference(runs: readonly Run[], { keys }: Varied): string | null {
  const [key] = keys;
  if (key === undefined || keys.length > 1) return null;
  const isSweep = runs.every(({ job }) => job.sweep !== null);
  return isSweep || runs.every(({ config }) => config !== null) ? key : null;
}

/** Returns the runs with the best loss first. Runs without a loss come last, in their original order. */
export const sortedByBestLoss = (runs: readonly Run[]): readonly Run[] =>
  runs.toSorted((a, b) => lossForOrder(a) - lossForOrder(b));

const lossForOrder = ({ job }: Run): number => bestLossOf(job.progress) ?? Number.MAX_VALUE;

/** Formats a config value for a cell: a dash for a missing value, a text as it is, and any other value as JSON. */
export function textOfValue(value: unknown): string {
  if (value === undefined) return '–';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** An axis of parallel coordinates: each value has a position from 0 (bottom) to 1. */
export interface ParallelAxis {
  readonly title: string;
  readonly ticks: readonly { readonly text: string; readonly at: number }[];
  /** Null if the job has no value on this axis. */
  readonly positionOf: (run: Run) => number | null;
}

/** Returns one axis for each key, with evenly spaced values, and one for the loss. */
export function parallelAxes(
  runs: readonly Run[],
  { keys, valueOf }: Varied,
  lossTitle: string,
  lossText: (loss: number) => string,
): readonly ParallelAxis[] {
  const axes = keys.map((key): ParallelAxis => {
    const texts = [...new Set(runs.map(run => valueOf(run, key)))].toSorted(compareValues).map(textOfValue);
    const positionOf = (text: string): number =>
      texts.length < 2 ? 0.5 : texts.indexOf(text) / (texts.length - 1);
    return {
      title: key.slice(key.lastIndexOf('.') + 1),
      ticks: texts.map(text => ({ text, at: positionOf(text) })),
      positionOf: run => positionOf(textOfValue(valueOf(run, key))),
    };
  });
  return [...axes, lossAxis(runs, lossTitle, lossText)];
}

function lossAxis(runs: readonly Run[], title: string, lossText: (loss: number) => string): ParallelAxis {
  const losses = runs.flatMap(({ job }) => bestLossOf(job.progress) ?? []);
  const [min, max] = [Math.min(...losses), Math.max(...losses)];
  const positionOf = (loss: number): number => (min < max ? (loss - min) / (max - min) : 0.5);
  const ends = losses.length === 0 ? [] : [...new Set([min, max])];
  return {
    title,
    ticks: ends.map(loss => ({ text: lossText(loss), at: positionOf(loss) })),
    positionOf({ job }) {
      const loss = bestLossOf(job.progress);
      return loss === null ? null : positionOf(loss);
    },
  };
}

/** Sorts numbers by size and puts them before texts. */
function compareValues(a: unknown, b: unknown): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  if (typeof a === 'number') return -1;
  if (typeof b === 'number') return 1;
  return textOfValue(a).localeCompare(textOfValue(b));
}
