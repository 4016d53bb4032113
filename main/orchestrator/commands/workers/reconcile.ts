import type { AttemptId, JobId } from '../../../../protocol/ids.ts';
import type { Core } from '../../core.ts';
import { asWorker, type LiveJob, type Worker } from '../../model.ts';
import type { Tx } from '../../ports/index.ts';
import { applyEvent } from '../transitions.ts';

/** The job that a worker reports to run. */
export interface Claimed {
  readonly jobId: JobId;
  /** Null from agents that do not know attempts. */
  readonly attemptId: AttemptId | null;
}

export type Verdict =
  /** Continue it. */
  | { readonly kind: 'resume'; readonly job: LiveJob }
  /** Stop it and report its end. */
  | { readonly kind: 'cancel'; readonly job: LiveJob }
  /** It no longer belongs to this worker: stop it and report nothing. */
  | { readonly kind: 'abandon' }
  | { readonly kind: 'nothing' };

/** Compares the job that a worker reports with the stored facts (the first table of docs/internals/semantics.md, section 5). */
export function reconcileClaim(core: Core, tx: Tx, worker: Worker, reported: Claimed): Verdict {
  const job = tx.job(reported.jobId);
  const attempt = job?.attempt;
  const current =
    attempt?.workerId === worker.id && (reported.attemptId === null || reported.attemptId === attempt.id);
  if (!job || !current) return { kind: 'abandon' };
  core.connections.clearAbsence(worker.id);
  if (job.status === 'cancelling') return { kind: 'cancel', job };
  // The worker has another job by now, and only that newer attempt counts.
  if (job.status === 'pending' && tx.liveJobOf(worker.id) !== null) return { kind: 'abandon' };
  const step = applyEvent(core, tx, job, { type: 'back' }, asWorker(worker.id));
  if (step.kind === 'refused') return { kind: 'abandon' };
  const now = tx.liveJobOf(worker.id);
  return now === null ? { kind: 'abandon' } : { kind: 'resume', job: now };
}

/** Handles a worker that does not name its job. An offer may not have reached it, so it stays. A trainer that had started is gone. */
export function reconcileAbsence(core: Core, tx: Tx, worker: Worker): void {
  const job = tx.liveJobOf(worker.id);
  if (job === null || job.status === 'dispatched') return;
  applyEvent(core, tx, job, { type: 'vanished' }, asWorker(worker.id));
}
