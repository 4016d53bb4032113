import type { WorkerId } from '../../protocol/ids.ts';
import type { Approval, JobStatus, ShownStatus } from '../../protocol/job.ts';
import type { JobSearch, JobSort } from '../../protocol/job-search.ts';

export interface JobFilter {
  /** None for any. */
  readonly statuses: readonly ShownStatus[];
  readonly includeFinal: boolean;
  readonly user: string | null;
  /** Of the newest attempt. */
  readonly workerId: WorkerId | null;
  readonly search: JobSearch;
  /** Those alone that wait for approval. */
  readonly blocked: boolean;
  readonly sort: JobSort;
  readonly isDescending: boolean;
  /** The last job of the page before; null for the first page. */
  readonly after: JobPlace | null;
  readonly limit: number;
  readonly offset: number;
}

/** Where a job stands in a sorted list: its value there, and its order, which decides between equal values. */
export interface JobPlace {
  readonly value: string | number | null;
  readonly order: number;
}

/** How many jobs there are in a status. */
export interface StatusCount {
  readonly status: JobStatus;
  readonly approval: Approval | null;
  readonly count: number;
}
