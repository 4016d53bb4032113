import GripVertical from 'lucide-react/icons/grip-vertical';
import { createContext, type KeyboardEvent, useContext } from 'react';
import { shownName } from '../../../protocol/job-about.ts';
import type { JobView } from '../../../protocol/job.ts';
import { Button } from '../../ui/button.tsx';
import { priorityText } from '../jobs/figures.ts';
import type { Plan, Step } from './moves.ts';
import { effectivePriority, waitsForJobs } from './order.ts';
import { type QueueTranslator, useQueueT } from './texts.ts';
import type { Ended, MoveControl, Moving } from './use-moving.ts';

export const MoveContext = createContext<MoveControl | null>(null);

const stepsByKey: Readonly<Record<string, Step>> = {
  ArrowUp: 'up',
  ArrowDown: 'down',
  PageUp: 'pageUp',
  PageDown: 'pageDown',
  Home: 'first',
  End: 'last',
};

/** The handle of a row: users drag it, or press Space or Enter and then arrow keys. Also draws the line at the target gap. */
export function Grip({ job }: { readonly job: JobView }) {
  const t = useQueueT();
  const control = useContext(MoveContext);
  if (control === null || waitsForJobs(job)) return null;
  const { moving } = control;
  const isGrabbed = moving?.job.id === job.id;
  const line = moving?.line?.id === job.id && moving.plan.kind !== 'stay' ? moving.line.side : null;
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = stepsByKey[event.key];
    if (isGrabbed && step !== undefined) control.step(step);
    else if (isGrabbed && event.key === 'Escape') control.cancel();
    else if (event.key === ' ' || event.key === 'Enter') {
      if (isGrabbed) void control.drop();
      else control.start(job, 'keys');
    } else return;
    // The table moves the focus with the same keys.
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <>
      <button
        type="button"
        className="grip"
        data-grip={job.id}
        data-grabbed={isGrabbed}
        aria-label={t('queue.move.grip', { config: shownName(job) })}
        aria-pressed={isGrabbed}
        title={t('queue.move.hint')}
        onKeyDown={onKeyDown}
      >
        <GripVertical size={16} aria-hidden="true" />
      </button>
      {line !== null && (
        <span className="drop-line" data-side={line} data-refused={moving?.plan.kind === 'refused'} />
      )}
    </>
  );
}

/** Shows the target position of the job, or why the job cannot move. Has buttons for users who cannot drag or use keys. */
export function MoveBar({ control }: { readonly control: MoveControl }) {
  const t = useQueueT();
  const { moving, ended } = control;
  const endedText = ended === null ? '' : endText(ended, t);
  const text = moving === null ? endedText : movingText(moving, t);
  const refused = moving?.plan.kind === 'refused' || (moving?.stopped ?? null) !== null;
  return (
    <div className={moving?.by === 'keys' ? 'move-bar' : 'unseen'} data-refused={refused}>
      <span role="status">{text}</span>
      {moving?.by === 'keys' && (
        <span className="move-acts">
          <Button onClick={() => control.step('up')}>{t('queue.move.up')}</Button>
          <Button onClick={() => control.step('down')}>{t('queue.move.down')}</Button>
          <Button kind="primary" disabled={moving.plan.kind !== 'move'} onClick={() => void control.drop()}>
            {t('queue.move.drop')}
          </Button>
          <Button onClick={control.cancel}>{t('queue.move.cancel')}</Button>
        </span>
      )}
    </div>
  );
}

function movingText({ job, plan, stopped, position, by }: Moving, t: QueueTranslator): string {
  const refusal = stopped ?? plan;
  const values = { config: shownName(job), position };
  const target = plan.kind === 'move' ? t('queue.move.to', values) : '';
  if (refusal.kind === 'refused') return `${refusalText(job, refusal, t)} ${target}`.trimEnd();
  if (target !== '') return target;
  return t(by === 'keys' ? 'queue.move.grabbed' : 'queue.move.stays', values);
}

export function refusalText(
  job: JobView,
  { why, beside }: Extract<Plan, { readonly kind: 'refused' }>,
  t: QueueTranslator,
): string {
  return t(`queue.move.${why}`, {
    config: shownName(job),
    other: shownName(beside),
    priority: priorityText(effectivePriority(job), t),
    otherPriority: priorityText(effectivePriority(beside), t),
  });
}

function endText({ job, kind, position }: Ended, t: QueueTranslator): string {
  const values = { config: shownName(job), position };
  switch (kind) {
    case 'moved':
      return t('queue.move.moved', values);
    case 'gone':
      return t('queue.move.gone', values);
    case 'stayed':
      return t('queue.move.stays', values);
  }
}
