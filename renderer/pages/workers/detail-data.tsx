import { useMemo } from 'react';
import { datasetsApi } from '../../../protocol/datasets-api.ts';
import type { WorkerView } from '../../../protocol/worker.ts';
import { useLoaded } from '../../app/loaded.ts';
import { useT } from '../../i18n/index.ts';
import { sizeText } from '../jobs/figures.ts';
import { Trouble } from './trouble.tsx';

/** The datasets in this rig's cache; jobs that need them start without a download. */
export function DataCard({ worker }: { readonly worker: WorkerView }) {
  const t = useT();
  const query = useMemo(() => ({ query: { worker_id: worker.id } }), [worker.id]);
  const { value, failure } = useLoaded(datasetsApi.list, query, worker.current_job_id ?? '');
  return (
    <section className="card" aria-labelledby="worker-data" aria-busy={value === null && failure === null}>
      <h2 id="worker-data">{t('workers.detail.data')}</h2>
      <Trouble failure={failure} />
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
