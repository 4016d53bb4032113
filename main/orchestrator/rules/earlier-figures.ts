import type { EarlierRuns } from '../../../protocol/submitted.ts';

/** A completed run, for the estimate of a similar run. Unknown figures are null. */
export interface EarlierRun {
  readonly ranMs: number | null;
  readonly steps: number | null;
  /** Whether one attempt did the whole training. Only then is its run time comparable. */
  readonly isWhole: boolean;
  readonly peakMemoryMb: number | null;
  readonly outputBytes: number;
}

/** Summarizes earlier runs for a job with this number of steps: median run time, highest memory and output. Null without runs. */
export function figuresOf(runs: readonly EarlierRun[], steps: number | null): EarlierRuns | null {
  if (runs.length === 0) return null;
  const peakMb = highest(runs.flatMap(({ peakMemoryMb }) => peakMemoryMb ?? []));
  const bytes = highest(runs.map(({ outputBytes }) => outputBytes));
  const expectedMs = median(runs.flatMap(run => expectedMsOf(run, steps)));
  return {
    runs: runs.length,
    expected_s: expectedMs === null ? null : Math.round(expectedMs / 1000),
    peak_memory_gb: peakMb === null ? null : Math.round((peakMb / 1024) * 10) / 10,
    output_bytes: bytes === null || bytes === 0 ? null : bytes,
  };
}

/** Assumes that the run time is proportional to the number of steps. If one number is unknown, assumes equal run times. */
function expectedMsOf({ ranMs, steps: done, isWhole }: EarlierRun, steps: number | null): readonly number[] {
  if (ranMs === null || !isWhole) return [];
  return steps === null || done === null || done === 0 ? [ranMs] : [(ranMs * steps) / done];
}

const highest = (values: readonly number[]): number | null =>
  values.length === 0 ? null : Math.max(...values);

function median(values: readonly number[]): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? null;
}
