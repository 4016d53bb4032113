import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Advance, JobEvent } from '../../../main/orchestrator/rules/job-lifecycle.ts';
import type { Job } from '../../../main/orchestrator/ports/index.ts';

/** A lookup in the table of the job lifecycle, and its outcome. */
export interface Step {
  readonly status: Job['status'];
  readonly event: JobEvent['type'];
  readonly outcome: Advance['kind'];
}

/** @internal */
export const stepChannel = 'simulation: a step of a job';

/**
 * Calls back for each step. The returned function ends that. Without the hooks of `install`, no steps are published.
 */
export function listenToSteps(onStep: (step: Step) => void): () => void {
  const listener = (message: unknown): void => onStep(message as Step);
  subscribe(stepChannel, listener);
  return () => void unsubscribe(stepChannel, listener);
}
