import type { FailureCause } from '../../protocol/job.ts';
import type { JobId } from '../../protocol/ids.ts';

/** How an attempt ended, as far as it speaks for or against its worker. */
export interface Trial {
  readonly jobId: JobId;
  readonly cause: FailureCause | null;
  /** Since its worker took it; null when it never did. */
  readonly ranMs: number | null;
}

export interface QuarantinePlan {
  readonly strikes: readonly JobId[];
  readonly verdict: 'unchanged' | 'clear' | 'quarantine';
}

/** In a row, of different jobs; or offers in a row that were not acknowledged. */
const mostStrikes = 3;
const tooSoonMs = 60_000;

/** Ends that say nothing about whether trainings can start on the worker. */
const beside: ReadonlySet<FailureCause> = new Set(['worker_lost', 'preempted', 'rejected', 'invalid_config']);

/**
 * Three different jobs in a row that could not start, or died by a signal within a minute, and the worker gets no more
 * (docs/internals/semantics.md, section 1). One job alone, however often, speaks against itself; a trainer's own exit code does not
 * count; any other end clears the worker. One that is on trial goes back with its next strike.
 */
export function planQuarantine(
  strikes: readonly JobId[],
  onTrial: boolean,
  { jobId, cause, ranMs }: Trial,
): QuarantinePlan {
  const isStrike =
    cause === 'start_failed' || (cause === 'trainer_signal' && (ranMs === null || ranMs < tooSoonMs));
  if (isStrike) {
    const struck = [...strikes.filter(id => id !== jobId), jobId].slice(-mostStrikes);
    return {
      strikes: struck,
      verdict: onTrial || struck.length === mostStrikes ? 'quarantine' : 'unchanged',
    };
  }
  const saysNothing = cause === null ? ranMs === null : beside.has(cause);
  return saysNothing ? { strikes, verdict: 'unchanged' } : { strikes: [], verdict: 'clear' };
}

/** Ending an earlier job takes seconds to minutes; these offers last nine minutes with the usual times. */
const mostMissedWhileBusy = 12;

/**
 * What an offer that was given up says about its worker: `missed` counts it and those before it in a row. It counts only
 * while the worker is in contact, because one that is silent will be offline soon. A worker on trial gets no second chance. One that
 * names a job in its heartbeats may still be ending an earlier one, so it gets more time.
 */
export const isQuarantinedForSilence = (missed: number, onTrial: boolean, namesJob: boolean): boolean =>
  missed >= (namesJob ? mostMissedWhileBusy : onTrial ? 1 : mostStrikes);
