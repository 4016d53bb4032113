import type { ShownStatus } from '../../../protocol/job.ts';
import type { Job } from '../model.ts';

/** Returns the job's status for users: `blocked` for a pending job that waits for approval. */
export const shownStatus = (job: Pick<Job, 'status' | 'approval'>): ShownStatus =>
  job.status === 'pending' && job.approval === 'wanted' ? 'blocked' : job.status;

/** Returns the name of a job for users: its own name, or else the name of its config. */
export const nameOfJob = ({ spec }: Job): string => spec.about.name ?? spec.configName;
