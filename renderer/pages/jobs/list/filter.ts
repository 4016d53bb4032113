import { isWaiting, type JobView } from '../../../../protocol/job.ts';
import {
  type JobSearch,
  type JobState,
  jobStates,
  parseSearch,
  searchTerm,
  stateOf,
} from '../../../../protocol/job-search.ts';
import type { JobCounts } from '../../../../protocol/queue-api.ts';
import { replacements } from '../../../ui/table-order.ts';

/** Returns the state to display: the status, or `blocked` for a pending job that waits for approval. */
export const shownState = (job: JobView) =>
  isWaiting(job.status) && job.approval === 'wanted' ? 'blocked' : job.status;

/** Adds a state to the search text, or removes a state that the text already contains. */
export function withState(text: string, state: JobState): string {
  const rest = (text.match(searchTerm) ?? []).filter(part => !/^state:/i.test(part));
  const chosen = chosenStates(parseSearch(text));
  const next = jobStates.filter(each => chosen.has(each) !== (each === state));
  return [...(next.length === 0 ? [] : [`state:${next.join(',')}`]), ...rest].join(' ');
}

export const chosenStates = ({ states }: JobSearch): ReadonlySet<JobState> =>
  new Set(jobStates.filter(state => states.includes(state)));

/** Compiles a search into a function that tests jobs, so that its patterns are compiled only once. */
export function createMatcher(filter: JobSearch): (job: JobView) => boolean {
  const states = new Set(filter.states);
  const users = filter.users.map(globToRegExp);
  const workers = filter.workers.map(globToRegExp);
  const groups = filter.groups.map(globToRegExp);
  const { words, tags } = filter;
  return job => {
    if (states.size > 0 && !states.has(stateOf(job))) return false;
    if (users.length > 0 && !users.some(user => user.test(job.user))) return false;
    if (workers.length > 0) {
      const names = [job.worker_name, job.worker_id].filter(name => name !== null);
      if (!workers.some(worker => names.some(name => worker.test(name)))) return false;
    }
    if (groups.length > 0 && !isAmong(groups, job.group)) return false;
    if (tags.length > 0 && !hasEvery(job.tags, tags)) return false;
    if (words.length === 0) return true;
    const texts = [
      job.id,
      job.name,
      job.config_name,
      job.user,
      job.worker_name,
      isWaiting(job.status) ? null : job.error_message,
    ].flatMap(text => text?.toLowerCase() ?? []);
    return words.every(word => texts.some(text => text.includes(word)));
  };
}

const isAmong = (groups: readonly RegExp[], value: string | null): boolean =>
  value !== null && groups.some(group => group.test(value));

const hasEvery = (tagsOfJob: readonly string[], tags: readonly string[]): boolean =>
  tags.every(tag => tagsOfJob.some(each => each.toLowerCase() === tag));

/** Converts a pattern in which `*` matches any text. The result ignores case. */
function globToRegExp(pattern: string): RegExp {
  const parts = pattern.split('*').map(part => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`, 'i');
}

export type StateCounts = Readonly<Record<JobState, number>>;

/** Converts the server's counts by status into counts by displayed state. */
export function stateCounts({ by_status: byStatus, blocked }: JobCounts): StateCounts {
  const { dispatched = 0, starting = 0, pending = 0, ...others } = byStatus;
  return { ...noCounts, ...others, pending: pending - blocked, blocked, starting: dispatched + starting };
}

const noCounts: StateCounts = {
  pending: 0,
  blocked: 0,
  starting: 0,
  running: 0,
  recovering: 0,
  cancelling: 0,
  completed: 0,
  failed: 0,
  cancelled: 0,
};

export function countStates(jobs: Iterable<JobView>): StateCounts {
  const counts: Record<JobState, number> = { ...noCounts };
  for (const job of jobs) counts[stateOf(job)] += 1;
  return counts;
}

/** Returns a function that counts jobs by state. The function returns the same object until a count may have changed. */
export function createStateCounter(): (jobs: readonly JobView[]) => StateCounts {
  let counted: readonly JobView[] = [];
  let counts = noCounts;
  return jobs => {
    const changes = replacements(counted, jobs, idOf);
    counted = jobs;
    if (changes === null || changes.some(({ now, before }) => stateOf(now) !== stateOf(before)))
      counts = countStates(jobs);
    return counts;
  };
}

const idOf = ({ id }: JobView): string => id;
