import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Advance, JobEvent } from '../../../main/orchestrator/rules/job-lifecycle.ts';
import type { Job } from '../../../main/orchestrator/ports/index.ts';

/** One event in the lifecycle of a job, with its outcome. */
export interface Step {
  readonly status: Job['status'];
  readonly event: JobEvent['type'];
  readonly outcome: Advance['kind'];
}

/** @internal */
export const stepChannel = 'simulation: a step of a job';

/** Calls `onStep` for each step until the caller runs the returned function. Steps are published only after `install`. */
export function listenToSteps(onStep: (step: Step) => void): () => void {
  const listener = (message: unknown): void => onStep(message as Step);
  subscribe(stepChannel, listener);
  return () => void unsubscribe(stepChannel, listener);
}
