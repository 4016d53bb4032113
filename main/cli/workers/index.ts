import { Option } from 'commander';
import { workersApi } from '../../../protocol/admin-api.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { WorkerStatus } from '../../../protocol/worker.ts';
import { printRows } from '../output.ts';
import { pausedLine, queueEventText } from '../queue/text.ts';
import type { RemoteSpec } from '../remote-command.ts';
import { cutLine, tableLines } from '../table.ts';
import { watch as watchFleet } from '../watch.ts';
import { drain, label, remove, rename, undrain, unquarantine } from './change.ts';
import { create, join, rotate } from './joining.ts';
import { update } from './update.ts';
import { findWorker, showWorker, withWorkerArgument, workerColumns, workerStatus } from './worker.ts';

const list: RemoteSpec = {
  name: 'list',
  description: 'List workers',
  examples: ['trainyard workers list', 'trainyard workers list --status offline -o name,last_heartbeat'],
  shape: command =>
    command.addOption(
      new Option('--status <status>', 'only workers with this status').choices(WorkerStatus.options),
    ),
  async act(remote) {
    const status = WorkerStatus.optional().parse(remote.flags['status']);
    const answer = await remote.request(workersApi.list, { query: { status_filter: status } });
    const none =
      status === undefined
        ? 'No workers. To add one, run "trainyard workers create NAME"'
        : `No ${status} workers`;
    printRows(remote, { answer, rows: answer.workers, columns: workerColumns, none });
  },
};

const get: RemoteSpec = {
  name: 'get',
  description: 'Show a worker',
  shape: withWorkerArgument,
  act: async (remote, [word]) => showWorker(remote, await findWorker(remote, word)),
};

const watch: RemoteSpec = {
  name: 'watch',
  description: 'Watch all workers until Ctrl-C',
  async act(remote) {
    const { as_of_seq: after } = await remote.request(workersApi.list);
    await watchFleet(remote, {
      kinds: ['worker', 'queue'],
      after,
      async table({ columns }) {
        const [{ workers }, queue] = await Promise.all([
          remote.request(workersApi.list),
          remote.request(queueApi.status),
        ]);
        const table = tableLines(workers, workerColumns, columns);
        const paused = pausedLine(queue);
        return paused === null ? table : [cutLine(paused, columns), ...table];
      },
      line(event) {
        if (event.kind === 'queue') return `${event.at}  ${queueEventText(event)}`;
        if (event.kind !== 'worker') return null;
        const { at, type, worker, worker_id: id } = event;
        return `${at}  ${type}  ${worker === null ? id : `${worker.name} (${id})  ${workerStatus(worker)}`}`;
      },
    });
  },
};

/** Subcommands of `trainyard workers`, in the order of the help. */
export const workerCommands: readonly RemoteSpec[] = [
  list,
  get,
  create,
  join,
  label,
  rename,
  drain,
  undrain,
  unquarantine,
  update,
  rotate,
  remove,
  watch,
];
