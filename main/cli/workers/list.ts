import { Option } from 'commander';
import { workersApi } from '../../../protocol/admin-api.ts';
import { WorkerStatus } from '../../../protocol/worker.ts';
import { printRows } from '../output.ts';
import type { RemoteSpec } from '../remote-command.ts';
import { workerColumns } from './text.ts';

export const list: RemoteSpec = {
  name: 'list',
  description: 'List workers',
  examples: ['trainyard workers list', 'trainyard workers list --status offline -o name,last_heartbeat'],
  shape: command =>
    command.addOption(
      new Option('--status <status>', 'only workers with this status').choices(WorkerStatus.options),
    ),
  async act(remote) {
    const status = WorkerStatus.optional().parse(remote.flags['status']);
    const answer = await remote.ask(workersApi.list, { query: { status_filter: status } });
    const none =
      status === undefined
        ? 'No workers. To add one, run "trainyard workers create NAME"'
        : `No ${status} workers`;
    printRows(remote, { answer, rows: answer.workers, columns: workerColumns, none });
  },
};
