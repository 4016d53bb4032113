import { localJob, type Summary } from '../summary.ts';

/** For a negative value, Electron removes the progress bar. Above 1, the bar shows unknown progress. */
export const noProgress = -1;
const unknownProgress = 2;

/** Returns the progress of the job on the orchestrator's own machine, as a value for Electron's progress bar. */
export function progressOf(summary: Summary): number {
  const job = localJob(summary);
  if (job === null) return noProgress;
  return job.percent === null ? unknownProgress : job.percent / 100;
}
