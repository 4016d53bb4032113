import { useCallback, useEffect, useState } from 'react';
import { type JobId, WorkerId } from '../../../../protocol/ids.ts';
import { type JobEntry, queueApi } from '../../../../protocol/queue-api.ts';
import { useFleet, usePanel } from '../../../app/context.ts';
import { WorkerLink } from '../../../app/links.tsx';
import { useT } from '../../../i18n/index.ts';
import { Button } from '../../../ui/button.tsx';
import { Empty } from '../../../ui/empty.tsx';
import { Time } from '../../../ui/time.tsx';
import { showFailure } from '../../../ui/toast.tsx';
import { useLastEvent } from './job-reads.ts';

const pageSize = 100;

/** The audit rows of the job, newest first. */
export function JobEvents({ id }: { readonly id: JobId }) {
  const t = useT();
  const { entries, total, more } = useEntries(id);
  if (entries === null) return <div aria-busy="true" />;
  if (entries.length === 0) return <Empty why={t('jobs.events.none')} />;
  return (
    <div className="card event-card">
      <table className="events" aria-label={t('jobs.events.table')}>
        <thead>
          <tr>
            <th scope="col">{t('jobs.events.time')}</th>
            <th scope="col">{t('jobs.events.what')}</th>
            <th scope="col">{t('jobs.events.who')}</th>
            <th scope="col">{t('jobs.events.details')}</th>
          </tr>
        </thead>
        <tbody>
          {entries.map(entry => (
            <tr key={entry.seq}>
              <td>
                <Time at={entry.at} />
              </td>
              <td className="mono">{entry.event_type}</td>
              <td>
                <Actor entry={entry} />
              </td>
              <td className="mono">
                <Details details={entry.details} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {entries.length < total && <Button onClick={more}>{t('jobs.events.more')}</Button>}
    </div>
  );
}

/** Shows the actor of a row. A worker that still exists appears with its current name. */
function Actor({ entry: { actor_id: id, actor_type: type } }: { readonly entry: JobEntry }) {
  const worker = useFleet(({ fleet }) => {
    const workerId = type === 'worker' ? WorkerId.safeParse(id).data : undefined;
    return workerId && fleet.workers.get(workerId);
  });
  if (worker === undefined) return id ?? type;
  return <WorkerLink id={worker.id}>{worker.name}</WorkerLink>;
}

const Details = ({ details }: { readonly details: JobEntry['details'] }) => (
  <ul className="details">
    {Object.entries(details)
      .filter(([, value]) => value !== null)
      .map(([name, value]) => (
        <li key={name}>
          <span className="muted">{name}</span> {typeof value === 'string' ? value : JSON.stringify(value)}
        </li>
      ))}
  </ul>
);

function useEntries(id: JobId) {
  const t = useT();
  const { client } = usePanel();
  const lastEvent = useLastEvent(id);
  const [limit, setLimit] = useState(pageSize);
  const [read, setRead] = useState<{ readonly entries: readonly JobEntry[]; readonly total: number } | null>(
    null,
  );
  useEffect(() => {
    const controller = new AbortController();
    const query = { limit: Math.min(limit, 500) };
    void client.call(queueApi.events, { params: { id }, query, signal: controller.signal }).then(answer => {
      if (controller.signal.aborted) return;
      if (answer.ok) setRead(answer.value);
      else showFailure(t, answer.failure);
    });
    return () => controller.abort();
  }, [client, id, limit, lastEvent, t]);
  const more = useCallback(() => setLimit(was => was + pageSize), []);
  return { entries: read?.entries ?? null, total: Math.min(read?.total ?? 0, 500), more };
}
