import type { ShownStatus } from '../../../protocol/job.ts';
import type { Job } from '../model.ts';

/** The job's status, but `blocked` for a pending job that waits for approval. */
export const shownStatus = (job: Pick<Job, 'status' | 'approval'>): ShownStatus =>
  job.status === 'pending' && job.approval === 'wanted' ? 'blocked' : job.status;

/** The name that people see. */
export const nameOfJob = ({ spec }: Job): string => spec.about.name ?? spec.configName;
