import { Argument, type Command } from 'commander';
import type { CallInput, ValueOf } from '../../../protocol/client.ts';
import { JobId } from '../../../protocol/ids.ts';
import { finalStatuses, type JobView } from '../../../protocol/job.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { choose } from '../choose.ts';
import { CommandEnd, exitCodes, fail } from '../failure.ts';
import { printOne } from '../output.ts';
import type { Remote } from '../remote.ts';
import { jobFacts } from './text.ts';

export type JobQuery = NonNullable<CallInput<typeof queueApi.list>['query']>;
type JobPage = ValueOf<typeof queueApi.list>;

/** Maximum page size of the orchestrator. */
const maxPage = 500;

/** Fetches all pages of matching jobs, and returns them as one. Jobs that are submitted during the calls are not included. */
export async function everyPage(
  { request }: Pick<Remote, 'request'>,
  query: JobQuery,
  limit = maxPage,
): Promise<JobPage> {
  const first = await request(queueApi.list, { query: { ...query, limit } });
  const entries = [...first.entries];
  for (let cursor = first.next_cursor; cursor !== null; ) {
    const page = await request(queueApi.list, { query: { ...query, limit, cursor } });
    entries.push(...page.entries);
    cursor = page.next_cursor;
  }
  return { ...first, entries, next_cursor: null };
}

/** Filters for the jobs that a command accepts. Names and completion match only jobs that pass the filter. */
export const among = {
  all: {},
  unended: { include_completed: 'false' },
  ended: { status: finalStatuses.join(',') },
  running: { status: 'running' },
  pending: { status: 'pending' },
  blocked: { blocked: 'true' },
} as const satisfies Readonly<Record<string, JobQuery>>;

/** An argument that names a job. The command accepts the jobs that pass the filter `which`. */
export class JobArgument extends Argument {
  readonly which: JobQuery;

  constructor(which: JobQuery, name = '<job>') {
    super(name, 'job id, the start of a job id, a job name, or a config name');
    this.which = which;
  }
}

export const withJobArgument = (command: Command, which: JobQuery): Command =>
  command.addArgument(new JobArgument(which));

/** Maximum length of a search text that the orchestrator accepts, in characters. */
const maxText = 200;

interface FindOptions {
  /** If several jobs have the name, selects the newest. Only for commands that change nothing. */
  readonly newest?: boolean;
}

/**
 * Finds a job by its id, a prefix of its id, its name, or its config name. Only a full id also matches jobs that do not pass
 * `which`.
 */
export async function findJob(
  remote: Remote,
  word = '',
  which: JobQuery = among.all,
  { newest = false }: FindOptions = {},
): Promise<JobView> {
  const id = JobId.safeParse(word);
  if (id.success) {
    const job = await unlessMissing(remote.request(queueApi.get, { params: { id: id.data } }));
    if (job !== null) return job;
  }
  const { entries } = await everyPage(remote, { ...which, q: word.slice(0, maxText) });
  const identify = identifyFor(word);
  const choice = choose(word, entries, { what: 'job', identify, prefersFirst: newest });
  if (choice.ok) return choice.value;
  if (which === among.unended && choice.failure.code === exitCodes.notFound) await failIfEnded(remote, word);
  throw new CommandEnd(choice.failure);
}

/** A job has its own name and the name of its config. Matches by the job's own name only if the user typed that name. */
const identifyFor =
  (word: string) =>
  ({ id, name, config_name: config }: JobView) => ({ id, name: name === word ? word : config });

/** Finds the job to show. A config name means the newest job with this config. */
export const findNewestJob = (remote: Remote, word = ''): Promise<JobView> =>
  findJob(remote, word, among.all, { newest: true });

/** Ends the command with a message if the word names a job that has ended. */
async function failIfEnded(remote: Remote, word: string): Promise<void> {
  const { entries } = await everyPage(remote, { ...among.ended, q: word.slice(0, maxText) });
  const identify = identifyFor(word);
  const ended = choose(word, entries, { what: 'job', identify, prefersFirst: true });
  if (!ended.ok) return;
  const { id, config_name: name, status } = ended.value;
  fail(exitCodes.conflict, `Job ${id} (${name}) has already ended: ${status}`);
}

async function unlessMissing<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (cause) {
    if (cause instanceof CommandEnd && cause.failure.code === exitCodes.notFound) return null;
    throw cause;
  }
}

export const showJob = (remote: Remote, job: JobView): void =>
  printOne(remote, { answer: job, facts: jobFacts(job) });
