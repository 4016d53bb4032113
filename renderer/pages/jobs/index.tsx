import { useParams } from 'wouter';
import { queueApi } from '../../../protocol/queue-api.ts';
import { Guarded } from '../../app/guarded.tsx';
import { JobDetailPage } from './details/detail.tsx';
import { JobActionsProvider } from './job-actions.tsx';
import './job-about.css';
import './jobs.css';
import { JobList, NewJob } from './list/list.tsx';
import { SubmitPage } from './submit/submit.tsx';

/** Routes below `/jobs`. Submitting and reading jobs need different permissions. */
export function JobsPage() {
  const { id } = useParams();
  if (id === 'new')
    return (
      <Guarded calls={[queueApi.submit]} title="jobs.submit.title">
        <SubmitPage />
      </Guarded>
    );
  return (
    <Guarded calls={[queueApi.list]} title="nav.jobs" instead={<NewJob kind="primary" />}>
      <JobActionsProvider>{id === undefined ? <JobList /> : <JobDetailPage id={id} />}</JobActionsProvider>
    </Guarded>
  );
}
