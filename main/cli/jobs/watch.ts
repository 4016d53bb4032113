import type { UiEvent } from '../../../protocol/events.ts';
import type { JobId } from '../../../protocol/ids.ts';
import { isFinal, isWaiting, type JobDetail, type JobView } from '../../../protocol/job.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { exitCodes, fail } from '../failure.ts';
import type { CliTerminal } from '../invocation.ts';
import { live } from '../live.ts';
import { printOne } from '../output.ts';
import { createProgressDisplay } from '../progress-bar.ts';
import { pausedLine, queueEventText } from '../queue/text.ts';
import type { RemoteSpec } from '../remote-command.ts';
import type { Remote } from '../remote.ts';
import { cutLine, plainLines, tableLines } from '../table.ts';
import { watch as watchFleet } from '../watch.ts';
import { among, findJob, JobArgument } from './find.ts';
import { detailFacts, jobColumns, situation } from './text.ts';

/** Waits until a job ends, and reconnects after the connection is lost. Calls `show` with each state of the job. */
export function followJob(remote: Remote, id: JobId, show: (job: JobView) => void): Promise<JobDetail> {
  const fetchJob = () => remote.request(queueApi.get, { params: { id } });
  return live(remote, async events => {
    // Read the job only after the stream is open, so that no change is missed.
    const first = await fetchJob();
    show(first);
    if (isFinal(first.status)) return first;
    for await (const event of events) {
      const job = event.kind === 'reset' ? await fetchJob() : event.kind === 'job' ? event.job : null;
      if (job === null || job.id !== id) continue;
      show(job);
      if (isFinal(job.status)) return fetchJob();
    }
    return null;
  });
}

/** Prints the job's result. Ends the command with a failure when the job did not complete. */
export function concludeJob(remote: Remote, job: JobDetail): void {
  printOne(remote, { answer: job, facts: detailFacts(job) });
  if (job.status === 'completed') return;
  const message = plainLines(job.error_message ?? '')
    .join('\n')
    .trim();
  const cause = job.cause === null ? '' : ` (${job.cause})`;
  fail(
    exitCodes.jobUnsuccessful,
    `Job ${job.id} ${job.status === 'failed' ? 'failed' : `was ${job.status}`}${cause}${message === '' ? '' : `: ${message}`}`,
  );
}

/** Shows a job on stderr: one line per status change, and a progress bar during training. */
export function createJobDisplay({ err, errScreen }: CliTerminal): (job: JobView) => void {
  let lastLine = '';
  let attempt = 0;
  let bar = createProgressDisplay(err, errScreen);
  return job => {
    const line = statusLine(job);
    const isOver = isFinal(job.status);
    // Complete the bar before printing the final status.
    if (isOver && job.progress !== null && job.attempt === attempt) bar.show(job.progress);
    if (line !== lastLine || job.attempt !== attempt) {
      bar.finish();
      err(`${line}\n`);
    }
    if (job.attempt !== attempt) bar = createProgressDisplay(err, errScreen);
    lastLine = line;
    attempt = job.attempt;
    if (job.progress !== null && job.status === 'running') bar.show(job.progress);
  };
}

function statusLine(job: JobView): string {
  const { status, worker_name: worker, attempt, max_attempts: max } = job;
  const where = worker === null || isWaiting(status) ? '' : ` on ${worker}`;
  const which = attempt > 1 ? `, attempt ${attempt} of ${max}` : '';
  const why = isWaiting(status) || status === 'recovering' ? situation(job) : '';
  return `${status[0]?.toUpperCase()}${status.slice(1)}${where}${which}${why === '' ? '' : `: ${why}`}`;
}

type JobEvent = Extract<UiEvent, { readonly kind: 'job' }>;

/**
 * Creates a filter that keeps the output of a watch short. The filter keeps one progress event per 10 % of an attempt. It drops
 * events about outstanding files and the best loss, and keeps all other events.
 *
 * @internal
 */
export function createProgressFilter(): (event: JobEvent) => boolean {
  const reached = new Map<string, number>();
  return ({ type, job, job_id: id, attempt }) => {
    if (type === 'job.outstanding' || type === 'job.best_loss') return false;
    if (type !== 'job.progress') {
      if (job === null || isFinal(job.status)) reached.delete(id);
      return true;
    }
    const tenth = attempt * 100 + Math.floor((job?.progress?.percent ?? 0) / 10);
    if (tenth <= (reached.get(id) ?? -1)) return false;
    reached.set(id, tenth);
    return true;
  };
}

export const watch: RemoteSpec = {
  name: 'watch',
  description: 'Watch all active jobs, or one job until it ends',
  shape: command => command.addArgument(new JobArgument(among.unended, '[job]')),
  async act(remote, [word]) {
    if (word !== undefined) {
      const { id } = await findJob(remote, word);
      return concludeJob(remote, await followJob(remote, id, createJobDisplay(remote.terminal)));
    }
    const { as_of_seq: after } = await remote.request(queueApi.list, { query: { limit: 1 } });
    const isNews = createProgressFilter();
    await watchFleet(remote, {
      kinds: ['job', 'queue'],
      after,
      async table({ columns, rows }) {
        const query = { include_completed: 'false', limit: Math.min(500, rows) };
        const [{ entries }, queue] = await Promise.all([
          remote.request(queueApi.list, { query }),
          remote.request(queueApi.status),
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
