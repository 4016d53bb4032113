import type { AttemptId } from '../../protocol/ids.ts';
import { type Refusal, refuse } from '../../protocol/problem.ts';
import type { Job, WallMs } from './model.ts';
import type { StoredBytes } from './ports.ts';

/** What artifacts may take up, in bytes. */
export interface StorageLimits {
  readonly perJob: number;
  readonly inAll: number;
  /** Of how many steps the checkpoints of a job stay, beside the best; 0 for all. */
  readonly keepCheckpoints: number;
}

/**
 * How long after a completed end its attempt may bring what it has not brought yet: its trainer has ended well, and what it left
 * to send is a part of the result. Any other end is one at once.
 */
const lastUploadsMs = 600_000;

/**
 * Why an attempt may not bring anything (any more); null when it may. As with reports it is the newest attempt alone that has a
 * say, and that only while it holds the job: one that was given up gets its say back when its worker does.
 */
export function uploadRefusal(job: Job | null, attemptId: AttemptId, now: WallMs): Refusal | null {
  const over = (why: string): Refusal => refuse('upload_token_over', `${why}: its uploads end here`).refusal;
  if (job === null) return over('The job was deleted');
  if (job.attempt?.id !== attemptId) return over(`A newer attempt of job ${job.id} has begun`);
  if (job.status === 'pending') return over(`The attempt of job ${job.id} was given up`);
  if (!('endedAt' in job)) return null;
  return job.status === 'completed' && Math.abs(now - job.endedAt) <= lastUploadsMs
    ? null
    : over(`Job ${job.id} has ended as ${job.status}`);
}

/** Why so many bytes more are not taken; null when they are. */
export function quotaRefusal(
  limits: Pick<StorageLimits, 'perJob' | 'inAll'>,
  stored: StoredBytes,
  bytes: number,
): Refusal | null {
  const over = (whose: string, limit: number): Refusal =>
    refuse(
      'quota_exceeded',
      `With these ${bytes} bytes the files of ${whose} would be more than ${limit} bytes: delete some, or set a higher limit`,
    ).refusal;
  if (stored.ofJob + bytes > limits.perJob) return over('this job', limits.perJob);
  return stored.inAll + bytes > limits.inAll ? over('all jobs', limits.inAll) : null;
}
