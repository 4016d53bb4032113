import type { FailureCause, JobStatus } from '../../../protocol/job.ts';
import type { JobId } from '../../../protocol/ids.ts';
import type { Attempt } from '../model.ts';

/** The end of a trainer according to a final report. Unreported values are null. */
export interface Ending {
  readonly cause: Extract<
    FailureCause,
    'start_failed' | 'invalid_config' | 'rejected' | 'preempted' | 'worker_lost'
  > | null;
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly error: string | null;
}

const outOfMemory = /CUDA out of memory|OutOfMemoryError|HIP out of memory|std::bad_alloc/;

/** SimpleTuner's agent reports a trainer's end with this text. A negative code is a signal number (Python's convention). */
const exitedWith = /exited with code (-?\d+)/i;

/** Returns the cause of a failed attempt. */
export function failureCause(ending: Ending): FailureCause {
  if (ending.cause !== null) return ending.cause;
  if (ending.error !== null && outOfMemory.test(ending.error)) return 'out_of_memory';
  const code = ending.exitCode ?? numberIn(ending.error);
  // The orchestrator did not request this SIGTERM: a provider takes a spot machine back, or the owner stops the trainer.
  if (ending.signal === 'SIGTERM' || code === -15) return 'preempted';
  if (ending.signal !== null || (code !== null && code < 0)) return 'trainer_signal';
  return 'trainer_exit';
}

function numberIn(error: string | null): number | null {
  const match = error === null ? null : exitedWith.exec(error);
  return match?.[1] === undefined ? null : Number(match[1]);
}

/**
 * Backoff before the first, second and third retry. `maxBackoffMs` applies to all further retries. After the loss of a
 * worker, the backoff bars only that worker. So an unreliable machine cannot use up all retries in a row.
 */
const firstBackoffsMs: readonly number[] = [0, 30_000, 120_000];
const maxBackoffMs = 600_000;

/** Returns the backoff of a job that has used this many retries (at least 1). */
export const backoffMs = (retriesUsed: number): number => firstBackoffsMs[retriesUsed - 1] ?? maxBackoffMs;

/**
 * Failures that the trainer did not cause (docs/internals/semantics.md, section 2). They are always retried within the retry
 * budget. A failure of the trainer would most likely recur, so it is retried only if the job requests that.
 */
const externalCauses: ReadonlySet<FailureCause> = new Set(['worker_lost', 'preempted']);

/** Whether the attempt failed because of its worker. Another worker can then take the job immediately. */
export const isWorkerLoss = (cause: FailureCause | null): boolean =>
  cause !== null && externalCauses.has(cause);

export type RetryPlan =
  | { readonly retry: true; readonly retriesUsed: number; readonly delayMs: number }
  | { readonly retry: false };

export interface RetryBudget {
  readonly used: number;
  readonly max: number;
  /** Additional causes that the job's submitter chose to retry. */
  readonly retryOn: readonly FailureCause[];
}

/** Decides whether a failed job is retried, and after which backoff. */
export function planRetry(cause: FailureCause, { used, max, retryOn }: RetryBudget): RetryPlan {
  const isRetryable = externalCauses.has(cause) || retryOn.includes(cause);
  if (!isRetryable || used >= max) return { retry: false };
  return { retry: true, retriesUsed: used + 1, delayMs: backoffMs(used + 1) };
}

/** The end of an attempt, from which `planQuarantine` judges the worker. */
export interface Trial {
  readonly jobId: JobId;
  readonly cause: FailureCause | null;
  /** Time since the worker claimed the attempt; null if it never did. */
  readonly ranMs: number | null;
}

export interface QuarantinePlan {
  readonly strikes: readonly JobId[];
  readonly verdict: 'unchanged' | 'clear' | 'quarantine';
}

/** A worker is quarantined after strikes of this many different jobs in a row, or after this many missed offers in a row. */
const maxStrikes = 3;
/** If a signal ends the trainer within this time in ms, the job counts as a strike. */
const tooSoonMs = 60_000;

/** Causes that say nothing about whether trainings can start on the worker. */
const unrelatedCauses: ReadonlySet<FailureCause> = new Set([
  'worker_lost',
  'preempted',
  'rejected',
  'invalid_config',
]);

/**
 * Quarantines a worker after strikes of three different jobs in a row (docs/internals/semantics.md, section 1). A strike is
 * a job that could not start, or that a signal ended within a minute. A trainer that exits with an error code is no strike.
 * Any end that is no strike clears the worker, unless its cause is in `unrelatedCauses` or nothing has run. A worker on trial
 * is quarantined again after a single strike.
 */
export function planQuarantine(
  strikes: readonly JobId[],
  onTrial: boolean,
  { jobId, cause, ranMs }: Trial,
): QuarantinePlan {
  const isStrike =
    cause === 'start_failed' || (cause === 'trainer_signal' && (ranMs === null || ranMs < tooSoonMs));
  if (isStrike) {
    const struck = [...strikes.filter(id => id !== jobId), jobId].slice(-maxStrikes);
    return {
      strikes: struck,
      verdict: onTrial || struck.length === maxStrikes ? 'quarantine' : 'unchanged',
    };
  }
  const saysNothing = cause === null ? ranMs === null : unrelatedCauses.has(cause);
  return saysNothing ? { strikes, verdict: 'unchanged' } : { strikes: [], verdict: 'clear' };
}

/**
 * Number of unacknowledged offers in a row that quarantines a worker with an earlier job. Ending that job takes seconds to
 * minutes. With the default times, this many offers take nine minutes.
 */
const maxMissedWhileBusy = 12;

/**
 * Whether a withdrawn offer quarantines its worker. `missed`: the number of unacknowledged offers in a row, including
 * this one. The caller counts only offers to workers in contact, because a silent worker will be offline soon. On trial,
 * one missed offer is enough. `namesJob`: the worker names a job in its heartbeats. Such a worker may still be ending an
 * earlier job, so it gets more time.
 */
export const isQuarantinedForSilence = (missed: number, onTrial: boolean, namesJob: boolean): boolean =>
  missed >= maxMissedOffers(onTrial, namesJob);

function maxMissedOffers(onTrial: boolean, namesJob: boolean): number {
  if (namesJob) return maxMissedWhileBusy;
  return onTrial ? 1 : maxStrikes;
}

/**
 * Maximum number of preemptions that cost no retry because the trainer had not started. Without this limit, a worker could
 * cause such preemptions forever. A new checkpoint resets the count.
 */
const maxUnstarted = 3;

interface PreemptedReport {
  /** Null or absent when the end was not announced. */
  readonly saved?: boolean | null | undefined;
  readonly exit_code?: number | null | undefined;
  readonly signal?: string | null | undefined;
}

/**
 * Whether an announced preemption costs no retry because it lost no work. Either the attempt saved and uploaded a
 * checkpoint, or its trainer never ran. `savedIn`: the attempt that uploaded the newest checkpoint. A trainer counts as
 * never run if the worker reported neither `running` nor an exit.
 */
export function isFreeEnd(
  { saved, exit_code: exitCode, signal }: PreemptedReport,
  status: JobStatus,
  attempt: number,
  earlier: readonly Attempt[],
  savedIn: number | null,
): boolean {
  if (saved === true && savedIn === attempt) return true;
  const hasRun =
    saved !== false || status !== 'starting' || typeof exitCode === 'number' || typeof signal === 'string';
  if (hasRun) return false;
  const free = earlier.filter(
    ({ n, end }) => n > (savedIn ?? 0) && end?.cause === 'preempted' && !end.charged,
  );
  return free.length < maxUnstarted;
}
