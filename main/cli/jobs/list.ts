import { Option } from 'commander';
import { queueApi } from '../../../protocol/queue-api.ts';
import { JobStatus } from '../../../protocol/job.ts';
import { isOn, numberOf, wholeNumber } from '../flags.ts';
import { printRows } from '../output.ts';
import type { RemoteSpec } from '../remote-command.ts';
import { jobColumns } from './text.ts';

export const list: RemoteSpec = {
  name: 'list',
  description: 'List jobs, newest first',
  shape: command =>
    command
      .addOption(new Option('--status <status>', 'only these').choices(JobStatus.options))
      .option('--active', 'only those that have not ended')
      .option('--limit <count>', 'at most so many, up to 500 (default: 50)', wholeNumber)
      .option('--offset <count>', 'leave out so many of the newest', wholeNumber),
  async act(remote) {
    const { flags } = remote;
    const query = {
      status: JobStatus.optional().parse(flags['status']),
      limit: numberOf(flags, 'limit') ?? undefined,
      offset: numberOf(flags, 'offset') ?? undefined,
      include_completed: isOn(flags, 'active') ? 'false' : undefined,
    };
    const answer = await remote.ask(queueApi.list, { query });
    const isAll = query.status === undefined && query.include_completed === undefined && !query.offset;
    const none = isAll
      ? 'There is no job yet: "trainyard jobs submit CONFIG" makes one'
      : 'There is no such job';
    printRows(remote, { answer, rows: answer.entries, columns: jobColumns, none });
  },
};
