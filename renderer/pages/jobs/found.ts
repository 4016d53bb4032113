import type { JobView } from '../../../protocol/job.ts';

/** The pages of a list that the server has answered so far. */
export interface FoundJobs {
  readonly jobs: readonly JobView[];
  /** Undefined before the first page, null after the last. */
  readonly cursor: string | null | undefined;
}

export const nothingFound: FoundJobs = { jobs: [], cursor: undefined };

interface ListParts {
  /** All jobs at hand, as the stream says they are. */
  readonly live: ReadonlyMap<string, JobView>;
  readonly found: FoundJobs;
  readonly matches: (job: JobView) => boolean;
  readonly compare: (a: JobView, b: JobView) => number;
}

/**
 * The jobs to list, in no order. A job at hand replaces what a page says of it. While there are further pages, a job beyond the
 * last one read is left out: others that lie between are not known yet, and a later page brings it.
 */
export function jobsToList({
  live,
  found: { jobs, cursor },
  matches,
  compare,
}: ListParts): readonly JobView[] {
  const edge = typeof cursor === 'string' ? jobs.at(-1) : undefined;
  const isWithin = (job: JobView): boolean => matches(job) && (edge === undefined || compare(job, edge) <= 0);
  const older = jobs.filter(job => !live.has(job.id) && matches(job));
  return [...[...live.values()].filter(isWithin), ...older];
}

/** With a further page. Jobs that have moved between two pages come once. */
export function withPage(found: FoundJobs, page: readonly JobView[], cursor: string | null): FoundJobs {
  const known = new Set(found.jobs.map(({ id }) => id));
  return { jobs: [...found.jobs, ...page.filter(({ id }) => !known.has(id))], cursor };
}
