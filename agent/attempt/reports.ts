import type { CallFailure } from '../../protocol/client.ts';
import type { AttemptId, JobId } from '../../protocol/ids.ts';
import type { StatusReportBody } from '../../protocol/worker-api.ts';
import type { ApiClient } from '../connection/api-client.ts';
import type { Clock } from '../clock.ts';
import { pause, retry } from '../retry/retry.ts';
import { policyOf } from '../retry/decisions.ts';
import type { Held } from '../job.ts';
import type { ExitRecord, Order } from '../guard/guard-files.ts';

/** The final report of an attempt that was stopped before its trainer was started. */
export const neverStarted = (
  order: Order,
  error = 'The worker was stopped before the training was started',
): StatusReportBody =>
  order === 'cancel' ? { status: 'cancelled' } : { status: 'failed', cause: 'preempted', error };

/** Why a run was stopped, for its report. */
export interface Stopping {
  /** A sentence without the full stop. */
  readonly why: string;
  /**
   * Whether the progress shows unfinished training. Needed because a stopped trainer may exit with 0. Always true on
   * workers other than the attempt's first, because only the first has progress.
   */
  readonly isUnfinished: boolean;
}

export const workerStopped: Stopping = { why: 'The worker was stopped', isUnfinished: false };

/**
 * Returns the final report of a run that has ended. Depends only on data that is on disk, so that the agent's next
 * process reports the same. `exit` is null when the guard ended without an exit record. `order` is the stop order that
 * was given, whether or not it was carried out.
 */
export function endReport(
  exit: ExitRecord | null,
  order: Order | null,
  stopping: Stopping = workerStopped,
): StatusReportBody {
  if (exit === null) return guardGone(order);
  if (exit.startError !== null) return { status: 'failed', cause: 'start_failed', error: exit.startError };
  const end = { exit_code: exit.code, signal: exit.signal };
  const isCut = stopping.isUnfinished && exit.stopped !== null;
  if (exit.code === 0 && !isCut) return { status: 'completed', ...end };
  if (order === 'cancel') return { status: 'cancelled', ...end };
  const error = describeExit(exit);
  if (order === 'leave_now')
    return { status: 'failed', cause: 'preempted', error: `${stopping.why}. ${error}`, ...end };
  if (exit.stopped === 'lost_contact') {
    const why = 'Stopped because contact with the orchestrator was lost (on_lost_contact: stop)';
    return { status: 'failed', cause: 'worker_lost', error: `${why}. ${error}`, ...end };
  }
  if (/No module named '?simpletuner/.test(exit.tail)) {
    const remedy =
      'No trainer found: SimpleTuner is not installed in the Python on PATH. Install it, or use --trainer';
    return { status: 'failed', cause: 'start_failed', error: `${remedy}\n${error}`, ...end };
  }
  return { status: 'failed', error, ...end };
}

function guardGone(order: Order | null): StatusReportBody {
  if (order === 'cancel') return { status: 'cancelled' };
  const error =
    'The guard of the training ended unexpectedly. Perhaps it was killed because memory ran out. The rest of the training was stopped';
  return { status: 'failed', cause: 'worker_lost', error };
}

function describeExit({ code, signal, tail }: ExitRecord): string {
  const exited = code === null ? 'Training was not started' : `Training exited with code ${code}`;
  const how = signal === null ? exited : `Training was ended by ${signal}`;
  return tail === '' ? how : `${how}\n${tail}`;
}

/**
 * The orchestrator accepted the report (`taken`) or refused it permanently (`refused`), or the signal fired first (`aborted`).
 */
export type Answer = 'taken' | 'refused' | 'aborted';

export type Report = (
  jobId: JobId,
  attemptId: AttemptId,
  report: StatusReportBody,
  signal: AbortSignal,
) => Promise<Answer>;

export interface ReporterDeps {
  readonly clock: Clock;
  readonly api: Pick<ApiClient, 'report'>;
  readonly random: () => number;
  readonly onTrouble: (failure: CallFailure) => void;
}

const answers = { done: 'taken', stopped: 'refused', aborted: 'aborted' } as const;

/** Retries a report until the response is final (docs/internals/semantics.md, section 4). */
export function createReporter({ clock, api, random, onTrouble }: ReporterDeps): Report {
  return async (jobId, attemptId, report, signal) => {
    const send = (): ReturnType<ApiClient['report']> => api.report(jobId, attemptId, report);
    const end = await retry(send, { ...policyOf('report'), clock, random, signal, onFailure: onTrouble });
    return answers[end.kind];
  };
}

interface ProgressReporterDeps {
  readonly clock: Clock;
  readonly api: Pick<ApiClient, 'report'>;
  /** The job slot of the agent. */
  readonly slot: () => {
    readonly alive: (attemptId: AttemptId) => boolean;
    readonly abandon: (jobId: JobId) => void;
  };
  /** Fires when the agent ends. Cancels the pause between reports. */
  readonly ended: AbortSignal;
}

const minIntervalMs = 1_000;

/**
 * Reports the progress of a job: at most once a second, only the newest, and without retries, because the next report
 * is newer. Sends nothing after an attempt's final report, because a late report would revive the job.
 */
export function createProgressReporter({
  clock,
  api,
  slot,
  ended,
}: ProgressReporterDeps): (held: Held, report: StatusReportBody) => void {
  let pending: { readonly held: Held; readonly report: StatusReportBody } | null = null;
  let busy = false;

  const send = async ({ jobId, attemptId }: Held, report: StatusReportBody): Promise<void> => {
    const result = await api.report(jobId, attemptId, report);
    if (result.ok || result.failure.kind !== 'problem') return;
    // The orchestrator has taken the job from this attempt. This worker may already run a newer attempt of the job.
    if (result.failure.problem.action === 'stop' && slot().alive(attemptId)) slot().abandon(jobId);
  };

  const pump = (): void => {
    if (busy || pending === null) return;
    const { held, report } = pending;
    pending = null;
    if (!slot().alive(held.attemptId)) return;
    busy = true;
    void send(held, report)
      .then(() => pause(clock, minIntervalMs, ended))
      .then(passed => {
        busy = false;
        if (passed) pump();
      });
  };

  return (held, report) => {
    pending = { held, report };
    pump();
  };
}
