import { localJob, type Summary } from '../summary.ts';

/** Electron removes the bar at a negative value, and shows an indeterminate one above 1. */
export const noProgress = -1;
const unknownProgress = 2;

/** Returns the progress of the job that runs on the orchestrator's machine, as Electron expects it. */
export function progressOf(summary: Summary): number {
  const job = localJob(summary);
  if (job === null) return noProgress;
  return job.percent === null ? unknownProgress : job.percent / 100;
}
