import { Option } from 'commander';
import { workersApi } from '../../../protocol/admin-api.ts';
import { WorkerStatus } from '../../../protocol/worker.ts';
import { printRows } from '../output.ts';
import type { RemoteSpec } from '../remote-command.ts';
import { workerColumns } from './text.ts';

export const list: RemoteSpec = {
  name: 'list',
  description: 'List the workers',
  shape: command =>
    command.addOption(new Option('--status <status>', 'only these').choices(WorkerStatus.options)),
  async act(remote) {
    const status = WorkerStatus.optional().parse(remote.flags['status']);
    const answer = await remote.ask(workersApi.list, { query: { status_filter: status } });
    const none =
      status === undefined
        ? 'There is no worker yet: "trainyard workers create NAME" makes one'
        : `No worker is ${status}`;
    printRows(remote, { answer, rows: answer.workers, columns: workerColumns, none });
  },
};
