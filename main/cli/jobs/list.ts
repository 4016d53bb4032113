import { type Command, Option } from 'commander';
import { WorkerId } from '../../../protocol/ids.ts';
import { ShownStatus } from '../../../protocol/job.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { CommandEnd, exitCodes } from '../failure.ts';
import { isOn, numberOf, textOf, wholeNumber, wordsAmong } from '../flags.ts';
import { printRows } from '../output.ts';
import type { RemoteSpec } from '../remote-command.ts';
import type { Remote } from '../remote.ts';
import { findWorker } from '../workers/find.ts';
import { everyPage, type JobQuery } from './pages.ts';
import { jobColumns } from './text.ts';

export const list: RemoteSpec = {
  name: 'list',
  description: 'List jobs, newest first',
  shape: addOptions,
  async act(remote) {
    const { flags, terminal } = remote;
    const filter = await filterOf(remote);
    const query = {
      ...filter,
      limit: numberOf(flags, 'limit') ?? undefined,
      offset: numberOf(flags, 'offset') ?? undefined,
    };
    const answer = isOn(flags, 'all')
      ? await everyPage(remote, filter)
      : await remote.ask(queueApi.list, { query });
    const isWhole = Object.values(filter).every(value => value === undefined) && !query.offset;
    const none = isWhole
      ? 'There is no job yet: "trainyard jobs submit CONFIG" makes one'
      : 'There is no such job';
    printRows(remote, { answer, rows: answer.entries, columns: jobColumns, none });
    if (answer.next_cursor !== null) terminal.err('There are more: --all lists them\n');
  },
};

function addOptions(command: Command): Command {
  const names = [...ShownStatus.options, 'queued', 'training'];
  return command
    .addOption(
      new Option('-s, --status <status>', 'only these; with commas')
        .choices(ShownStatus.options)
        .argParser(wordsAmong('status', names)),
    )
    .option('--active', 'only those that have not ended')
    .option('--blocked', 'only those that wait for approval')
    .option('--user <name>', 'only those of this user')
    .addOption(new Option('--mine', 'only your own').conflicts('user'))
    .option('--worker <worker>', 'only those of this worker')
    .option('--search <text>', 'only jobs with these words in their id, config, user, worker or error')
    .option('-l, --limit <count>', 'show at most this many, up to 500 (default: 50)', wholeNumber)
    .option('--offset <count>', 'skip this many of the newest', wholeNumber)
    .addOption(new Option('--all', 'all of them, however many').conflicts(['limit', 'offset']));
}

async function filterOf(remote: Remote): Promise<JobQuery> {
  const { flags } = remote;
  const { status } = flags;
  const worker = textOf(flags, 'worker');
  const user = isOn(flags, 'mine') ? (await remote.ask(queueApi.me)).user : textOf(flags, 'user');
  return {
    status: Array.isArray(status) ? status.join(',') : undefined,
    include_completed: isOn(flags, 'active') ? 'false' : undefined,
    blocked: isOn(flags, 'blocked') ? 'true' : undefined,
    user: user ?? undefined,
    worker_id: worker === null ? undefined : await workerIdOf(remote, worker),
    q: textOf(flags, 'search') ?? undefined,
  };
}

/** Also accepts the id of a deleted worker, because its jobs still exist. */
async function workerIdOf(remote: Remote, word: string): Promise<string> {
  try {
    return (await findWorker(remote, word)).id;
  } catch (cause) {
    const id = WorkerId.safeParse(word);
    const isMissing = cause instanceof CommandEnd && cause.failure.code === exitCodes.notFound;
    if (!isMissing || !id.success) throw cause;
    const { entries } = await remote.ask(queueApi.list, { query: { worker_id: id.data, limit: 1 } });
    if (entries.length === 0) throw cause;
    return id.data;
  }
}
