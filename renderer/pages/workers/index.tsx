import { useParams } from 'wouter';
import { useFreshWorkers } from '../../app/fresh.ts';
import { ActDialogs } from './act-dialogs.tsx';
import { WorkerDetail } from './detail.tsx';
import { WorkerList } from './list.tsx';
import './workers.css';

export function WorkersPage() {
  const { id } = useParams<{ readonly id?: string }>();
  useFreshWorkers();
  return <ActDialogs>{id === undefined ? <WorkerList /> : <WorkerDetail id={id} />}</ActDialogs>;
}
