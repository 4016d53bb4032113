import type { FailureCause } from '../../../protocol/job.ts';
import type { JobId } from '../../../protocol/ids.ts';

/** How an attempt ended, as evidence for or against its worker. */
export interface Trial {
  readonly jobId: JobId;
  readonly cause: FailureCause | null;
  /** Run time since its worker claimed it; null if it never did. */
  readonly ranMs: number | null;
}

export interface QuarantinePlan {
  readonly strikes: readonly JobId[];
  readonly verdict: 'unchanged' | 'clear' | 'quarantine';
}

/** Maximum number of strikes in a row by different jobs, and of unacknowledged offers in a row. */
const maxStrikes = 3;
const tooSoonMs = 60_000;

/** Causes that say nothing about whether trainings can start on the worker. */
const beside: ReadonlySet<FailureCause> = new Set(['worker_lost', 'preempted', 'rejected', 'invalid_config']);

/**
 * Quarantines a worker after three different jobs in a row that could not start or died by a signal within a minute
 * (docs/internals/semantics.md, section 1). Repeated strikes of one job count once. A trainer's own exit code is no
 * strike. Any end that is no strike clears the worker, unless its cause is in `beside` or nothing has run. A worker on
 * trial is quarantined again by its next strike.
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
  const saysNothing = cause === null ? ranMs === null : beside.has(cause);
  return saysNothing ? { strikes, verdict: 'unchanged' } : { strikes: [], verdict: 'clear' };
}

/** Ending an earlier job takes seconds to minutes. With the default times, this many offers take nine minutes. */
const maxMissedWhileBusy = 12;

/**
 * Whether a withdrawn offer quarantines its worker. `missed`: the number of unacknowledged offers in a row, including
 * this one. The caller counts only offers to a worker in contact, because a silent one will be offline soon. A worker
 * on trial gets no second chance. A worker that names a job in its heartbeats may still be ending an earlier one, so it
 * gets more time.
 */
export const isQuarantinedForSilence = (missed: number, onTrial: boolean, namesJob: boolean): boolean =>
  missed >= (namesJob ? maxMissedWhileBusy : onTrial ? 1 : maxStrikes);
