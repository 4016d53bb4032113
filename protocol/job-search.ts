import { z } from 'zod';
import { WorkerId } from './ids.ts';
import { JobGroup, JobTag } from './job-about.ts';
import { type Approval, ShownStatus } from './job.ts';

/** The states for filters, in the order in which a job passes through them. */
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

/** A job matches if it matches all `tags`, all `words`, and one entry of each other non-empty list. Values are lower-case. */
export interface JobSearch {
  readonly states: readonly string[];
  /** Exact names; `*` matches any characters. */
  readonly users: readonly string[];
  /** Names or ids of workers; `*` matches any characters. */
  readonly workers: readonly string[];
  /** Exact tags. A job needs all of them. */
  readonly tags: readonly string[];
  /** Exact names of groups; `*` matches any characters. */
  readonly groups: readonly string[];
  /** Substrings of the id, name, config name, user, worker name or error. */
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
  const terms: Record<'state' | 'user' | 'worker' | 'tag' | 'group' | 'text', string[]> = {
    state: [],
    user: [],
    worker: [],
    tag: [],
    group: [],
    text: [],
  };
  for (const [part] of text.toLowerCase().matchAll(searchTerm)) {
    const [, key, value = ''] = /^(state|user|worker|tag|group):(.*)$/.exec(part) ?? [];
    const bare = (key === undefined ? part : value).replaceAll('"', '');
    if (bare === '') continue;
    if (key === 'state') terms.state.push(...bare.split(',').map(name => otherNames[name] ?? name));
    else if (key === 'user' || key === 'worker' || key === 'tag' || key === 'group') terms[key].push(bare);
    else terms.text.push(bare);
  }
  const { state: states, user: users, worker: workers, tag: tags, group: groups, text: words } = terms;
  return { states, users, workers, tags, groups, words };
}

/** The maximum number of terms. It is limited because each term is compared with every job. */
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
  'best_loss',
]);
export type JobSort = z.output<typeof JobSort>;

/** `queued` and `training` are aliases of pending and running. `pending` also matches blocked jobs. */
const StatusName = z.enum([...ShownStatus.options, 'queued', 'training']).transform((word): ShownStatus => {
  if (word === 'queued') return 'pending';
  return word === 'training' ? 'running' : word;
});

/** One status, or several separated by commas. */
const StatusNames = z
  .string()
  .transform(text => text.split(','))
  .pipe(
    z
      .array(StatusName)
      .min(1)
      .max(ShownStatus.options.length + 2),
  );

/** Filters and order of a list of jobs. */
export const JobsQuery = z.object({
  status: StatusNames.optional().describe(
    'One status, or several separated by commas. `queued` and `training` are aliases of `pending` and `running`; `pending` also matches blocked jobs.',
  ),
  user: z.string().max(200).optional().describe('Only jobs of this owner.'),
  worker_id: WorkerId.optional().describe('Only jobs with an attempt on this worker.'),
  q: SearchText.optional().describe(
    'Words to find in id, name, config name, user, worker or error; `state:`, `user:`, `worker:`, `tag:` and `group:` are filters.',
  ),
  tag: JobTag.optional().describe('Only jobs with this tag.'),
  group: JobGroup.optional().describe('Only jobs of this group.'),
  blocked: z
    .stringbool()
    .optional()
    .describe('`true`: only jobs that wait for approval; `false`: only others.'),
  sort: JobSort.default('submitted').describe(
    'Sort key. Jobs without a value come last in either direction.',
  ),
  order: z.enum(['asc', 'desc']).default('desc').describe('Sort direction: ascending or descending.'),
  limit: z.coerce.number().int().min(1).max(500).default(50).describe('Maximum number of entries on a page.'),
  offset: z.coerce.number().int().min(0).max(1e9).default(0).describe('Number of jobs to skip.'),
  cursor: z.coerce
    .string()
    .max(2_000)
    .optional()
    .describe(
      '`next_cursor` of the previous page, for the same sort and order. Unlike with an offset, new jobs do not shift it.',
    ),
  include_completed: z.stringbool().default(true).describe('`false` leaves out jobs that have ended.'),
  counts: z
    .stringbool()
    .default(false)
    .describe('Whether to add `counts` to the response, which makes the server examine every job.'),
});
