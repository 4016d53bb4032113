import type { AttemptId, JobId } from '../../protocol/ids.ts';
import type { Core } from './core.ts';
import { asWorker, type LiveJob, type Worker } from './model.ts';
import type { Tx } from './ports.ts';
import { applyEvent } from './transitions.ts';

/** What a worker says that it runs. */
export interface Claimed {
  readonly jobId: JobId;
  /** Null from agents that know no attempts. */
  readonly attemptId: AttemptId | null;
}

export type Verdict =
  /** Go on with it. */
  | { readonly kind: 'resume'; readonly job: LiveJob }
  /** It is to be stopped, and its end to be reported. */
  | { readonly kind: 'cancel'; readonly job: LiveJob }
  /** It is not this worker's any more: stop it, and say nothing. */
  | { readonly kind: 'abandon' }
  | { readonly kind: 'nothing' };

/** Compares what a worker says it runs with what is known (the first table of docs/internals/semantics.md, section 5). */
export function reconcileClaim(core: Core, tx: Tx, worker: Worker, said: Claimed): Verdict {
  const job = tx.job(said.jobId);
  const attempt = job?.attempt;
  const current =
    attempt?.workerId === worker.id && (said.attemptId === null || said.attemptId === attempt.id);
  if (!job || !current) return { kind: 'abandon' };
  core.presence.clearAbsence(worker.id);
  if (job.status === 'cancelling') return { kind: 'cancel', job };
  // Its place has been taken meanwhile: the newer attempt of this worker is the one that counts.
  if (job.status === 'pending' && tx.liveJobOf(worker.id) !== null) return { kind: 'abandon' };
  const step = applyEvent(core, tx, job, { type: 'back' }, asWorker(worker.id));
  if (step.kind === 'refused') return { kind: 'abandon' };
  const now = tx.liveJobOf(worker.id);
  return now === null ? { kind: 'abandon' } : { kind: 'resume', job: now };
}

/**
 * A worker that does not name the job which it is known to have: an offer may simply not have reached it and stays; a
 * process that had been started is gone.
 */
export function reconcileAbsence(core: Core, tx: Tx, worker: Worker): void {
  const job = tx.liveJobOf(worker.id);
  if (job === null || job.status === 'dispatched') return;
  applyEvent(core, tx, job, { type: 'vanished' }, asWorker(worker.id));
}
