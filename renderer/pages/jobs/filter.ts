import type { JobView } from '../../../protocol/job.ts';
import { type Arrangement, createArrangement, replacements } from '../../ui/arrangement.ts';

/** In the order in which a job lives through them. */
export const phases = [
  'pending',
  'blocked',
  'starting',
  'running',
  'recovering',
  'cancelling',
  'completed',
  'failed',
  'cancelled',
] as const;
export type Phase = (typeof phases)[number];

const endedPhases = ['completed', 'failed', 'cancelled'] as const;
type EndedPhase = (typeof endedPhases)[number];

/** Its status; what waits for approval waits for something else than the rest. */
export const shownState = (job: JobView) =>
  job.status === 'pending' && job.approval === 'wanted' ? 'blocked' : job.status;

export function phaseOf(job: JobView): Phase {
  const state = shownState(job);
  return state === 'dispatched' ? 'starting' : state;
}

/** What a job must be to be shown: one of each list that is not empty, and with every word in its id or config. */
export interface JobFilter {
  readonly states: readonly string[];
  readonly users: readonly string[];
  readonly workers: readonly string[];
  readonly words: readonly string[];
}

const otherNames: Readonly<Record<string, Phase>> = {
  dispatched: 'starting',
  queued: 'pending',
  training: 'running',
  approval: 'blocked',
};

const term = /(?:[a-z]+:)?(?:"[^"]*"?|\S+)/gi;

/** `state:failed,cancelled user:ci worker:rig-* "some text"`: what is no such key is text. */
export function parseFilter(text: string): JobFilter {
  const found = { state: [] as string[], user: [] as string[], worker: [] as string[], text: [] as string[] };
  for (const [part] of text.toLowerCase().matchAll(term)) {
    const [, key, value = ''] = /^(state|user|worker):(.*)$/.exec(part) ?? [];
    const bare = (key === undefined ? part : value).replaceAll('"', '');
    if (bare === '') continue;
    if (key === 'state') found.state.push(...bare.split(',').map(name => otherNames[name] ?? name));
    else if (key === 'user' || key === 'worker') found[key].push(bare);
    else found.text.push(bare);
  }
  return { states: found.state, users: found.user, workers: found.worker, words: found.text };
}

/** The same text with another state, or with none. */
export function withState(text: string, state: Phase | null): string {
  const rest = (text.match(term) ?? []).filter(part => !/^state:/i.test(part));
  return [...(state === null ? [] : [`state:${state}`]), ...rest].join(' ');
}

/** The one state that is asked for, where it is one. */
export function chosenState({ states }: JobFilter): Phase | null {
  const [only, ...others] = states;
  return others.length === 0 ? (phases.find(phase => phase === only) ?? null) : null;
}

/** Made once for a filter, for many jobs. */
export function matcherOf(filter: JobFilter): (job: JobView) => boolean {
  const states = new Set(filter.states);
  const users = filter.users.map(globOf);
  const workers = filter.workers.map(globOf);
  const { words } = filter;
  return job => {
    if (states.size > 0 && !states.has(phaseOf(job))) return false;
    if (users.length > 0 && !users.some(user => user.test(job.user))) return false;
    if (workers.length > 0) {
      const names = [job.worker_name, job.worker_id].filter(name => name !== null);
      if (!workers.some(worker => names.some(name => worker.test(name)))) return false;
    }
    if (words.length === 0) return true;
    const hay = `${job.id} ${job.config_name}`.toLowerCase();
    return words.every(word => hay.includes(word));
  };
}

/** Anything for a star, and whatever the case. */
function globOf(pattern: string): RegExp {
  const parts = pattern.split('*').map(part => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`, 'i');
}

/** Of the ended ones that are asked for: all three, when no state is. */
export const endedStates = ({ states }: JobFilter): readonly EndedPhase[] =>
  states.length === 0 ? endedPhases : endedPhases.filter(phase => states.includes(phase));

/** What the server can look for by itself; the rest of the filter is looked at here. */
export function olderQuery(filter: JobFilter) {
  const [user, ...otherUsers] = filter.users;
  const [word, ...otherWords] = filter.words;
  return {
    status: endedStates(filter).join(','),
    ...(user !== undefined && otherUsers.length === 0 && !user.includes('*') ? { user } : {}),
    ...(word !== undefined && otherWords.length === 0 ? { q: word } : {}),
  };
}

export type PhaseCounts = Readonly<Record<Phase, number>>;

/** Of the ended ones as many as the server has, or as are at hand, when one has ended since it counted. */
export function withTotals(counts: PhaseCounts, totals: Partial<Record<EndedPhase, number>>): PhaseCounts {
  const most = (phase: EndedPhase): number => Math.max(counts[phase], totals[phase] ?? 0);
  return { ...counts, completed: most('completed'), failed: most('failed'), cancelled: most('cancelled') };
}

const noCounts: PhaseCounts = {
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

export function countPhases(jobs: Iterable<JobView>): PhaseCounts {
  const counts: Record<Phase, number> = { ...noCounts };
  for (const job of jobs) counts[phaseOf(job)] += 1;
  return counts;
}

/** Counts again and again: the same counts are given as before where no job has gone on to another phase. */
export function createCounting(): (jobs: readonly JobView[]) => PhaseCounts {
  let counted: readonly JobView[] = [];
  let counts = noCounts;
  return jobs => {
    const changes = replacements(counted, jobs, idOf);
    counted = jobs;
    if (changes === null || changes.some(({ now, before }) => phaseOf(now) !== phaseOf(before)))
      counts = countPhases(jobs);
    return counts;
  };
}

/** What is known of a job by the stream goes before what was read of it in pages. */
export const withOlder = (
  live: ReadonlyMap<string, JobView>,
  older: readonly JobView[],
): readonly JobView[] => [...live.values(), ...older.filter(({ id }) => !live.has(id))];

/** The newest first; of many that were submitted at the same time, in the order in which they come. */
export const createNewestFirst = (): Arrangement<JobView> =>
  createArrangement({
    idOf,
    arrange: jobs =>
      jobs.toSorted((a, b) => (a.queued_at < b.queued_at ? 1 : a.queued_at > b.queued_at ? -1 : 0)),
    stays: (now, before) => now.queued_at === before.queued_at,
  });

const idOf = ({ id }: JobView): string => id;
