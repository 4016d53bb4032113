import type { JobId } from '../../../protocol/ids.ts';
import type { PendingJob } from '../model.ts';
import type { Read } from '../ports/index.ts';

/** Number of jobs to look up one by one. Each lookup counts all jobs ahead, so for more jobs the whole queue is read once. */
const few = 8;
/** Maximum number of jobs to read at once. Jobs further back are looked up one by one. */
export const maxPositions = 100_000;

/** Returns a function that finds a job's position in the queue, 1 for the next job, as of one moment. */
export function createPositions(read: Pick<Read, 'position' | 'line'>): (job: PendingJob) => number {
  let asked = 0;
  let positions: ReadonlyMap<JobId, number> | null = null;
  return job => {
    asked += 1;
    if (asked <= few) return read.position(job);
    positions ??= new Map(read.line(maxPositions).map((id, index) => [id, index + 1]));
    return positions.get(job.id) ?? read.position(job);
  };
}
