import { useMemo } from 'react';
import { Link } from 'wouter';
import type { JobView } from '../../../protocol/job.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import type { WorkerView } from '../../../protocol/worker.ts';
import { useFleet } from '../../app/context.ts';
import { useLoaded } from '../../app/loaded.ts';
import { useT } from '../../i18n/index.ts';
import { State } from '../../ui/state.tsx';
import { Time } from '../../ui/time.tsx';
import { JobCell } from './cells.tsx';
import { Trouble } from './trouble.tsx';

const maxJobs = 10;

/** The current job with its progress bar, then the most recent ones. */
export function JobsCard({ worker }: { readonly worker: WorkerView }) {
  const t = useT();
  const query = useMemo(() => ({ query: { worker_id: worker.id, limit: maxJobs } }), [worker.id]);
  const { value, failure } = useLoaded(queueApi.list, query, worker.current_job_id ?? '');
  const last = value?.entries.filter(({ id }) => id !== worker.current_job_id) ?? [];
  const hasNone = worker.current_job_id === null && value !== null && last.length === 0;
  return (
    <section className="card" aria-labelledby="worker-jobs" aria-busy={value === null && failure === null}>
      <h2 id="worker-jobs">{t('workers.detail.jobs')}</h2>
      <Trouble failure={failure} />
      {worker.current_job_id !== null && <JobCell worker={worker} />}
      {hasNone && <p className="muted">{t('workers.detail.noJobs')}</p>}
      <ul className="worker-lines">
        {last.map(job => (
          <JobLine key={job.id} read={job} />
        ))}
      </ul>
    </section>
  );
}

/** The store is newer than the list that was read. */
function JobLine({ read }: { readonly read: JobView }) {
  const job = useFleet(state => state.fleet.jobs.get(read.id)) ?? read;
  return (
    <li>
      <State name={job.status} />
      <Link href={`/jobs/${job.id}`} title={job.config_name}>
        {job.config_name}
      </Link>
      <span className="muted">
        <Time at={job.completed_at ?? job.started_at ?? job.queued_at} />
      </span>
    </li>
  );
}
