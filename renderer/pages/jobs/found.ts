import type { JobView } from '../../../protocol/job.ts';

/** The result pages that the server has returned so far. */
export interface FoundJobs {
  readonly jobs: readonly JobView[];
  /** Undefined before the first page, null after the last. */
  readonly cursor: string | null | undefined;
}

export const nothingFound: FoundJobs = { jobs: [], cursor: undefined };

interface ListDeps {
  /** All jobs in memory, as the stream reports them. */
  readonly live: ReadonlyMap<string, JobView>;
  readonly found: FoundJobs;
  readonly matches: (job: JobView) => boolean;
  readonly compare: (a: JobView, b: JobView) => number;
}

/**
 * Returns the jobs to list, unsorted. A job in memory replaces its copy in a page. While there are further pages, it leaves out jobs beyond
 * the last one read. Unknown jobs may lie in between, and a later page brings them.
 */
export function jobsToList({
  live,
  found: { jobs, cursor },
  matches,
  compare,
}: ListDeps): readonly JobView[] {
  const edge = typeof cursor === 'string' ? jobs.at(-1) : undefined;
  const isWithin = (job: JobView): boolean => matches(job) && (edge === undefined || compare(job, edge) <= 0);
  const older = jobs.filter(job => !live.has(job.id) && matches(job));
  return [...[...live.values()].filter(isWithin), ...older];
}

/** Adds a page. A job that moved between two pages appears once. */
export function withPage(found: FoundJobs, page: readonly JobView[], cursor: string | null): FoundJobs {
  const known = new Set(found.jobs.map(({ id }) => id));
  return { jobs: [...found.jobs, ...page.filter(({ id }) => !known.has(id))], cursor };
}
