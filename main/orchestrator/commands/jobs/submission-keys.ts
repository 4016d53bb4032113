import type { JobId } from '../../../../protocol/ids.ts';
import { accept, type Outcome, refuse } from '../../../../protocol/problem.ts';
import type { Core } from '../../core.ts';
import { type Actor, nameOf } from '../../model.ts';
import type { Read, Tx } from '../../ports/index.ts';

/** The client's key for this submission, and the hash of the whole request. */
export interface IdempotencyKey {
  readonly key: string;
  readonly fingerprint: string;
}

/** Time for which a key refers to its job: 24 hours. */
const keyLastsMs = 24 * 3_600_000;

/** The job that this key already refers to; null for none. */
export function earlierJob(
  { time }: Pick<Core, 'time'>,
  read: Read,
  by: Actor,
  idempotency: IdempotencyKey | null,
): Outcome<JobId> | null {
  const known = idempotency && read.submissionOf(nameOf(by), idempotency.key);
  return known && time.earliest() - known.at < keyLastsMs ? jobOfKey(known, idempotency) : null;
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

function jobOfKey(
  known: { readonly jobId: JobId; readonly fingerprint: string },
  now: IdempotencyKey,
): Outcome<JobId> {
  if (known.fingerprint === now.fingerprint) return accept(known.jobId);
  return refuse(
    'idempotency_key_reused',
    `This idempotency key belongs to job ${known.jobId}, whose request was different: use a new key for a new job`,
  );
}
