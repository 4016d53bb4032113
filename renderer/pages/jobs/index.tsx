import { lazy, Suspense } from 'react';
import { useParams } from 'wouter';
import { queueApi } from '../../../protocol/queue-api.ts';
import { Guarded } from '../../app/guarded.tsx';
import { loadPart } from '../../app/part.ts';
import { JobDetailPage } from './details/detail.tsx';
import { JobActionsProvider } from './job-actions.tsx';
import './job-about.css';
import './jobs.css';
import { JobList, NewJob } from './list/list.tsx';

/** Loaded on demand, because the page contains the config formats and lists of their keys. */
const SubmitPage = lazy(() =>
  loadPart(async () => ({ default: (await import('./submit/submit.tsx')).SubmitPage })),
);

/** Routes below `/jobs`. Submitting and reading jobs need different permissions. */
export function JobsPage() {
  const { id } = useParams();
  if (id === 'new')
    return (
      <Guarded calls={[queueApi.submit]} title="jobs.submit.title">
        <Suspense fallback={<div className="page" aria-busy="true" />}>
          <SubmitPage />
        </Suspense>
      </Guarded>
    );
  return (
    <Guarded calls={[queueApi.list]} title="nav.jobs" otherAction={<NewJob kind="primary" />}>
      <JobActionsProvider>{id === undefined ? <JobList /> : <JobDetailPage id={id} />}</JobActionsProvider>
    </Guarded>
  );
}
