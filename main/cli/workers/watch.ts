import { workersApi } from '../../../protocol/admin-api.ts';
import type { RemoteSpec } from '../remote-command.ts';
import { tableLines } from '../table.ts';
import { watch as watchFleet } from '../watch.ts';
import { workerColumns, workerStatus } from './text.ts';

export const watch: RemoteSpec = {
  name: 'watch',
  description: 'Watch the workers: a table on a screen, elsewhere a line for each event',
  async act(remote) {
    const { as_of_seq: after } = await remote.ask(workersApi.list);
    await watchFleet(remote, {
      kind: 'worker',
      after,
      table: async ({ columns }) =>
        tableLines((await remote.ask(workersApi.list)).workers, workerColumns, columns),
      line(event) {
        if (event.kind !== 'worker') return null;
        const { at, type, worker, worker_id: id } = event;
        return `${at}  ${type}  ${worker === null ? id : `${worker.name} (${id})  ${workerStatus(worker)}`}`;
      },
    });
  },
};
