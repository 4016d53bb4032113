import type { EarlierRuns } from '../../../protocol/submitted.ts';

/** A completed run, for an estimate about a similar one. Figures that are unknown are null. */
export interface EarlierRun {
  readonly ranMs: number | null;
  readonly steps: number | null;
  /** Whether one attempt did the whole training. Otherwise its run time says nothing about another run. */
  readonly isWhole: boolean;
  readonly peakMemoryMb: number | null;
  readonly outputBytes: number;
}

/** Sums up earlier runs for a job with this number of steps; null without any run. */
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

/** A training of twice as many steps takes twice as long. Without both numbers, it takes as long as the earlier one. */
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
