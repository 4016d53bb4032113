import type { Command } from 'commander';
import { isFinal, isWaiting, type JobView } from '../../../protocol/job.ts';
import { shownName } from '../../../protocol/job-about.ts';
import { JobsQuery } from '../../../protocol/job-search.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { exitCodes, fail, failureOf } from '../failure.ts';
import { isOn, readInput, textOf } from '../flags.ts';
import { printRows } from '../output.ts';
import type { Remote } from '../remote.ts';
import type { Column } from '../table.ts';
import { everyPage } from './find.ts';

/** Adds `--yes`, and the alias `-f, --force` that SimpleTuner's command line has. */
export const withYes = (command: Command): Command =>
  command.option('--yes', 'skip the confirmation').option('-f, --force', 'the same as --yes');

type Result = Readonly<{
  status: string;
  /** Null on success. */
  error: string | null;
}>;

/** The result for one of many jobs. */
type BulkResult = Result & {
  readonly job_id: string;
  readonly config_name: string;
  readonly name: string | null;
};

type Act = (job: JobView) => Promise<Result>;

interface Bulk {
  readonly jobs: readonly JobView[];
  /** Beginning of the confirmation question, such as "Cancel" or "Retry". */
  readonly verb: string;
  readonly act: Act;
}

/** Acts on many jobs, one after another. A failure does not stop the rest. */
export async function actOnAll(remote: Remote, { jobs, verb, act }: Bulk): Promise<void> {
  const { terminal } = remote;
  const results: BulkResult[] = [];
  if (jobs.length > 0) {
    await confirmMany(remote, `${verb} ${countText(jobs)}?`);
    for (const job of jobs)
      results.push({ job_id: job.id, config_name: job.config_name, name: job.name, ...(await act(job)) });
  }
  const failed = results.filter(({ error }) => error !== null);
  const answer = { success: failed.length === 0, count: results.length - failed.length, jobs: results };
  printRows(remote, { answer, rows: results, columns, none: 'No matching jobs' });
  if (failed.length === 0) return;
  for (const { job_id: id, error } of failed) terminal.err(`${id}: ${error}\n`);
  fail(exitCodes.failed, `${failed.length} of ${results.length} jobs could not be changed`);
}

const columns: readonly Column<BulkResult>[] = [
  { title: 'ID', text: ({ job_id: id }) => id },
  { title: 'STATUS', text: ({ status }) => status },
  { title: 'NAME', text: job => shownName(job) },
];

/** Asks before changing many jobs. Unlike for a single job, a script without a terminal must give `--yes`. */
async function confirmMany(remote: Remote, question: string): Promise<void> {
  if (!isOn(remote.flags, 'yes') && remote.terminal.ask === null)
    fail(exitCodes.usage, `${question} Without a terminal, confirm with --yes`);
  await remote.confirm(question);
}

function countText(jobs: readonly JobView[]): string {
  const groups = [...Map.groupBy(jobs, ({ status }) => status)];
  const parts = groups.map(([status, all]) => `${all.length} ${status}`);
  return `${jobs.length} ${jobs.length === 1 ? 'job' : 'jobs'} (${parts.join(', ')})`;
}

/** Returns the jobs with these statuses that the token may see. */
export const jobsWith = async (
  remote: Remote,
  statuses: readonly string[],
  group?: string,
): Promise<readonly JobView[]> =>
  (await everyPage(remote, { status: statuses.join(','), ...(group !== undefined && { group }) })).entries;

/** Adds `--group`, which selects the jobs of one group. */
/** `jobs`: the description of the jobs, which names the group as "of this group". */
export const withGroup = (command: Command, jobs: string): Command => command.option('--group <group>', jobs);

/** Returns the group that `--group` names; undefined without the option. */
export function groupOf({ flags }: Pick<Remote, 'flags'>): string | undefined {
  const text = textOf(flags, 'group');
  return text === null ? undefined : readInput(JobsQuery, { group: text }, { group: '--group' }).group;
}

/** Submits an ended job again. */
export const retryOne =
  (remote: Remote): Act =>
  async job => {
    const result = await remote.call(queueApi.retry, { params: { id: job.id } });
    if (!result.ok)
      return { status: job.status, error: failureOf(result.failure, remote.connection().url).message };
    return { status: `retried as ${result.value.job_id ?? '-'}`, error: null };
  };

/** Sorts pending jobs first. Otherwise a pending job could start on the worker that a cancelled job frees. */
export const waitingFirst = (jobs: readonly JobView[]): readonly JobView[] =>
  jobs.toSorted((a, b) => Number(isWaiting(b.status)) - Number(isWaiting(a.status)));

export const cancelOne =
  (remote: Remote): Act =>
  async job => {
    const result = await remote.call(queueApi.cancel, { params: { id: job.id } });
    return result.ok
      ? { status: result.value.status, error: null }
      : { status: job.status, error: failureOf(result.failure, remote.connection().url).message };
  };

/** Deletes a job. Cancels it first if it has not ended, because only ended jobs can be deleted. */
export const purgeOne =
  (remote: Remote): Act =>
  async job => {
    const ended = isFinal(job.status) ? null : await cancelOne(remote)(job);
    if (ended !== null && ended.error !== null) return ended;
    const result = await remote.call(queueApi.remove, { params: { id: job.id } });
    return result.ok
      ? { status: 'deleted', error: null }
      : {
          status: ended?.status ?? job.status,
          error: failureOf(result.failure, remote.connection().url).message,
        };
  };
