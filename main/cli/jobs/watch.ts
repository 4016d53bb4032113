import { queueApi } from '../../../protocol/queue-api.ts';
import type { RemoteSpec } from '../remote-command.ts';
import { pausedLine, queueEventText } from '../queue/text.ts';
import { cutLine, tableLines } from '../table.ts';
import { watch as watchFleet } from '../watch.ts';
import { among, JobArgument } from './argument.ts';
import { findJob } from './find.ts';
import { concludeJob, createJobDisplay, followJob } from './follow.ts';
import { createProgressSieve } from './sieve.ts';
import { jobColumns, situation } from './text.ts';

export const watch: RemoteSpec = {
  name: 'watch',
  description: 'Watch all active jobs, or one job until it ends',
  shape: command => command.addArgument(new JobArgument(among.unended, '[job]')),
  async act(remote, [word]) {
    if (word !== undefined) {
      const { id } = await findJob(remote, word);
      return concludeJob(remote, await followJob(remote, id, createJobDisplay(remote.terminal)));
    }
    const { as_of_seq: after } = await remote.ask(queueApi.list, { query: { limit: 1 } });
    const isNews = createProgressSieve();
    await watchFleet(remote, {
      kinds: ['job', 'queue'],
      after,
      async table({ columns, rows }) {
        const query = { include_completed: 'false', limit: Math.min(500, rows) };
        const [{ entries }, queue] = await Promise.all([
          remote.ask(queueApi.list, { query }),
          remote.ask(queueApi.status),
        ]);
        const counts = `${queue.total_running} on workers, ${queue.total_pending} pending`;
        const head = [counts, pausedLine(queue)].filter(part => part !== null).join('. ');
        return [cutLine(head, columns), ...tableLines(entries, jobColumns, columns)];
      },
      line(event) {
        if (event.kind === 'queue') return `${event.at}  ${queueEventText(event)}`;
        if (event.kind !== 'job' || !isNews(event)) return null;
        const { at, type, job, job_id: id } = event;
        return `${at}  ${type}  ${id}${job === null ? '' : `  ${job.config_name}  ${situation(job)}`}`;
      },
    });
  },
};
