import type { Command } from 'commander';
import { queueApi } from '../../../protocol/queue-api.ts';
import { JobId } from '../../../protocol/ids.ts';
import type { JobView } from '../../../protocol/job.ts';
import { choose } from '../choose.ts';
import { CommandEnd, exitCodes } from '../failure.ts';
import { printOne } from '../output.ts';
import type { Remote } from '../remote.ts';
import { jobFacts } from './text.ts';

/** Takes one job. Completion knows it by the name of the argument. */
export const takesJob = (command: Command): Command =>
  command.argument('<job>', 'its id, the beginning of its id, or the name of its config');

const pageSize = 500;

/**
 * The job that a person means: by its id any, by the beginning of an id or the name of a config one of those that
 * `isMeant` lets through.
 */
export async function findJob(
  { ask }: Remote,
  word = '',
  which: { readonly includeEnded: boolean } = { includeEnded: true },
): Promise<JobView> {
  const id = JobId.safeParse(word);
  if (id.success) {
    const job = await unlessMissing(ask(queueApi.get, { params: { id: id.data } }));
    if (job !== null) return job;
  }
  const jobs: JobView[] = [];
  for (;;) {
    const query = { limit: pageSize, offset: jobs.length, include_completed: String(which.includeEnded) };
    const { entries } = await ask(queueApi.list, { query });
    jobs.push(...entries);
    if (entries.length < pageSize) break;
  }
  const what = 'job';
  const choice = choose(word, jobs, { what, called: job => ({ id: job.id, name: job.config_name }) });
  if (choice.ok) return choice.value;
  throw new CommandEnd(choice.failure);
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
