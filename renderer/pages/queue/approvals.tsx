import { useMemo } from 'react';
import { Link } from 'wouter';
import { shownName } from '../../../protocol/job-about.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { useFleet } from '../../app/context.ts';
import { Allowed } from '../../app/guarded.tsx';
import { useT } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { Time } from '../../ui/time.tsx';
import { useJobActions } from '../jobs/job-actions.tsx';
import { waitsForApproval } from './order.ts';

/** Maximum number of jobs to list. If there are more, the heading links to the jobs page, which lists all of them. */
const maxShown = 20;

/** Lists jobs that wait for approval, oldest first. Renders nothing if there are none. */
export function Approvals() {
  const t = useT();
  const { perform } = useJobActions();
  const jobs = useFleet(({ fleet }) => fleet.jobs);
  const waitingJobs = useMemo(
    () =>
      [...jobs.values()].filter(waitsForApproval).toSorted((a, b) => (a.queued_at < b.queued_at ? -1 : 1)),
    [jobs],
  );
  if (waitingJobs.length === 0) return null;
  const title = t('queue.approval', { count: waitingJobs.length });
  return (
    <section className="card" aria-labelledby="queue-approval">
      <h2 id="queue-approval">
        {waitingJobs.length > maxShown ? <Link href="/jobs?q=state:blocked">{title}</Link> : title}
      </h2>
      <ul className="approvals">
        {waitingJobs.slice(0, maxShown).map(job => (
          <li key={job.id}>
            <span className="approval-job">
              <Link href={`/jobs/${job.id}`}>{shownName(job)}</Link>
              <span className="muted">
                {t('queue.submittedBy', { user: job.user })} <Time at={job.queued_at} />
              </span>
            </span>
            <Allowed call={queueApi.approve}>
              <Button
                aria-label={t('queue.approveOf', { config: shownName(job) })}
                onClick={() => perform('approve', job)}
              >
                {t('queue.approve')}
              </Button>
            </Allowed>
            <Allowed call={queueApi.reject}>
              <Button
                kind="danger"
                aria-label={t('queue.rejectOf', { config: shownName(job) })}
                onClick={() => perform('reject', job)}
              >
                {t('queue.reject')}
              </Button>
            </Allowed>
          </li>
        ))}
      </ul>
    </section>
  );
}
