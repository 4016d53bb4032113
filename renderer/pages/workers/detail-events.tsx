import { useMemo } from 'react';
import { auditApi } from '../../../protocol/admin-api.ts';
import type { ValueOf } from '../../../protocol/client.ts';
import type { WorkerView } from '../../../protocol/worker.ts';
import { useFleet } from '../../app/context.ts';
import { useLoaded } from '../../app/loaded.ts';
import { type Translator, useT } from '../../i18n/index.ts';
import { Time } from '../../ui/time.tsx';
import { eventText } from './texts.ts';
import { Trouble } from './trouble.tsx';

type Entry = ValueOf<typeof auditApi.list>['entries'][number];

const maxEvents = 20;

/** The worker's audit rows, newest first; read again after each event of the worker. */
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
      <Trouble failure={failure} />
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
