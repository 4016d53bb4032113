import type { AttemptId } from '../../protocol/ids.ts';
import type { StatusReportBody } from '../../protocol/worker-api.ts';
import type { Found } from './adopt.ts';
import { reasonOf } from '../files/failure-text.ts';
import {
  attendFound,
  type AttemptDeps,
  catchUpCurve,
  findingsOf,
  type HeldAttempt,
  startOffer,
  stoppedBefore,
  withoutOutput,
} from './held-attempt.ts';
import type { FinalReport } from '../state/state-folder.ts';
import type { JobOffer } from '../job.ts';

/** A bounded set of attempts that keeps the most recently added ones. */
export interface Attempts {
  add(attemptId: AttemptId): void;
  has(attemptId: AttemptId): boolean;
}

const maxAttempts = 100;

export function rememberAttempts(): Attempts {
  const ids = new Set<AttemptId>();
  return {
    add(attemptId) {
      ids.delete(attemptId);
      ids.add(attemptId);
      for (const oldest of ids) if (ids.size > maxAttempts) ids.delete(oldest);
    },
    has: attemptId => ids.has(attemptId),
  };
}

export interface LifeDeps extends AttemptDeps {
  /** Saves a final report on disk. Throws when the disk cannot be written. */
  readonly keep: (report: FinalReport) => void;
  /** Called when the orchestrator has acknowledged the final report, or when the attempt is abandoned. */
  readonly drop: (attemptId: AttemptId) => void;
}

/**
 * Runs an attempt from its offer to its final report. `begin` resolves with false when the orchestrator refused or
 * withdrew the attempt before its trainer was started. Otherwise, both methods resolve with true.
 */
export interface Life {
  begin(offer: JobOffer, held: HeldAttempt): Promise<boolean>;
  resume(found: Found, held: HeldAttempt): Promise<boolean>;
}

/** Claims, prepares, runs and reports attempts. Adds an attempt to `reported` when its final report has been answered. */
export function createLife(deps: LifeDeps, reported: Attempts): Life {
  const deliver = async (final: FinalReport, held: HeldAttempt): Promise<true> => {
    held.ended = true;
    const answer = await deps.report(held.jobId, held.attemptId, final.body, held.abandoned.signal);
    if (answer !== 'aborted') reported.add(held.attemptId);
    // If the agent ends first, the report stays on disk, and the next start sends it.
    if (answer !== 'aborted' || held.abandoned.signal.aborted) deps.drop(held.attemptId);
    return true;
  };

  const conclude = (report: StatusReportBody, held: HeldAttempt): Promise<true> | true => {
    const { jobId, attemptId } = held;
    // The agent's next process determines how the run ended.
    if (held.isReleased) return true;
    if (held.abandoned.signal.aborted) {
      deps.drop(attemptId);
      return true;
    }
    const final = { jobId, attemptId, body: { ...report, ...findingsOf(held) } };
    keep(deps, final);
    return deliver(final, held);
  };

  const depsFor = ({ rank }: HeldAttempt): AttemptDeps => (rank === 0 ? deps : withoutOutput(deps));

  const begin = async (offer: JobOffer, held: HeldAttempt): Promise<boolean> => {
    const { jobId, attemptId } = held;
    const claim = await deps.report(jobId, attemptId, { status: 'starting' }, held.abandoned.signal);
    if (claim !== 'taken' || held.abandoned.signal.aborted) return false;
    const report = held.order === null ? await startOffer(offer, held, depsFor(held)) : stoppedBefore(held);
    return report === null ? false : conclude(report, held);
  };

  return {
    begin,
    async resume(found, held) {
      const ownDeps = depsFor(held);
      if (found.kind === 'reported') {
        ownDeps.logs?.follow(held.attemptId, []);
        if (found.run !== undefined) catchUpCurve(found.run, ownDeps);
        ownDeps.logs?.finish(held.attemptId);
        return deliver(found.report, held);
      }
      return conclude(await attendFound(found, held, ownDeps), held);
    },
  };
}

/** Saves a final report on disk. Logs a failure instead of throwing, because the report can still be sent. */
function keep(deps: LifeDeps, final: FinalReport): void {
  try {
    deps.keep(final);
  } catch (cause) {
    deps.log(
      `Cannot save the result of job ${final.jobId} on disk: ${reasonOf(cause)}. The result is lost if this worker ends before ` +
        'the orchestrator answers. Free disk space, and keep the worker running',
    );
  }
}
