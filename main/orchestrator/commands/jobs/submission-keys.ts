import type { JobId } from '../../../../protocol/ids.ts';
import { maxBatchJobs } from '../../../../protocol/batch.ts';
import { accept, type Outcome, refuse } from '../../../../protocol/problem.ts';
import type { Core } from '../../core.ts';
import { type Actor, type Job, nameOf } from '../../model.ts';
import type { Read, Tx } from '../../ports/index.ts';

/** The client's key for this submission, and the hash of the whole request. */
export interface IdempotencyKey {
  readonly key: string;
  readonly fingerprint: string;
}

/** Time for which a key refers to its job: 24 hours. */
const keyLastsMs = 24 * 3_600_000;

/** Returns the job that this key already refers to; null for none. Refuses a key that was used for a different request. */
export function earlierJob(
  { time }: Pick<Core, 'time'>,
  read: Read,
  by: Actor,
  idempotency: IdempotencyKey | null,
): Outcome<JobId> | null {
  const submission = idempotency && read.submissionOf(nameOf(by), idempotency.key);
  return submission && time.earliest() - submission.at < keyLastsMs
    ? jobOfKey(submission, idempotency)
    : null;
}

/** Stores which job a key refers to. */
export function rememberKey(
  core: Core,
  tx: Tx,
  by: Actor,
  { key, fingerprint }: IdempotencyKey,
  jobId: JobId,
): void {
  const forgetBefore = core.time.earliest() - keyLastsMs;
  tx.rememberSubmission(nameOf(by), key, { jobId, fingerprint, at: core.time.latest() }, forgetBefore);
}

/**
 * Returns the stored key of the job at `index` in a submission of several jobs. Clients' keys contain no spaces, so a stored
 * key with an index cannot equal the key of another submission.
 */
const keyAt = ({ key, fingerprint }: IdempotencyKey, index: number): IdempotencyKey => ({
  key: index === 0 ? key : `${key} ${index}`,
  fingerprint,
});

/** Returns the jobs that this key already refers to; null for none. */
export function earlierJobs(
  core: Pick<Core, 'time'>,
  read: Read,
  by: Actor,
  idempotency: IdempotencyKey | null,
): Outcome<readonly JobId[]> | null {
  if (idempotency === null) return null;
  const ids: JobId[] = [];
  for (let index = 0; index < maxBatchJobs; index += 1) {
    const earlier = earlierJob(core, read, by, keyAt(idempotency, index));
    if (earlier === null) break;
    if (!earlier.ok) return earlier;
    ids.push(earlier.value);
  }
  return ids.length === 0 ? null : accept(ids);
}

/** Returns the jobs of a key that still exist. Refused if all were deleted. */
export function jobsOfKey(read: Read, ids: readonly JobId[]): Outcome<readonly Job[]> {
  const jobs = ids.map(id => read.job(id)).filter(job => job !== null);
  return jobs.length === 0
    ? refuse('job_not_found', 'The jobs to which this idempotency key belongs were deleted')
    : accept(jobs);
}

/** Stores which jobs a key refers to, for 24 hours. */
export function rememberJobs(
  core: Core,
  tx: Tx,
  by: Actor,
  idempotency: IdempotencyKey,
  ids: readonly JobId[],
): void {
  for (const [index, id] of ids.entries()) rememberKey(core, tx, by, keyAt(idempotency, index), id);
}

function jobOfKey(
  submission: { readonly jobId: JobId; readonly fingerprint: string },
  key: IdempotencyKey,
): Outcome<JobId> {
  if (submission.fingerprint === key.fingerprint) return accept(submission.jobId);
  return refuse(
    'idempotency_key_reused',
    `This idempotency key belongs to job ${submission.jobId}, whose request was different: use a new key for a new job`,
  );
}
