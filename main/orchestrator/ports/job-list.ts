import type { WorkerId } from '../../../protocol/ids.ts';
import type { Approval, JobStatus, ShownStatus } from '../../../protocol/job.ts';
import type { JobSearch, JobSort } from '../../../protocol/job-search.ts';

export interface JobFilter {
  /** Empty for any. */
  readonly statuses: readonly ShownStatus[];
  readonly includeFinal: boolean;
  readonly user: string | null;
  /** The worker of the newest attempt. */
  readonly workerId: WorkerId | null;
  readonly search: JobSearch;
  /** Only jobs that wait for approval. */
  readonly blocked: boolean;
  readonly sort: JobSort;
  readonly isDescending: boolean;
  /** The last job of the previous page; null for the first page. */
  readonly after: JobPlace | null;
  readonly limit: number;
  readonly offset: number;
}

/** A job's position in a sorted list: its sort value, and its order as the tie-breaker. */
export interface JobPlace {
  readonly value: string | number | null;
  readonly order: number;
}

/** The number of jobs in a status. */
export interface StatusCount {
  readonly status: JobStatus;
  readonly approval: Approval | null;
  readonly count: number;
}
