import type { JobEventType } from '../../../protocol/events.ts';
import type { FailureCause, FinalStatus } from '../../../protocol/job.ts';
import { type Refusal, refuse } from '../../../protocol/problem.ts';
import type {
  Attempt,
  AttemptEnd,
  EndedJob,
  AssignedJob,
  Job,
  LiveJob,
  PendingJob,
  StopOrder,
  StoppingJob,
  WallMs,
} from '../model.ts';
import { startWaiting } from './queue-rules.ts';
import { planRetry } from './failures.ts';

/** The end of a trainer, as reported by its worker. */
export interface ReportedEnd {
  readonly cause: FailureCause;
  readonly error: string | null;
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** The end was announced and lost no work, so it costs no retry: see `isFreeEnd`. */
  readonly isFree?: boolean;
}

/** The effect of an event on a job. */
export type Advance =
  | { readonly kind: 'moved'; readonly job: Job; readonly event: JobEventType }
  /** Nothing changes. `duplicate`: the worker repeated an earlier report. */
  | { readonly kind: 'same'; readonly duplicate: boolean }
  | { readonly kind: 'refused'; readonly refusal: Refusal };

/** The event changes nothing. */
export const stay = (): Advance => ({ kind: 'same', duplicate: false });
/** The event repeats an earlier report, so it changes nothing. */
export const repeated = (): Advance => ({ kind: 'same', duplicate: true });

/** Refuses the event. With `action: 'stop'`, the worker must stop its trainer. */
export const deny = (code: Refusal['code'], detail: string, action?: 'stop'): Advance => ({
  kind: 'refused',
  refusal: refuse(code, detail, action).refusal,
});

/** The fields that a job keeps in every status. */
const baseOf = (job: Job) => {
  const { id, order, spec, user, team, rank, approval, retryOf, retryRoot, dependencies } = job;
  const { queuedAt, retriesUsed, progress } = job;
  const origin = { retryOf, retryRoot, dependencies, queuedAt };
  return { id, order, spec, user, team, rank, approval, ...origin, retriesUsed, progress };
};

export function dispatchTo(job: PendingJob, attempt: Attempt): Advance {
  const live: AssignedJob = { ...baseOf(job), attempt, status: 'dispatched' };
  return { kind: 'moved', job: live, event: 'job.dispatched' };
}

/** Sets the status of a job with a live attempt. `starting` and `running` also set the attempt's start time once. */
export function setStatus(job: LiveJob, status: AssignedJob['status'], now: WallMs): Advance {
  const hasStarted = status === 'starting' || status === 'running';
  const attempt = hasStarted ? { ...job.attempt, startedAt: job.attempt.startedAt ?? now } : job.attempt;
  const assigned: AssignedJob = { ...baseOf(job), attempt, status };
  return { kind: 'moved', job: assigned, event: `job.${status}` };
}

/** Orders the job's worker to stop the attempt. */
export function stopFor(job: LiveJob, { why, end }: Pick<StopOrder, 'why' | 'end'>, now: WallMs): Advance {
  const stopping: StoppingJob = {
    ...baseOf(job),
    attempt: job.attempt,
    status: 'cancelling',
    stop: { why, since: now, ...(end && { end }) },
  };
  return { kind: 'moved', job: stopping, event: 'job.cancelling' };
}

type Exit = Omit<ReportedEnd, 'cause'>;
/** The exit of an attempt without a report about the end of its trainer. */
export const noExit: Exit = { error: null, exitCode: null, signal: null };

/** Ends the job with this status. */
export function finish(
  job: LiveJob | PendingJob,
  now: WallMs,
  status: FinalStatus,
  end: Exit & { readonly cause: FailureCause | null },
): Advance {
  // A pending job's last attempt already has an end. Only a late completion replaces it.
  const closes = job.status !== 'pending' || status === 'completed';
  const attempt =
    job.attempt && closes
      ? { ...job.attempt, end: { at: now, outcome: status, charged: false, ...end } }
      : job.attempt;
  const ended: EndedJob = {
    ...baseOf(job),
    attempt,
    status,
    endedAt: now,
    cause: end.cause,
    error: end.error,
  };
  return { kind: 'moved', job: ended, event: `job.${status}` };
}

/** Puts the job back in the queue. `retry`: the retry that the job uses; null if it uses none. */
export function requeue(
  job: LiveJob,
  now: WallMs,
  end: Omit<AttemptEnd, 'at' | 'charged'>,
  retry: { readonly retriesUsed: number; readonly delayMs: number } | null,
): Advance {
  const pending: PendingJob = {
    ...baseOf(job),
    // The waiting time restarts only if the attempt has started.
    rank: job.attempt.startedAt === null ? job.rank : startWaiting(job.rank, now),
    attempt: { ...job.attempt, end: { at: now, charged: retry !== null, ...end } },
    status: 'pending',
    notBefore: now + (retry?.delayMs ?? 0),
    retriesUsed: retry?.retriesUsed ?? job.retriesUsed,
  };
  return { kind: 'moved', job: pending, event: 'job.requeued' };
}

/**
 * Requeues the job if its end is free, or if the cause and the retry budget allow a retry; otherwise the job fails.
 * `outcome`: the attempt's outcome if the job is requeued.
 */
export function failOrRetry(
  job: LiveJob,
  end: ReportedEnd,
  outcome: 'requeued' | 'given_up',
  now: WallMs,
): Advance {
  const { isFree = false, ...reported } = end;
  if (isFree) return requeue(job, now, { ...reported, outcome }, null);
  const { maxRetries: max, retryOn } = job.spec;
  const plan = planRetry(end.cause, { used: job.retriesUsed, max, retryOn });
  return plan.retry
    ? requeue(job, now, { ...reported, outcome }, plan)
    : finish(job, now, 'failed', reported);
}

/**
 * Returns a pending job as it was while its last attempt ran. Refunds the retry that the attempt's end has cost. Returns
 * null if there is no attempt or if its end is known: then the event is outdated or a duplicate.
 */
export function revived(job: PendingJob, now: WallMs): AssignedJob | null {
  const { attempt } = job;
  const end = attempt?.end;
  if (!attempt || (end?.outcome !== 'given_up' && end?.outcome !== 'withdrawn')) return null;
  return {
    ...baseOf(uncharged(job)),
    status: 'running',
    attempt: { ...attempt, startedAt: attempt.startedAt ?? now, end: null },
  };
}

/** Returns the job with a refund of the retry that the last attempt's end has cost. */
export const uncharged = (job: PendingJob): PendingJob =>
  job.attempt?.end?.charged === true ? { ...job, retriesUsed: job.retriesUsed - 1 } : job;
