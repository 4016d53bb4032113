import { type Command, Option } from 'commander';
import { WorkerId } from '../../../protocol/ids.ts';
import { isWaiting, type JobDetail, ShownStatus } from '../../../protocol/job.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { CommandEnd, exitCodes } from '../failure.ts';
import { isOn, numberOf, pageSize, readInput, textOf, wholeNumber, wordsAmong } from '../flags.ts';
import { printOne, printRows } from '../output.ts';
import { statsFacts } from '../queue/text.ts';
import type { RemoteSpec } from '../remote-command.ts';
import type { Remote } from '../remote.ts';
import { findWorker } from '../workers/worker.ts';
import { among, everyPage, findNewestJob, JobArgument, type JobQuery, withJobArgument } from './find.ts';
import { detailFacts, jobColumns } from './text.ts';
import { poolsText } from './why.ts';

export const list: RemoteSpec = {
  name: 'list',
  description: 'List jobs, newest first',
  examples: [
    'trainyard jobs list --active',
    'trainyard jobs list --status failed --mine -o id,config_name,cause',
  ],
  shape: addOptions,
  async act(remote) {
    const { flags, terminal } = remote;
    const filter = await filterOf(remote);
    const query = {
      ...filter,
      limit: numberOf(flags, 'limit') ?? undefined,
      offset: numberOf(flags, 'offset') ?? undefined,
    };
    readInput(queueApi.list.query, query, optionNames);
    const answer = isOn(flags, 'all')
      ? await everyPage(remote, filter)
      : await remote.request(queueApi.list, { query });
    const isUnfiltered = Object.values(filter).every(value => value === undefined) && !query.offset;
    const none = isUnfiltered
      ? 'No jobs. To submit one, run "trainyard jobs submit CONFIG"'
      : 'No matching jobs';
    printRows(remote, { answer, rows: answer.entries, columns: jobColumns, none });
    if (answer.next_cursor !== null) terminal.err('Not all results are shown. To list all, use --all\n');
  },
};

function addOptions(command: Command): Command {
  return command
    .addOption(
      new Option('-s, --status <status>', 'only these statuses, separated by commas')
        .choices(ShownStatus.options)
        .argParser(wordsAmong('status', ShownStatus.options, ['queued', 'training'])),
    )
    .option('--active', 'only jobs that have not ended')
    .option('--blocked', 'only jobs that need approval')
    .option('--user <name>', 'only jobs of this user')
    .addOption(new Option('--mine', 'only your own jobs').conflicts('user'))
    .option('--worker <worker>', 'only jobs of this worker')
    .option('--tag <word>', 'only jobs with this tag')
    .option('--group <group>', 'only jobs of this group')
    .option('--search <text>', 'only jobs with this text in their id, name, config, user, worker or error')
    .option('-l, --limit <count>', 'maximum number of results, up to 500 (default: 50)', pageSize)
    .option('--offset <count>', 'number of newest results to skip (default: 0)', wholeNumber)
    .addOption(new Option('--all', 'list all results').conflicts(['limit', 'offset']));
}

/** The option that messages name for each request field. */
const optionNames = {
  status: '--status',
  user: '--user',
  worker_id: '--worker',
  q: '--search',
  tag: '--tag',
  group: '--group',
  limit: '--limit',
  offset: '--offset',
};

async function filterOf(remote: Remote): Promise<JobQuery> {
  const { flags } = remote;
  const { status } = flags;
  const worker = textOf(flags, 'worker');
  const user = isOn(flags, 'mine') ? (await remote.request(queueApi.me)).user : textOf(flags, 'user');
  return {
    status: Array.isArray(status) ? status.join(',') : undefined,
    include_completed: isOn(flags, 'active') ? 'false' : undefined,
    blocked: isOn(flags, 'blocked') ? 'true' : undefined,
    user: user ?? undefined,
    worker_id: worker === null ? undefined : await workerIdOf(remote, worker),
    q: textOf(flags, 'search') ?? undefined,
    tag: textOf(flags, 'tag') ?? undefined,
    group: textOf(flags, 'group') ?? undefined,
  };
}

/** Returns the id of a worker. Also accepts the id of a deleted worker, because its jobs still exist. */
async function workerIdOf(remote: Remote, word: string): Promise<string> {
  try {
    return (await findWorker(remote, word)).id;
  } catch (cause) {
    const id = WorkerId.safeParse(word);
    const isMissing = cause instanceof CommandEnd && cause.failure.code === exitCodes.notFound;
    if (!isMissing || !id.success) throw cause;
    const { entries } = await remote.request(queueApi.list, { query: { worker_id: id.data, limit: 1 } });
    if (entries.length === 0) throw cause;
    return id.data;
  }
}

export const get: RemoteSpec = {
  name: 'get',
  description: 'Show a job and its attempts',
  shape: command => withJobArgument(command, among.all),
  async act(remote, [word]) {
    const { id } = await findNewestJob(remote, word);
    const job = await remote.request(queueApi.get, { params: { id } });
    printOne(remote, { answer: job, facts: [...detailFacts(job), ['Pools', await poolLines(remote, job)]] });
  },
};

/**
 * Returns one line per pool: whether the pool orders a machine for the pending job. Null for other jobs, or if the request fails.
 */
async function poolLines({ call }: Remote, { id, status }: JobDetail): Promise<string | null> {
  if (!isWaiting(status)) return null;
  const explained = await call(queueApi.explain, { params: { id } });
  return explained.ok ? poolsText(explained.value) : null;
}

/** Shows the whole queue, or the named job, as SimpleTuner's `status` does. */
export const status: RemoteSpec = {
  name: 'status',
  description: 'Show queue statistics, or one job',
  shape: command => command.addArgument(new JobArgument(among.all, '[job]')),
  async act(remote, args, signals) {
    if (args[0] !== undefined) return get.act(remote, args, signals);
    const answer = await remote.request(queueApi.stats);
    return printOne(remote, { answer, facts: statsFacts(answer) });
  },
};
