import { type ReactNode, useRef } from 'react';
import type { WorkerView } from '../../../../protocol/worker.ts';
import { type Translator, useT } from '../../../i18n/index.ts';
import { LabelChips } from '../../../ui/indicators.tsx';
import { Copy } from '../../../ui/button.tsx';
import { Time } from '../../../ui/time.tsx';
import { showToast } from '../../../ui/toast.tsx';
import { Contact } from '../cells.tsx';

export function ConnectionCard({ worker }: { readonly worker: WorkerView }) {
  const t = useT();
  const unknown = t('workers.detail.unknown');
  const hasLabels = Object.keys(worker.labels).length > 0;
  const runsAs = (worker.persistent ?? worker.worker_type === 'persistent') ? 'persistent' : 'ephemeral';
  return (
    <section className="card" aria-labelledby="worker-connection">
      <h2 id="worker-connection">{t('workers.detail.connection')}</h2>
      <dl className="worker-facts">
        <Fact name={t('workers.detail.contact')}>
          <Contact worker={worker} />
        </Fact>
        <Fact name={t('workers.detail.host')}>{worker.host ?? unknown}</Fact>
        <Fact name={t('workers.detail.agent')}>{worker.agent_version ?? unknown}</Fact>
        {worker.trainers !== null && (
          <Fact name={t('workers.detail.trainers')}>
            {worker.trainers.length === 0
              ? t('workers.detail.none')
              : worker.trainers.map(trainer => trainerText(trainer, t)).join(', ')}
          </Fact>
        )}
        <Fact name={t('workers.detail.protocol')}>
          {worker.registered_at === null ? unknown : protocolText(worker, t)}
        </Fact>
        <Fact name={t('workers.detail.registered')}>
          <Time at={worker.registered_at} />
        </Fact>
        <Fact name={t('workers.detail.created')}>
          <Time at={worker.created_at} />
        </Fact>
        <Fact name={t('workers.detail.type')}>
          {t(`workers.type.${worker.worker_type}`)}
          {runsAs !== worker.worker_type &&
            ` (${t('workers.detail.runsAs', { type: t(`workers.type.${runsAs}`) })})`}
        </Fact>
        <Fact name={t('workers.detail.labels')}>
          {hasLabels ? <LabelChips labels={worker.labels} /> : t('workers.detail.none')}
        </Fact>
        <Fact name={t('workers.detail.id')}>
          <span className="mono">{worker.id}</span>
        </Fact>
      </dl>
    </section>
  );
}

const Fact = ({ name, children }: { readonly name: string; readonly children: ReactNode }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
);

/** Shows the worker as JSON, as the API returns it. The JSON contains no secrets. */
export function RawCard({ worker }: { readonly worker: WorkerView }) {
  const t = useT();
  const box = useRef<HTMLPreElement>(null);
  const text = JSON.stringify(worker, null, 2);
  const select = (): void => {
    if (box.current !== null) getSelection()?.selectAllChildren(box.current);
    showToast(t('workers.copy.byHand'));
  };
  return (
    <details className="card worker-raw">
      <summary>{t('workers.detail.raw')}</summary>
      <div className="worker-secret">
        <pre ref={box} className="mono">
          {text}
        </pre>
        <div className="worker-secret-acts">
          <Copy text={text} label={t('action.copy')} onFailed={select} />
        </div>
      </div>
    </details>
  );
}

const protocolText = ({ protocol }: WorkerView, t: Translator): string =>
  protocol === 1 ? t('workers.detail.protocol1') : String(protocol);

function trainerText({ name, version }: NonNullable<WorkerView['trainers']>[number], t: Translator): string {
  if (name === 'any') return t('workers.detail.anyTrainer');
  return version === null ? name : `${name} ${version}`;
}
