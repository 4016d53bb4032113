import { queueApi } from '../../../protocol/queue-api.ts';
import { JobId } from '../../../protocol/ids.ts';
import type { JobView } from '../../../protocol/job.ts';
import { choose } from '../choose.ts';
import { CommandEnd, exitCodes, fail } from '../failure.ts';
import { printOne } from '../output.ts';
import type { Remote } from '../remote.ts';
import { among } from './argument.ts';
import { everyPage, type JobQuery } from './pages.ts';
import { jobFacts } from './text.ts';

/** Maximum length of a search text in the orchestrator. */
const maxText = 200;

interface Finding {
  /** Takes the newest job with a config name. Only for commands that change nothing. */
  readonly newest?: boolean;
}

/** Finds the job that a person names. A full id matches any job; an id prefix or config name matches only jobs of `which`. */
export async function findJob(
  remote: Remote,
  word = '',
  which: JobQuery = among.all,
  { newest = false }: Finding = {},
): Promise<JobView> {
  const id = JobId.safeParse(word);
  if (id.success) {
    const job = await unlessMissing(remote.ask(queueApi.get, { params: { id: id.data } }));
    if (job !== null) return job;
  }
  const { entries } = await everyPage(remote, { ...which, q: word.slice(0, maxText) });
  const called = (job: JobView) => ({ id: job.id, name: job.config_name });
  const choice = choose(word, entries, { what: 'job', called, prefersFirst: newest });
  if (choice.ok) return choice.value;
  if (which === among.unended && choice.failure.code === exitCodes.notFound) await failIfEnded(remote, word);
  throw new CommandEnd(choice.failure);
}

/** Finds the job to show. A config name stands for its newest job. */
export const findNewestJob = (remote: Remote, word = ''): Promise<JobView> =>
  findJob(remote, word, among.all, { newest: true });

/** Ends the command with a better reason than "not found" when the job has ended. */
async function failIfEnded(remote: Remote, word: string): Promise<void> {
  const { entries } = await everyPage(remote, { ...among.ended, q: word.slice(0, maxText) });
  const called = (job: JobView) => ({ id: job.id, name: job.config_name });
  const ended = choose(word, entries, { what: 'job', called, prefersFirst: true });
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
