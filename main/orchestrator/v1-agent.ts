/**
 * The differences in behaviour between v1 (SimpleTuner's own published agent, protocol 1) and v2 (Trainyard's agent,
 * protocol 2), as functions of a worker. docs/internals/worker-contract.md, section 3, describes the behaviour of v1.
 */

interface Worker {
  /** Null before the first registration. */
  readonly agent: { readonly protocol: number } | null;
}

interface SettleTimes {
  readonly settleAfterReportMs: number;
  readonly settleAfterStopMs: number;
}

/** Whether the worker runs v1. */
const isPublishedAgent = (worker: Worker | null): boolean => worker?.agent?.protocol === 1;

/** Whether the worker runs v2. False before the worker's first registration. */
const isOwnAgent = (worker: Worker | null): boolean => worker?.agent?.protocol === 2;

/** Returns the trainers of a v1 worker, which reports none and starts SimpleTuner with any config. Null for v2. */
export const trainersOfPublishedAgent = (worker: Worker): readonly string[] | null =>
  isPublishedAgent(worker) ? ['simpletuner', 'command'] : null;

/** Whether a guard keeps the trainer running without the agent. v1 has no guard, so its trainer ends with the agent. */
export const hasGuard = (worker: Worker | null): boolean => isOwnAgent(worker);

/** Whether the agent uploads files, logs and metrics. v1 uploads none of them. */
export const sendsOutputs = (worker: Worker | null): boolean => !isPublishedAgent(worker);

/** Whether the agent can pass a request such as "save now" to its trainer. v1 cannot. */
export const takesTrainerActions = (worker: Worker | null): boolean => isOwnAgent(worker);

/** Whether the agent resumes from uploaded files. With v1, the trainer finds the checkpoints on its own rig instead. */
export const resumesFromUploads = (worker: Worker | null): boolean => isOwnAgent(worker);

/**
 * Returns the silence in ms after which the worker is offline. v1 sends nothing while its trainer prints nothing, so it can
 * have a longer limit.
 */
export const silenceLimitOf = (
  worker: Worker,
  times: { readonly offlineAfterMs: number; readonly v1SilenceMs: number },
): number =>
  isPublishedAgent(worker) ? Math.max(times.offlineAfterMs, times.v1SilenceMs) : times.offlineAfterMs;

/** Whether the agent needs a cooldown after each final report, even after a refused one. */
export const needsCooldown = (worker: Worker | null): boolean => isPublishedAgent(worker);

/**
 * Returns the cooldown in ms after the end of a trainer; 0 for v2. v1 drops a job that arrives too early after a stop, or
 * after the response to a final report (section 3, items 4 and 7).
 */
export function cooldownOf(worker: Worker, times: SettleTimes, wasStopped: boolean): number {
  if (!isPublishedAgent(worker)) return 0;
  return wasStopped ? times.settleAfterStopMs : times.settleAfterReportMs;
}

/** Whether a report of `starting` resumes an attempt that was given up. v1 starts its trainer even if the report is refused. */
export const resumesGivenUpAttempts = (worker: Worker | null): boolean => isPublishedAgent(worker);

/** Whether the agent registers again and reports its job when its stream ends. No other call makes v1 report its job sooner. */
export const registersWhenStreamEnds = (worker: Worker | null): boolean => isPublishedAgent(worker);

/** Whether the next job must wait after an abandoned one. v1 reports the end of an abandoned job as the end of its next job. */
export const reportsAbandonedEndLate = (worker: Worker | null): boolean => isPublishedAgent(worker);

/** Whether a missed cancel can be repeated only as `abandon_job` in the response to a registration. */
export const repeatsCancelAsAbandon = (worker: Worker | null): boolean => isPublishedAgent(worker);

/** Whether the agent knows the commands of Trainyard: `stopping`, and a cancel for a job that the agent does not run. */
export const knowsNewCommands = (worker: Worker | null): boolean => isOwnAgent(worker);
