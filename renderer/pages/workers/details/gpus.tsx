import type { WorkerView } from '../../../../protocol/worker.ts';
import { useT } from '../../../i18n/index.ts';
import { GpuTable } from '../../overview/fleet/gpu-table.tsx';
import { LoadCell, Vram } from '../cells.tsx';
import { gpusText } from '../texts.ts';

/** The readings of each GPU of a worker as bars, and the figures for all GPUs together. */
export function GpusCard({ worker }: { readonly worker: WorkerView }) {
  const t = useT();
  const { driver, accelerator } = worker.gpu_info;
  const unknown = t('workers.detail.unknown');
  return (
    <section className="card" aria-labelledby="worker-gpus">
      <h2 id="worker-gpus">{t('workers.detail.gpus')}</h2>
      {worker.gpu_count === 0 ? (
        <p className="muted">{t('workers.detail.noGpu')}</p>
      ) : (
        <>
          <GpuTable worker={worker} />
          <dl className="worker-facts">
            <div>
              <dt>{t('workers.detail.gpus')}</dt>
              <dd>{gpusText(t, worker)}</dd>
            </div>
            <div>
              <dt>{t('workers.column.load')}</dt>
              <dd>
                <LoadCell worker={worker} />
              </dd>
            </div>
            <div>
              <dt>{t('workers.detail.memory')}</dt>
              <dd>
                <Vram worker={worker} />
              </dd>
            </div>
            <div>
              <dt>{t('workers.detail.accelerator')}</dt>
              <dd>{accelerator ?? unknown}</dd>
            </div>
            <div>
              <dt>{t('workers.detail.driver')}</dt>
              <dd>{driver ?? unknown}</dd>
            </div>
          </dl>
        </>
      )}
    </section>
  );
}
