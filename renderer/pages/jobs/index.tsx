import { useParams } from 'wouter';
import { JobDetailPage } from './detail.tsx';
import { ActsProvider } from './job-acts.tsx';
import './jobs.css';
import { JobList } from './list.tsx';
import { SubmitPage } from './submit.tsx';

export function JobsPage() {
  const { id } = useParams();
  if (id === 'new') return <SubmitPage />;
  return <ActsProvider>{id === undefined ? <JobList /> : <JobDetailPage id={id} />}</ActsProvider>;
}
