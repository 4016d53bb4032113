/** Replaces main/orchestrator/rules/job-lifecycle.ts in a simulation. Behaves the same, and also publishes each step. */
import { channel } from 'node:diagnostics_channel';
import {
  type Advance,
  type JobEvent,
  advance as decide,
} from '../../../main/orchestrator/rules/job-lifecycle.ts';
import type { Job } from '../../../main/orchestrator/ports/index.ts';
import { type Step, stepChannel } from './steps.ts';

// The function `advance` below replaces the `advance` that this line would export.
export * from '../../../main/orchestrator/rules/job-lifecycle.ts';

const steps = channel(stepChannel);

export function advance(job: Job, event: JobEvent, now: number): Advance {
  const outcome = decide(job, event, now);
  const step: Step = { status: job.status, event: event.type, outcome: outcome.kind };
  steps.publish(step);
  return outcome;
}
