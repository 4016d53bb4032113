import { queueApi } from '../../../protocol/queue-api.ts';
import type { RemoteSpec } from '../remote-command.ts';
import { tableLines } from '../table.ts';
import { watch as watchFleet } from '../watch.ts';
import { findJob } from './find.ts';
import { concludeJob, createJobDisplay, followJob } from './follow.ts';
import { createProgressSieve } from './sieve.ts';
import { jobColumns, situation } from './text.ts';

export const watch: RemoteSpec = {
  name: 'watch',
  description:
    'Watch the jobs that have not ended: a table on a screen, elsewhere a line for each event; or one job until its end',
  shape: command => command.argument('[job]', 'its id, the beginning of its id, or the name of its config'),
  async act(remote, [word]) {
    if (word !== undefined) {
      const { id } = await findJob(remote, word);
      return concludeJob(remote, await followJob(remote, id, createJobDisplay(remote.terminal)));
    }
    const { as_of_seq: after } = await remote.ask(queueApi.list, { query: { limit: 1 } });
    const isNews = createProgressSieve();
    await watchFleet(remote, {
      kind: 'job',
      after,
      async table({ columns, rows }) {
        const query = { include_completed: 'false', limit: Math.min(500, rows) };
        const {
          entries,
          total_pending: pending,
          total_running: live,
        } = await remote.ask(queueApi.list, {
          query,
        });
        return [`${live} on workers, ${pending} waiting`, ...tableLines(entries, jobColumns, columns)];
      },
      line(event) {
        if (event.kind !== 'job' || !isNews(event)) return null;
        const { at, type, job, job_id: id } = event;
        return `${at}  ${type}  ${id}${job === null ? '' : `  ${job.config_name}  ${situation(job)}`}`;
      },
    });
  },
};
