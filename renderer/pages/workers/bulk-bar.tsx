import { workersApi } from '../../../protocol/admin-api.ts';
import type { WorkerView } from '../../../protocol/worker.ts';
import { Allowed } from '../../app/guarded.tsx';
import { useT } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { useStart } from './acts.ts';

interface BulkBarProps {
  readonly chosen: readonly WorkerView[];
  /** All workers that match the filter. */
  readonly shown: readonly WorkerView[];
  readonly onChoose: (workers: readonly WorkerView[]) => void;
}

export function BulkBar({ chosen, shown, onChoose }: BulkBarProps) {
  const t = useT();
  const start = useStart();
  return (
    <div
      className="worker-bulk-bar"
      role="group"
      aria-label={t('workers.selected', { count: chosen.length })}
    >
      <strong>{t('workers.selected', { count: chosen.length })}</strong>
      <Button kind="quiet" onClick={() => onChoose(shown)}>
        {t('workers.selectAll', { count: shown.length })}
      </Button>
      <Button kind="quiet" onClick={() => onChoose([])}>
        {t('workers.selectNone')}
      </Button>
      <Allowed call={workersApi.drain}>
        <Button onClick={() => start({ kind: 'drain', workers: chosen })}>{t('workers.act.drain')}</Button>
      </Allowed>
    </div>
  );
}
