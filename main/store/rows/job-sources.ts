import { finalStatuses, liveStatuses } from '../../../protocol/job.ts';
import { jobStates, type JobSort } from '../../../protocol/job-search.ts';
import type { JobFilter } from '../../orchestrator/ports/index.ts';
import { type ContentFilter, isUnfiltered } from './job-conditions.ts';
import { isDependent, isQueued, isUnapproved } from './pending-sets.ts';

const percent =
  "coalesce(j.progress ->> '$.percent', 100.0 * (j.progress ->> '$.step') / (j.progress ->> '$.total_steps'))";
const rankCases = (states: readonly string[]): string =>
  jobStates.map((state, at) => (states.includes(state) ? `WHEN '${state}' THEN ${at}` : '')).join(' ');
const isBlocked = `(${isUnapproved('j.')})`;
const liveState = `CASE WHEN j.status = 'pending' AND j.approval = 'wanted' THEN 'blocked'
  WHEN j.status = 'dispatched' THEN 'starting' ELSE j.status END`;

/** The value that each sort order compares. Nulls sort last. The panel computes the same values (`job-order.ts`). */
export const sortValues: Readonly<Record<JobSort, string>> = {
  submitted: 'j.ord',
  name: 'lower(coalesce(j.name, j.config_name))',
  state: `(CASE ${liveState} ${rankCases(jobStates)} END)`,
  priority: 'j.priority',
  worker: '(SELECT lower(w.name) FROM workers w WHERE w.id = j.worker_id)',
  progress: `iif(j.status = 'completed', 100.0, iif(j.status = 'pending', NULL, ${percent}))`,
  eta: `iif(j.status = 'running', coalesce(j.progress ->> '$.eta_s', ((j.progress ->> '$.total_steps')
    - (j.progress ->> '$.step')) / nullif(j.progress ->> '$.steps_per_second', 0)), NULL)`,
  loss: "iif(j.status = 'pending', NULL, j.progress ->> '$.loss')",
  best_loss: `iif(j.status = 'pending', NULL, coalesce(j.progress ->> '$.best_loss', j.progress ->> '$.loss'))`,
};

/** Matches jobs that have not ended, without scanning ended jobs. */
const isUnended = `j.rowid IN (
  SELECT rowid FROM jobs INDEXED BY jobs_pending WHERE ${isQueued()}
  UNION ALL SELECT rowid FROM jobs INDEXED BY jobs_dependent WHERE ${isDependent()}
  UNION ALL SELECT rowid FROM jobs INDEXED BY jobs_unapproved WHERE ${isUnapproved()}
  UNION ALL SELECT r.rowid FROM attempts a INDEXED BY one_live_attempt_per_job JOIN jobs r ON r.id = a.job_id
    WHERE a.ended_at IS NULL)`;
const isEnded = 'j.ended_at IS NOT NULL';

/** A set of jobs that a list reads: how to find them, and the SQL expressions that depend on the set. */
export interface Source {
  readonly from: string;
  readonly where: string;
  readonly values: Readonly<Record<JobSort, string>>;
  readonly state: string;
  /** ORDER BY clause for reading the jobs; empty if their order does not matter. */
  readonly order: string;
  /** NULL if no job of this set can wait for approval. */
  readonly approval: 'j.approval' | 'NULL';
}

/** All jobs, for filters and sort orders that have their own index. */
export const everyJob: Source = {
  from: 'jobs j',
  where: 'true',
  values: sortValues,
  state: liveState,
  order: '',
  approval: 'j.approval',
};
const unendedJobs: Source = { ...everyJob, where: isUnended };
/**
 * The ended jobs. Their index contains all values to filter and sort by, so a list reads only the rows of the jobs that it
 * returns (docs/adr/0039).
 */
const endedJobs: Source = {
  from: 'jobs j INDEXED BY jobs_list',
  where: isEnded,
  values: { ...sortValues, state: `(CASE j.status ${rankCases(finalStatuses)} END)`, eta: 'NULL' },
  state: 'j.status',
  // Among jobs with equal values, the newest come first. If the sorter reads the newest jobs first, it need not store the others.
  order: 'ORDER BY j.ord DESC',
  approval: 'NULL',
};

type StatusFilter = Pick<JobFilter, 'includeFinal' | 'statuses' | 'blocked' | 'search'>;

/** Returns the sets of jobs that can match. Ended jobs are a separate set, because no index has both ended and other jobs. */
export function sourcesOf({ includeFinal, statuses, blocked, search }: StatusFilter): readonly Source[] {
  const accepts = (isOne: (name: string) => boolean): boolean =>
    [statuses, search.states].every(names => names.length === 0 || names.some(isOne));
  const hasEnded = includeFinal && !blocked && accepts(isFinalName);
  const hasUnended = accepts(isUnendedName);
  return [...(hasEnded ? [endedJobs] : []), ...(hasUnended ? [unendedJobs] : [])];
}

/** Whether the filter includes jobs of every status, and an index finds the jobs of the page. */
export function isFoundByIndex({
  includeFinal,
  statuses,
  blocked,
  ...filter
}: StatusFilter & ContentFilter & Pick<JobFilter, 'sort'>): boolean {
  if (!includeFinal) return false;
  if (filter.workerId !== null) return true;
  const isAny = statuses.length === 0 && filter.search.states.length === 0 && !blocked;
  return filter.sort === 'submitted' && isAny && isUnfiltered(filter);
}

/** Returns the SQL conditions for the statuses and states that a filter requests, for one set of jobs. */
export function statusConditions(
  source: Source,
  { statuses, blocked, search }: JobFilter,
): readonly string[] {
  const named = (column: string, names: readonly string[]): string =>
    `${column} IN (${names
      .filter(isKnownName)
      .map(name => `'${name}'`)
      .join(', ')})`;
  const orBlocked = source.approval !== 'NULL' && statuses.includes('blocked') ? ` OR ${isBlocked}` : '';
  return [
    ...(statuses.length > 0 ? [`(${named('j.status', statuses)}${orBlocked})`] : []),
    ...(search.states.length > 0 ? [named(source.state, search.states)] : []),
    ...(blocked ? [isBlocked] : []),
  ];
}

const finalNames: ReadonlySet<string> = new Set(finalStatuses);
const unendedNames: ReadonlySet<string> = new Set(['pending', 'blocked', ...liveStatuses]);
const isFinalName = (name: string): boolean => finalNames.has(name);
const isUnendedName = (name: string): boolean => unendedNames.has(name);
const isKnownName = (name: string): boolean => isFinalName(name) || isUnendedName(name);
