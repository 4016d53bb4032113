import type { CallFailure } from '../../../../protocol/client.ts';
import type { WorkerId } from '../../../../protocol/ids.ts';
import type { WorkerView } from '../../../../protocol/worker.ts';
import { detailOf } from '../../../api/session.ts';
import { useFleetTexts } from '../../../app/fleet-texts.ts';
import { Button } from '../../../ui/button.tsx';
import { Dialog } from '../../../ui/dialog.tsx';
import { Progress } from '../../../ui/indicators.tsx';
import type { BulkKind } from '../actions.ts';

/** The result for each worker. A worker without an entry is still being processed. */
export type Outcomes = ReadonlyMap<WorkerId, 'done' | CallFailure>;

interface BulkResultsProps {
  readonly what: BulkKind;
  readonly workers: readonly WorkerView[];
  /** Selected workers that the action does not change. */
  readonly unchanged: readonly WorkerView[];
  readonly outcomes: Outcomes;
  readonly onClose: () => void;
}

/** Shows the result for each worker, failures first. Closing the dialog does not stop the remaining calls. */
export function BulkResults({ what, workers, unchanged, outcomes, onClose }: BulkResultsProps) {
  const t = useFleetTexts();
  const count = workers.length;
  const failed = [...outcomes.values()].filter(outcome => outcome !== 'done').length;
  const isRefused = ({ id }: WorkerView): boolean => (outcomes.get(id) ?? 'done') !== 'done';
  const sorted = workers.toSorted((a, b) => Number(isRefused(b)) - Number(isRefused(a)));
  const title = t(`bulk.${what}.results`, { count });
  return (
    <Dialog title={title} onClose={onClose}>
      <Progress
        label={title}
        percent={(100 * outcomes.size) / count}
        text={t('workers.result.sum', { done: outcomes.size - failed, count, failed })}
      />
      <ul className="worker-outcomes" aria-live="polite">
        {sorted.map(({ id, name }) => (
          <li key={id}>
            <span>{name}</span>
            <Outcome outcome={outcomes.get(id)} />
          </li>
        ))}
        {unchanged.map(({ id, name }) => (
          <li key={id}>
            <span>{name}</span>
            <span className="muted">{t('bulk.unchanged')}</span>
          </li>
        ))}
      </ul>
      <footer className="dialog-foot">
        <Button kind="primary" onClick={onClose}>
          {t('workers.done')}
        </Button>
      </footer>
    </Dialog>
  );
}

function Outcome({ outcome }: { readonly outcome: 'done' | CallFailure | undefined }) {
  const t = useFleetTexts();
  if (outcome === undefined) return <span className="muted">{t('workers.result.waiting')}</span>;
  if (outcome === 'done') return <span>{t('bulk.done')}</span>;
  const detail = detailOf(outcome) ?? t('error.unreachable');
  return <span className="trouble">{t('workers.result.failed', { detail })}</span>;
}
