import type { AttemptId, JobId } from '../../../../protocol/ids.ts';
import type { Core } from '../../core.ts';
import type { Job } from '../../model.ts';
import type { Tx } from '../../ports/index.ts';

/** Drops unfinished uploads of the job, all or those of one attempt, so that they no longer count against any limit. */
export function releaseUploads(core: Core, tx: Tx, id: JobId, attempt: AttemptId | null = null): void {
  if (tx.removeUploadsOf(id, attempt) > 0) tx.afterCommit(core.onFilesDropped);
}

/**
 * Releases uploads that no earlier attempt can finish: a newer attempt holds the job, or the job failed or was
 * cancelled. A completed job keeps them, because its last files may still arrive.
 */
export function releaseWithAttempt(core: Core, tx: Tx, job: Job): void {
  if (job.status === 'dispatched' || job.status === 'failed' || job.status === 'cancelled')
    releaseUploads(core, tx, job.id);
}
