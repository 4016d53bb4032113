import type { AttemptId } from '../../../protocol/ids.ts';
import type { EarlierRuns } from '../../../protocol/submitted.ts';
import { stepsOf, trainerFor } from '../../../trainers/index.ts';
import type { JobPayload, PendingJob } from '../model.ts';
import type { Read } from '../ports/index.ts';
import { figuresOf } from '../rules/earlier-figures.ts';

/** Number of GPUs whose memory is read for each run. All GPUs of a training need about the same memory. */
const maxGpus = 2;
/** Maximum number of runs whose memory peak is cached. A full cache is cleared. */
const maxPeaks = 1_000;
const isMemory = /^gpu\.\d+\.memory_mb$/;

/** Creates a reader of figures about earlier runs. Caches memory peaks, because ended runs do not change. */
export function createEarlierRuns() {
  const peaks = new Map<AttemptId, number | null>();
  const peakOf = (read: Read, attempt: AttemptId): number | null => {
    const cached = peaks.get(attempt);
    if (cached !== undefined) return cached;
    const keys = read.seriesKeys(attempt).filter(key => isMemory.test(key));
    const highest = keys
      .slice(0, maxGpus)
      .flatMap(key => read.series(attempt, key).map(({ max }) => max))
      .reduce((most, max) => Math.max(most, max), 0);
    const peak = highest > 0 ? highest : null;
    if (peaks.size >= maxPeaks) peaks.clear();
    peaks.set(attempt, peak);
    return peak;
  };
  return {
    /** Returns figures of similar completed jobs; null if there are none. `user`: only jobs of this user; null for all. */
    figures(
      read: Read,
      { spec }: PendingJob,
      { config }: Pick<JobPayload, 'config'>,
      user: string | null,
    ): EarlierRuns | null {
      if (spec.likeness === undefined) return null;
      const runs = read.alikeJobs(spec.likeness, user).map(({ id, attemptId, ...run }) => ({
        ...run,
        peakMemoryMb: peakOf(read, attemptId),
        outputBytes: read.storedBytes(id).ofJob,
      }));
      return figuresOf(runs, stepsOf(trainerFor(config).name, config));
    },
  };
}
