import type { JobEvidence } from '../evidence.ts';
import type { Run } from '../journal.ts';
import type { PlannedJob } from '../plan.ts';

/** A guarantee of the product that did not hold. */
export interface Violation {
  /** The broken guarantee in a few words. The report counts violations by rule. */
  readonly rule: string;
  readonly what: string;
  /** The job's id. */
  readonly job?: string;
}

/** The data about a job from the API and from the journals. */
export interface JobCase {
  readonly evidence: JobEvidence;
  /** The job as it was submitted. */
  readonly planned: PlannedJob;
  /** The job's trainer processes, in the order of their starts. */
  readonly runs: readonly Run[];
  /** True when a client has cancelled the job. */
  readonly isCancelled: boolean;
  /** Pids of trainers that a fault of the run has killed. */
  readonly killed: ReadonlySet<number>;
}

export type AttemptEvidence = JobEvidence['job']['attempts'][number];

export const finalStatuses: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled']);

/** Returns the trainer processes of one attempt. */
export const runsOf = ({ runs }: JobCase, { attempt_id: id }: AttemptEvidence): readonly Run[] =>
  runs.filter(run => run.attempt === id);
