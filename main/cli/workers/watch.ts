import { workersApi } from '../../../protocol/admin-api.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import type { RemoteSpec } from '../remote-command.ts';
import { cutLine, tableLines } from '../table.ts';
import { watch as watchFleet } from '../watch.ts';
import { pausedLine, queueEventText } from '../queue/text.ts';
import { workerColumns, workerStatus } from './text.ts';

export const watch: RemoteSpec = {
  name: 'watch',
  description: 'Watch all workers',
  async act(remote) {
    const { as_of_seq: after } = await remote.ask(workersApi.list);
    await watchFleet(remote, {
      kinds: ['worker', 'queue'],
      after,
      async table({ columns }) {
        const [{ workers }, queue] = await Promise.all([
          remote.ask(workersApi.list),
          remote.ask(queueApi.status),
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
