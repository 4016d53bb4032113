import { useMemo } from 'react';
import { Link } from 'wouter';
import { queueApi } from '../../../protocol/queue-api.ts';
import { useFleet } from '../../app/context.ts';
import { Allowed } from '../../app/guarded.tsx';
import { countStates } from '../jobs/list/filter.ts';
import { JobActionsProvider } from '../jobs/job-actions.tsx';
import '../jobs/jobs.css';
import { Approvals } from './approvals.tsx';
import { Cleanup } from './cleanup.tsx';
import { QueueLimits } from './limits.tsx';
import { useQueueOrder } from './order.ts';
import { PendingJobs } from './pending-jobs.tsx';
import { PauseButton, PausedBanner } from './pause.tsx';
import { QueueTexts, useQueueT } from './texts.ts';
import { WaitGroups } from './wait-groups.tsx';
import './queue.css';

export const QueuePage = () => (
  <QueueTexts>
    <Page />
  </QueueTexts>
);

function Page() {
  const t = useQueueT();
  const { order, readAgain } = useQueueOrder();
  const queue = useFleet(({ fleet }) => fleet.queue);
  if (queue === null) return <div className="page" aria-busy="true" />;
  const { paused, max_concurrent: max } = queue;
  return (
    <JobActionsProvider>
      <div className="page queue-page">
        <div className="page-head">
          <div className="queue-title">
            <h1>{t('nav.queue')}</h1>
            <Figures max={max} />
          </div>
          <Allowed call={queueApi.pause}>{paused === null && <PauseButton />}</Allowed>
        </div>
        {paused !== null && <PausedBanner paused={paused} />}
        <Approvals />
        <WaitGroups order={order} />
        <PendingJobs order={order} readAgain={readAgain} queue={queue} />
        <div className="queue-forms">
          <QueueLimits />
          <Allowed call={queueApi.cleanup}>
            <Cleanup />
          </Allowed>
        </div>
      </div>
    </JobActionsProvider>
  );
}

/** The numbers of pending and running jobs. Each number links to its jobs. */
function Figures({ max }: { readonly max: number | null }) {
  const t = useQueueT();
  const jobs = useFleet(({ fleet }) => fleet.jobs);
  const { pending, starting, running, recovering, cancelling } = useMemo(
    () => countStates(jobs.values()),
    [jobs],
  );
  const live = starting + running + recovering + cancelling;
  return (
    <ul className="queue-figures" aria-label={t('queue.figures')}>
      <li>
        <Link href="/jobs?q=state:pending">{t('queue.waiting', { count: pending })}</Link>
      </li>
      <li>
        <Link href="/jobs?q=state:starting,running,recovering,cancelling">
          {max === null ? t('queue.running', { count: live }) : t('queue.runningOf', { running: live, max })}
        </Link>
      </li>
    </ul>
  );
}
