import { z } from 'zod';
import type { Approval, ShownStatus } from './job.ts';

/** The states that people filter by, in the order in which a job passes through them. */
export const jobStates = [
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
export type JobState = (typeof jobStates)[number];

/** Returns the state for filters; a pending job that waits for approval is `blocked`. */
export function stateOf(job: { readonly status: ShownStatus; readonly approval: Approval | null }): JobState {
  if (job.status === 'pending' && job.approval === 'wanted') return 'blocked';
  return job.status === 'dispatched' ? 'starting' : job.status;
}

/** A job matches when it fits one entry of each non-empty list and contains every word. All values are lower case. */
export interface JobSearch {
  readonly states: readonly string[];
  /** Exact names; `*` matches any characters. */
  readonly users: readonly string[];
  /** Names or ids of workers; `*` matches any characters. */
  readonly workers: readonly string[];
  /** Substrings of the id, config name, user, worker name or error. */
  readonly words: readonly string[];
}

const otherNames: Readonly<Record<string, JobState>> = {
  dispatched: 'starting',
  queued: 'pending',
  training: 'running',
  approval: 'blocked',
};

/** One term of a search: a word or a quoted text, optionally with a key before it. */
export const searchTerm = /(?:[a-z]+:)?(?:"[^"]*"?|\S+)/gi;

/** Parses `state:failed,cancelled user:ci worker:rig-* "some text"`. A term with an unknown key is plain text. */
export function parseSearch(text: string): JobSearch {
  const found = { state: [] as string[], user: [] as string[], worker: [] as string[], text: [] as string[] };
  for (const [part] of text.toLowerCase().matchAll(searchTerm)) {
    const [, key, value = ''] = /^(state|user|worker):(.*)$/.exec(part) ?? [];
    const bare = (key === undefined ? part : value).replaceAll('"', '');
    if (bare === '') continue;
    if (key === 'state') found.state.push(...bare.split(',').map(name => otherNames[name] ?? name));
    else if (key === 'user' || key === 'worker') found[key].push(bare);
    else found.text.push(bare);
  }
  return { states: found.state, users: found.user, workers: found.worker, words: found.text };
}

/** A limit, because each term is compared with every job. */
const maxTerms = 8;

/** Search text in the syntax of `parseSearch`. */
export const SearchText = z
  .string()
  .max(200)
  .refine(
    text => (text.match(searchTerm) ?? []).length <= maxTerms,
    `a search has at most ${maxTerms} terms`,
  );

/** Sort keys for jobs. Jobs without a value come last in either direction. */
export const JobSort = z.enum([
  'submitted',
  'name',
  'state',
  'priority',
  'worker',
  'progress',
  'eta',
  'loss',
]);
export type JobSort = z.output<typeof JobSort>;
