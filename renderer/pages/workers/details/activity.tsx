import { useMemo } from 'react';
import { Link } from 'wouter';
import { shownName } from '../../../../protocol/job-about.ts';
import type { JobView } from '../../../../protocol/job.ts';
import { queueApi } from '../../../../protocol/queue-api.ts';
import type { WorkerView } from '../../../../protocol/worker.ts';
import { useFleet, useLoaded } from '../../../app/context.ts';
import { FleetTexts } from '../../../app/fleet-texts.ts';
import { useT, type Translator } from '../../../i18n/index.ts';
import { State } from '../../../ui/indicators.tsx';
import { Time } from '../../../ui/time.tsx';
import { JobCell } from '../cells.tsx';
import type { CallFailure, ValueOf } from '../../../../protocol/client.ts';
import { detailOf } from '../../../api/session.ts';
import { auditApi } from '../../../../protocol/admin-api.ts';
import { FreeLine, OutlookProvider } from '../../overview/fleet/free.tsx';
import { eventText } from './event-text.ts';
import { datasetsApi } from '../../../../protocol/datasets-api.ts';
import { sizeText } from '../../jobs/figures.ts';

const maxJobs = 10;

/** The current job with its progress bar, then the most recent jobs of a worker. */
export function JobsCard({ worker }: { readonly worker: WorkerView }) {
  const t = useT();
  const query = useMemo(() => ({ query: { worker_id: worker.id, limit: maxJobs } }), [worker.id]);
  const { value, failure } = useLoaded(queueApi.list, query, worker.current_job_id ?? '');
  const last = value?.entries.filter(({ id }) => id !== worker.current_job_id) ?? [];
  const hasNone = worker.current_job_id === null && value !== null && last.length === 0;
  return (
    <section className="card" aria-labelledby="worker-jobs" aria-busy={value === null && failure === null}>
      <h2 id="worker-jobs">{t('workers.detail.jobs')}</h2>
      <LoadFailure failure={failure} />
      {worker.current_job_id !== null && <JobCell worker={worker} />}
      <FleetTexts>
        <OutlookProvider>
          <FreeLine worker={worker} />
        </OutlookProvider>
      </FleetTexts>
      {hasNone && <p className="muted">{t('workers.detail.noJobs')}</p>}
      <ul className="worker-lines">
        {last.map(job => (
          <JobLine key={job.id} read={job} worker={worker} />
        ))}
      </ul>
    </section>
  );
}

/** Shows a job of the list. Prefers the job in the store, because its data is newer than the list. */
function JobLine({ read, worker }: { readonly read: JobView; readonly worker: WorkerView }) {
  const t = useT();
  const job = useFleet(state => state.fleet.jobs.get(read.id)) ?? read;
  const other = job.worker_id === worker.id ? null : (job.worker_name ?? job.worker_id);
  return (
    <li>
      {other === null ? (
        <State name={job.status} />
      ) : (
        <span className="muted worker-moved">{t('workers.detail.movedTo', { worker: other })}</span>
      )}
      <span>
        <Link href={`/jobs/${job.id}`} title={shownName(job)}>
          {shownName(job)}
        </Link>
      </span>
      <span className="muted">
        <Time at={job.completed_at ?? job.started_at ?? job.queued_at} />
      </span>
    </li>
  );
}

type Entry = ValueOf<typeof auditApi.list>['entries'][number];

const maxEvents = 20;

/** Lists the worker's audit rows, newest first. Reads them again after each event of the worker. */
export function EventsCard({ worker }: { readonly worker: WorkerView }) {
  const t = useT();
  const newest = useFleet(
    ({ fleet }) =>
      fleet.recent.find(event => event.kind === 'worker' && event.worker_id === worker.id)?.seq ?? 0,
  );
  const query = useMemo(() => ({ query: { target_id: worker.id, limit: maxEvents } }), [worker.id]);
  const { value, failure } = useLoaded(auditApi.list, query, String(newest));
  return (
    <section className="card" aria-labelledby="worker-events" aria-busy={value === null && failure === null}>
      <h2 id="worker-events">{t('workers.detail.events')}</h2>
      <LoadFailure failure={failure} />
      {value?.entries.length === 0 && <p className="muted">{t('workers.detail.noEvents')}</p>}
      <ul className="worker-lines">
        {value?.entries.map(entry => (
          <li key={entry.seq}>
            <span>{eventText(t, entry.event_type)}</span>
            <span className="muted">{actorText(t, entry)}</span>
            <span className="muted">
              <Time at={entry.at} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function actorText(t: Translator, { actor_type: type, actor_id: id, address }: Entry): string {
  if (type === 'worker') return t('workers.detail.byItself');
  if (type === 'system') return t('workers.detail.bySystem');
  return t('workers.detail.by', { who: [id, address].filter(Boolean).join(', ') });
}

/** Lists the datasets in the rig's cache. Jobs that need no other datasets start without a download. */
export function DataCard({ worker }: { readonly worker: WorkerView }) {
  const t = useT();
  const query = useMemo(() => ({ query: { worker_id: worker.id } }), [worker.id]);
  const { value, failure } = useLoaded(datasetsApi.list, query, worker.current_job_id ?? '');
  return (
    <section className="card" aria-labelledby="worker-data" aria-busy={value === null && failure === null}>
      <h2 id="worker-data">{t('workers.detail.data')}</h2>
      <LoadFailure failure={failure} />
      {value?.datasets.length === 0 && <p className="muted">{t('workers.detail.noData')}</p>}
      <dl className="worker-facts">
        {value?.datasets.map(({ id, name, version, files, bytes }) => (
          <div key={id}>
            <dt title={version}>{name}</dt>
            <dd>{t('workers.detail.dataset', { count: files, size: sizeText(bytes, t.language) })}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

/** Shows why data could not be loaded. Renders nothing without a failure. */
function LoadFailure({ failure }: { readonly failure: CallFailure | null }) {
  const t = useT();
  if (failure === null) return null;
  return (
    <p role="alert" className="trouble">
      {detailOf(failure) ?? t('error.unreachable')}
    </p>
  );
}
