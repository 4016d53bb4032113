import type { AttemptId, JobId, WorkerId } from '../../../../protocol/ids.ts';
import type { JobDetail } from '../../../../protocol/job.ts';
import { accept, type Outcome, type Refusal, refuse } from '../../../../protocol/problem.ts';
import { type Core, recordJobEvent } from '../../core.ts';
import { type Actor, asWorker, type EndedJob, type Job, type Outstanding, system } from '../../model.ts';
import { releaseAfterUploads } from '../jobs/dependencies.ts';
import type { Read, Tx } from '../../ports/index.ts';
import { uploadRefusal } from '../../rules/output-rules.ts';

/** Removes the unfinished uploads of a job, so that they no longer count towards limits. `attempt`: null for all attempts. */
export function releaseUploads(core: Core, tx: Tx, id: JobId, attempt: AttemptId | null = null): void {
  if (tx.removeUploadsOf(id, attempt) > 0) tx.afterCommit(core.onFilesDropped);
}

/**
 * Removes the unfinished uploads of a job after a new attempt started, and after the job failed or was cancelled. A completed
 * job keeps its uploads, because its last files may still arrive.
 */
export function releaseWithAttempt(core: Core, tx: Tx, job: Job): void {
  if (job.status === 'dispatched' || job.status === 'failed' || job.status === 'cancelled')
    releaseUploads(core, tx, job.id);
}

/** The attempt for which an upload token was issued. */
export interface Uploader {
  readonly jobId: JobId;
  readonly attemptId: AttemptId;
  /** The generation of the upload token. Each rotation of the worker token starts a new generation. */
  readonly generation: number;
}

/** A worker's report about the files that it has not uploaded yet. */
interface Report {
  readonly files: number;
  readonly bytes: number;
  readonly reason: string | null;
}

type Reads = Pick<Read, 'job' | 'outstanding'>;

/** Returns why the attempt may not upload now; null when it may. Does not check the generation of its upload token. */
export function findUploadRefusal(
  core: Core,
  read: Reads,
  { jobId, attemptId }: Omit<Uploader, 'generation'>,
): Refusal | null {
  const job = read.job(jobId);
  const outstanding = job?.status === 'completed' ? read.outstanding(jobId) : null;
  const windowOpenedAt = core.uploadWindows.openedAt(attemptId);
  const now = { wall: core.time.now(), mono: core.clock.mono() };
  return uploadRefusal({ job, outstanding, windowOpenedAt }, attemptId, now);
}

/**
 * Returns the job if the attempt may upload to it now. If the job has completed, the first call starts the limited time for
 * its last uploads.
 */
export function jobToUploadTo(
  core: Core,
  read: Reads & Pick<Read, 'uploadGenerations'>,
  uploader: Uploader,
): Outcome<Job> {
  const refusal = findUploadRefusal(core, read, uploader);
  if (refusal !== null) return { ok: false, refusal };
  const job = read.job(uploader.jobId);
  if (!job?.attempt) return refuse('uploads_closed', 'The job was deleted');
  const valid = read.uploadGenerations(job.attempt.workerId);
  if (valid === null) return refuse('uploads_closed', 'The worker was deleted: its uploads are closed');
  if (uploader.generation !== valid.current && uploader.generation !== valid.old)
    return refuse(
      'upload_token_rotated',
      'The worker token was rotated after this upload token was issued. The worker itself gets a new one; a running trainer does not',
    );
  if (job.status === 'completed') core.uploadWindows.open(uploader.attemptId, core.clock.mono());
  return accept(job);
}

/**
 * Called in the transaction that completes a job. Starts the limited time for its last uploads. `isPending`: whether the
 * worker still has files to upload.
 */
export function noteCompleted(core: Core, tx: Tx, job: Job, isPending: boolean): void {
  const { attempt } = job;
  if (attempt === null) return;
  const attemptId = attempt.id;
  tx.afterCommit(() => core.uploadWindows.open(attemptId, core.clock.mono()));
  if (!isPending) return;
  const unknown = { files: null, bytes: null, reason: null } as const;
  tx.setOutstanding({ jobId: job.id, attemptId, ...unknown, since: core.clock.wall(), state: 'pending' });
}

/** Returns the generation for new upload tokens: the old one while the old worker token is still valid. */
export function generationOf(read: Pick<Read, 'uploadGenerations'>, worker: WorkerId): number {
  const { current = 0, old = null } = read.uploadGenerations(worker) ?? {};
  return old ?? current;
}

/** Calls about the files that the worker of a completed job still has to upload. */
export const createOutstandingCalls = (core: Core) => ({
  /**
   * Exchanges an older upload token for a valid one of the same attempt, which must belong to this worker. While the old
   * worker token is still valid, the new upload token expires together with it. Otherwise, a caller with the old worker
   * token could get an upload token that stays valid.
   */
  renewUploadToken(worker: WorkerId, uploader: Uploader | null): Outcome<{ readonly upload_token: string }> {
    const { store, uploadTokenOf } = core;
    const job = uploader === null ? null : store.job(uploader.jobId);
    const isOwn =
      job?.attempt?.workerId === worker || store.heldNodeOf(worker)?.attemptId === uploader?.attemptId;
    if (uploader === null || uploadTokenOf === null || !job?.attempt || !isOwn)
      return refuse('not_your_job', 'This is not the upload token of a job of this worker');
    const refusal = findUploadRefusal(core, store, uploader);
    if (refusal !== null) return { ok: false, refusal };
    return accept({
      upload_token: uploadTokenOf(
        uploader.jobId,
        uploader.attemptId,
        generationOf(store, job.attempt.workerId),
      ),
    });
  },

  /** Stores a report about outstanding files. A report of 0 files ends the uploads of the attempt. */
  reportOutstanding: (uploader: Uploader, report: Report): Promise<Outcome<unknown>> =>
    core.store.write((tx): Outcome<unknown> => {
      const uploadable = jobToUploadTo(core, tx, uploader);
      if (!uploadable.ok) return uploadable;
      const job = uploadable.value;
      if (job.status !== 'completed')
        return refuse('job_not_final', `Job ${job.id} is ${job.status}: report its end first`);
      const before = tx.outstanding(job.id);
      const { attemptId } = uploader;
      const since = before?.since ?? core.clock.wall();
      const isDone = report.files === 0;
      const state = isDone ? 'done' : 'pending';
      tx.setOutstanding({ jobId: job.id, attemptId, ...report, since, state });
      if (isDone) closeUploads(core, tx, job);
      // Observers need an event only if the job was shown with outstanding files, which is rare.
      if (isDone && (before === null || before.files === null)) return accept(true);
      const by = job.attempt === null ? system : asWorker(job.attempt.workerId);
      if (isDone) noteClosed(core, tx, job, 'artifact.uploads_done', by);
      recordJobEvent(core, tx, 'job.outstanding', job, by);
      return accept(true);
    }),

  /** Stops waiting for the outstanding files of a completed job. */
  giveUpOutstanding: (id: JobId, by: Actor): Promise<Outcome<JobId>> =>
    core.store.write((tx): Outcome<JobId> => {
      const job = tx.job(id);
      if (job === null) return refuse('job_not_found', `There is no job ${id}`);
      const outstanding = tx.outstanding(id);
      if (job.status !== 'completed' || outstanding?.state !== 'pending')
        return refuse('nothing_outstanding', `No files of job ${id} are outstanding`);
      tx.setOutstanding({ ...outstanding, state: 'given_up' });
      closeUploads(core, tx, job);
      noteClosed(core, tx, job, 'artifact.uploads_given_up', by, outstanding);
      recordJobEvent(core, tx, 'job.outstanding', job, by);
      return accept(id);
    }),
});

/** Removes the unfinished uploads of a completed job, and releases its children, because no further file will arrive. */
function closeUploads(core: Core, tx: Tx, job: EndedJob): void {
  releaseUploads(core, tx, job.id);
  releaseAfterUploads(core, tx, job);
}

function noteClosed(
  core: Core,
  tx: Tx,
  { id }: EndedJob,
  type: 'artifact.uploads_done' | 'artifact.uploads_given_up',
  actor: Actor,
  left: Pick<Outstanding, 'files' | 'bytes'> = { files: 0, bytes: 0 },
): void {
  const details = { files: left.files, bytes: left.bytes };
  tx.appendAudit({ at: core.clock.wall(), type, actor, target: { type: 'job', id }, details });
  tx.afterCommit(() => core.log.info(type, { job_id: id }));
}

/** Returns a completed job's outstanding uploads; null when there are none. */
export function outstandingView(core: Core, read: Read, job: Job): JobDetail['outstanding'] {
  const outstanding = job.status === 'completed' ? read.outstanding(job.id) : null;
  if (outstanding?.state !== 'pending') return null;
  const { files, bytes, reason, since } = outstanding;
  return { files, bytes, reason, since: core.clock.iso(since) };
}
