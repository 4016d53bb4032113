import { useState } from 'react';
import { workersApi } from '../../../../protocol/admin-api.ts';
import type { CallFailure } from '../../../../protocol/client.ts';
import type { WorkerId } from '../../../../protocol/ids.ts';
import type { WorkerView } from '../../../../protocol/worker.ts';
import { detailOf } from '../../../api/session.ts';
import { usePanel } from '../../../app/context.ts';
import { type Translator, useT } from '../../../i18n/index.ts';
import { Button } from '../../../ui/button.tsx';
import { Confirm, Dialog } from '../../../ui/dialog.tsx';
import { Progress } from '../../../ui/indicators.tsx';
import { showFailure } from '../../../ui/toast.tsx';
import { type Outcomes, useStartAction } from '../actions.ts';

interface DrainDialogProps {
  readonly workers: readonly WorkerView[];
  readonly onClose: () => void;
  readonly onOutcome: (id: WorkerId, outcome: 'done' | CallFailure) => void;
}

/** Deadlines to choose from, in minutes; 0 means no deadline. */
const deadlines = [0, 5, 30, 60, 240, 1440] as const;
const maxParallel = 4;

/**
 * Asks for the reason and the deadline, then drains the workers. With several workers, it shows the result for each.
 */
export function DrainDialog({ workers, onClose, onOutcome }: DrainDialogProps) {
  const t = useT();
  const start = useStartAction();
  const { client } = usePanel();
  const [reason, setReason] = useState('');
  const [minutes, setMinutes] = useState(0);
  const isOne = workers.length === 1;
  const drain = (): void => {
    if (!isOne) start({ kind: 'drained', workers });
    const trimmed = reason.trim();
    const body = {
      ...(trimmed === '' ? {} : { reason: trimmed }),
      ...(minutes === 0 ? {} : { deadline_s: minutes * 60 }),
    };
    void runConcurrently(workers, maxParallel, async ({ id }) => {
      const answer = await client.call(workersApi.drain, { params: { id }, body });
      if (!isOne) onOutcome(id, answer.ok ? 'done' : answer.failure);
      else if (!answer.ok) showFailure(t, answer.failure);
    });
  };
  const values = { count: workers.length, name: workers[0]?.name ?? '' };
  return (
    <Confirm
      title={t('workers.drain.title', values)}
      consequence={t('workers.drain.consequence', values)}
      act={t('workers.drain.act')}
      onConfirm={drain}
      onClose={onClose}
    >
      {!isOne && <p className="muted worker-names">{joinNames(t, workers)}</p>}
      <label>
        {t('workers.drain.reason')}
        <input value={reason} maxLength={500} onChange={event => setReason(event.target.value)} />
      </label>
      <label>
        {t('workers.drain.deadlineField')}
        <select value={minutes} onChange={event => setMinutes(Number(event.target.value))}>
          {deadlines.map(each => (
            <option key={each} value={each}>
              {deadlineText(t, each)}
            </option>
          ))}
        </select>
      </label>
    </Confirm>
  );
}

function deadlineText(t: Translator, minutes: number): string {
  if (minutes === 0) return t('workers.drain.deadline.none');
  return minutes < 60
    ? t('workers.drain.deadline.minutes', { count: minutes })
    : t('workers.drain.deadline.hours', { count: minutes / 60 });
}

const joinNames = (t: Translator, workers: readonly WorkerView[]): string =>
  new Intl.ListFormat(t.language).format(workers.map(({ name }) => name));

interface DrainedDialogProps {
  readonly workers: readonly WorkerView[];
  readonly outcomes: Outcomes;
  readonly onClose: () => void;
}

/** Shows the result for each worker. Closing the dialog does not stop the remaining calls. */
export function DrainedDialog({ workers, outcomes, onClose }: DrainedDialogProps) {
  const t = useT();
  const count = workers.length;
  const failed = [...outcomes.values()].filter(outcome => outcome !== 'done').length;
  const title = t('workers.drain.results', { count });
  return (
    <Dialog title={title} onClose={onClose}>
      <Progress
        label={title}
        percent={(100 * outcomes.size) / count}
        text={t('workers.result.sum', { done: outcomes.size - failed, count, failed })}
      />
      <ul className="worker-outcomes">
        {workers.map(({ id, name }) => (
          <li key={id}>
            <span>{name}</span>
            <Outcome outcome={outcomes.get(id)} />
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
  const t = useT();
  if (outcome === undefined) return <span className="muted">{t('workers.result.waiting')}</span>;
  if (outcome === 'done') return <span>{t('workers.result.done')}</span>;
  const detail = detailOf(outcome) ?? t('error.unreachable');
  return <span className="trouble">{t('workers.result.failed', { detail })}</span>;
}

/**
 * Runs an action for each item, at most `limit` at a time. A browser allows six connections per server, and the event
 * stream uses one.
 * @internal
 */
export async function runConcurrently<T>(
  things: readonly T[],
  limit: number,
  action: (thing: T) => Promise<void>,
): Promise<void> {
  const left = [...things];
  const work = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) await action(next);
  };
  await Promise.all(Array.from({ length: limit }, work));
}
