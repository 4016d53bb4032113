import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Advance, JobEvent } from '../../../main/orchestrator/job-lifecycle.ts';
import type { Job } from '../../../main/orchestrator/ports.ts';

/** One look into the table of a job's life, whatever came of it. */
export interface Step {
  readonly status: Job['status'];
  readonly event: JobEvent['type'];
  readonly outcome: Advance['kind'];
}

/** @internal */
export const stepChannel = 'simulation: a step of a job';

/** The answer ends it. Nothing is heard where the hooks of `install` are not in place. */
export function listenToSteps(hear: (step: Step) => void): () => void {
  const listener = (message: unknown): void => hear(message as Step);
  subscribe(stepChannel, listener);
  return () => void unsubscribe(stepChannel, listener);
}
