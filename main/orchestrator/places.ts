import type { JobId } from '../../protocol/ids.ts';
import type { PendingJob } from './model.ts';
import type { Read } from './ports.ts';

/** So many are looked up one by one. Each counts all that go before it: for more, the whole line is read at once. */
const few = 8;
/** Whoever is further behind is looked up by itself. */
export const longestLine = 100_000;

/** Finds the places of jobs in the line, 1 for the next one, as of one moment. */
export function createPlaces(read: Pick<Read, 'position' | 'line'>): (job: PendingJob) => number {
  let asked = 0;
  let places: ReadonlyMap<JobId, number> | null = null;
  return job => {
    asked += 1;
    if (asked <= few) return read.position(job);
    places ??= new Map(read.line(longestLine).map((id, index) => [id, index + 1]));
    return places.get(job.id) ?? read.position(job);
  };
}
