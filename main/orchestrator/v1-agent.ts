/**
 * Everything in which SimpleTuner's own published agent (protocol 1) differs from Trainyard's agent (protocol 2), as
 * questions that the rest of the orchestrator asks. "It" in the comments is SimpleTuner's agent.
 * docs/internals/worker-contract.md, section 3, describes the behaviour behind each.
 */

interface Worker {
  /** Null before the first registration. */
  readonly agent: { readonly protocol: number } | null;
}

interface SettleTimes {
  readonly settleAfterReportMs: number;
  readonly settleAfterStopMs: number;
}

/** Whether the worker runs SimpleTuner's own agent. */
const isPublishedAgent = (worker: Worker | null): boolean => worker?.agent?.protocol === 1;

/** Whether the worker runs Trainyard's agent. False before its first registration. */
const isOwnAgent = (worker: Worker | null): boolean => worker?.agent?.protocol === 2;

/** It reports no trainers, and starts SimpleTuner with any config. */
export const trainersOfPublishedAgent = (worker: Worker): readonly string[] | null =>
  isPublishedAgent(worker) ? ['simpletuner', 'command'] : null;

/** Whether a guard keeps the trainer alive without the agent. It has none, so its trainer ends with it. */
export const hasGuard = (worker: Worker | null): boolean => isOwnAgent(worker);

/** It uploads no files, and sends neither logs nor points of curves. */
export const sendsOutputs = (worker: Worker | null): boolean => !isPublishedAgent(worker);

/** It cannot pass a request such as "save now" to its trainer. */
export const takesTrainerActions = (worker: Worker | null): boolean => isOwnAgent(worker);

/** Whether it resumes from uploaded files. Its trainer finds the checkpoints on its own rig instead. */
export const resumesFromUploads = (worker: Worker | null): boolean => isOwnAgent(worker);

/** It sends nothing while its trainer prints nothing, so it may get more time than other agents. */
export const silenceLimitOf = (
  worker: Worker,
  times: { readonly offlineAfterMs: number; readonly v1SilenceMs: number },
): number =>
  isPublishedAgent(worker) ? Math.max(times.offlineAfterMs, times.v1SilenceMs) : times.offlineAfterMs;

/** It needs a cooldown after each final report, even a refused one. */
export const needsCooldown = (worker: Worker | null): boolean => isPublishedAgent(worker);

/**
 * It drops a job that arrives too early after the response to a final report, or after a stop. Returns how long to wait,
 * in ms (items 4 and 7).
 */
export function cooldownOf(worker: Worker, times: SettleTimes, wasStopped: boolean): number {
  if (!isPublishedAgent(worker)) return 0;
  return wasStopped ? times.settleAfterStopMs : times.settleAfterReportMs;
}

/** It starts its trainer whatever the response to `starting` is, so an attempt that was given up resumes. */
export const resumesGivenUpAttempts = (worker: Worker | null): boolean => isPublishedAgent(worker);

/** Only a clean end of its stream makes it register again immediately, and report its job. */
export const registersWhenStreamEnds = (worker: Worker | null): boolean => isPublishedAgent(worker);

/** It reports the end of an abandoned job as the end of its next job. Therefore, the next job must wait. */
export const reportsAbandonedEndLate = (worker: Worker | null): boolean => isPublishedAgent(worker);

/** A cancel that it may have missed can be repeated only as `abandon_job` in the response to its registration. */
export const repeatsCancelAsAbandon = (worker: Worker | null): boolean => isPublishedAgent(worker);

/** It does not know the commands that only Trainyard has: `stopping`, and a cancel for a job that it does not run. */
export const knowsNewCommands = (worker: Worker | null): boolean => isOwnAgent(worker);
