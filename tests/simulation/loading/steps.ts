import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Advance, JobEvent } from '../../../main/orchestrator/rules/job-lifecycle.ts';
import type { Job } from '../../../main/orchestrator/ports/index.ts';

/** One lookup in the table of the job lifecycle, whatever its outcome. */
export interface Step {
  readonly status: Job['status'];
  readonly event: JobEvent['type'];
  readonly outcome: Advance['kind'];
}

/** @internal */
export const stepChannel = 'simulation: a step of a job';

/** Returns a function that stops listening. It reports no steps unless the hooks of `install` are active. */
export function listenToSteps(hear: (step: Step) => void): () => void {
  const listener = (message: unknown): void => hear(message as Step);
  subscribe(stepChannel, listener);
  return () => void unsubscribe(stepChannel, listener);
}
