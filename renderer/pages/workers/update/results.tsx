import type { WorkerView } from '../../../../protocol/worker.ts';
import type { UpdateAnswer } from '../../../../protocol/worker-update.ts';
import { useFleet } from '../../../app/context.ts';
import { useUpdateTexts } from '../../../app/update-texts.ts';
import { useT } from '../../../i18n/index.ts';
import { Button } from '../../../ui/button.tsx';
import { Dialog } from '../../../ui/dialog.tsx';
import { Progress } from '../../../ui/indicators.tsx';
import { refusalOf, type UpdateAnswers } from './facts.ts';

interface UpdateResultsProps {
  readonly workers: readonly WorkerView[];
  readonly answers: UpdateAnswers;
  readonly onClose: () => void;
}

type Result = 'done' | 'failed' | 'open';

/** Shows the progress of each worker. Closing the dialog does not stop the updates. */
export function UpdateResults({ workers, answers, onClose }: UpdateResultsProps) {
  const t = useUpdateTexts();
  const shared = useT();
  const fleetWorkers = useFleet(({ fleet }) => fleet.workers);
  const rows = workers.map(before => ({
    worker: fleetWorkers.get(before.id) ?? before,
    answer: answers.get(before.id),
  }));
  const accepted = rows.filter(({ answer }) => answer?.accepted === true);
  const count = (result: Result): number =>
    accepted.filter(({ worker }) => resultOf(worker) === result).length;
  const [done, failed] = [count('done'), count('failed')];
  const title = t('update.results', { count: accepted.length });
  return (
    <Dialog title={title} onClose={onClose}>
      {accepted.length > 0 && (
        <Progress
          label={title}
          percent={(100 * (done + failed)) / accepted.length}
          text={t('update.sum', { done, count: accepted.length, failed })}
        />
      )}
      <ul className="worker-outcomes" aria-live="polite">
        {rows.map(row => (
          <li key={row.worker.id}>
            <span>{row.worker.name}</span>
            <Outcome {...row} />
          </li>
        ))}
      </ul>
      {done + failed < accepted.length && <p className="muted">{t('update.goesOn')}</p>}
      <footer className="dialog-foot">
        <Button kind="primary" onClick={onClose}>
          {shared('workers.done')}
        </Button>
      </footer>
    </Dialog>
  );
}

/** Returns the result of an update. A missing order means success, because the server removes the order after an update. */
function resultOf({ update }: WorkerView): Result {
  const state = update?.order?.state;
  if (state === undefined) return 'done';
  return state === 'failed' || state === 'stopped' ? 'failed' : 'open';
}

interface OutcomeProps {
  readonly worker: WorkerView;
  readonly answer: UpdateAnswer | undefined;
}

function Outcome({ worker, answer }: OutcomeProps) {
  const t = useUpdateTexts();
  if (answer?.accepted !== true) {
    const refusal = answer?.refusal ?? refusalOf(worker);
    return <span className="muted">{refusal === null ? '' : t(`update.refused.${refusal}`)}</span>;
  }
  const order = worker.update?.order ?? null;
  if (order === null) return <span>{t('update.done', { version: worker.agent_version ?? '' })}</span>;
  const text = t(`update.state.${order.state}`, { reason: order.reason ?? '' });
  return <span className={resultOf(worker) === 'failed' ? 'trouble' : 'muted'}>{text}</span>;
}
