import { workersApi } from '../../../protocol/admin-api.ts';
import type { WorkerView } from '../../../protocol/worker.ts';
import { workerUpdatesApi } from '../../../protocol/worker-updates-api.ts';
import { useFleetTexts } from '../../app/fleet-texts.ts';
import { Allowed } from '../../app/guarded.tsx';
import { Button } from '../../ui/button.tsx';
import { useStartAction } from './actions.ts';

interface BulkBarProps {
  readonly chosen: readonly WorkerView[];
  /** All workers that match the filter. */
  readonly shown: readonly WorkerView[];
  readonly onChoose: (workers: readonly WorkerView[]) => void;
}

/** Actions for the selected workers. Hides the actions Undrain and Update when they would change no selected worker. */
export function BulkBar({ chosen, shown, onChoose }: BulkBarProps) {
  const t = useFleetTexts();
  const start = useStartAction();
  const isAnyDrained = chosen.some(({ drain }) => drain !== null);
  const isAnyOlder = chosen.some(({ update }) => update?.available === true);
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
        <Button onClick={() => start({ kind: 'bulk', what: 'drain', workers: chosen })}>
          {t('workers.act.drain')}
        </Button>
      </Allowed>
      {isAnyDrained && (
        <Allowed call={workersApi.undrain}>
          <Button onClick={() => start({ kind: 'bulk', what: 'undrain', workers: chosen })}>
            {t('bulk.undrain')}
          </Button>
        </Allowed>
      )}
      <Allowed call={workersApi.update}>
        <Button onClick={() => start({ kind: 'bulk', what: 'labels', workers: chosen })}>
          {t('bulk.labels')}
        </Button>
      </Allowed>
      {isAnyOlder && (
        <Allowed call={workerUpdatesApi.request}>
          <Button onClick={() => start({ kind: 'update', workers: chosen })}>{t('bulk.update')}</Button>
        </Allowed>
      )}
    </div>
  );
}
