import type { JobEvidence } from '../evidence.ts';
import type { Run } from '../journal.ts';
import type { PlannedJob } from '../plan.ts';

/** A guarantee of the product that did not hold. */
export interface Violation {
  /** A short name, which all violations of this kind share. */
  readonly rule: string;
  readonly what: string;
  /** The job's id. */
  readonly job?: string;
}

/** A job as the API shows it and as the journals record it. */
export interface JobCase {
  readonly evidence: JobEvidence;
  /** The job as it was submitted. */
  readonly planned: PlannedJob;
  /** Its trainers, in the order of their starts. */
  readonly runs: readonly Run[];
  /** Whether a user has cancelled the job. */
  readonly isCancelled: boolean;
  /** The pids of trainers that the run itself has killed. */
  readonly killed: ReadonlySet<number>;
}

export type AttemptEvidence = JobEvidence['job']['attempts'][number];

export const finals: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled']);

/** The trainers of one attempt. */
export const runsOf = ({ runs }: JobCase, { attempt_id: id }: AttemptEvidence): readonly Run[] =>
  runs.filter(run => run.attempt === id);
