import { Link } from 'wouter';
import type { ValueOf } from '../../../protocol/client.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { useFleet, useMay } from '../../app/context.ts';
import { useT } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { WaitingExplained } from './explanation.tsx';
import { Warnings } from './warnings.tsx';

export type Answer = ValueOf<typeof queueApi.submit>;

interface AnswerProps {
  readonly answer: Answer;
  readonly onAgain: () => void;
  /** Submits the job after a dry run. */
  readonly onSubmit: () => void;
  readonly isSending: boolean;
}

/** Shows the result of a submit. */
export function SubmitAnswer({ answer, onAgain, onSubmit, isSending }: AnswerProps) {
  const t = useT();
  const may = useMay();
  const { status, job_id: id, reason, allocated_worker_id: worker, queue_position: place } = answer;
  const name = useFleet(({ fleet }) =>
    worker === null ? null : (fleet.workers.get(worker)?.name ?? worker),
  );
  const words = {
    running: t('jobs.answer.running', { worker: name ?? '' }),
    queued: t('jobs.answer.queued', { position: place ?? '' }),
    blocked: t('jobs.answer.blocked'),
    rejected: t('jobs.answer.rejected'),
    completed: t('jobs.answer.ended', { state: t('state.completed') }),
    failed: t('jobs.answer.ended', { state: t('state.failed') }),
    cancelled: t('jobs.answer.ended', { state: t('state.cancelled') }),
  };
  const isTried = 'explanation' in answer;
  return (
    <section className="card" role="status">
      {isTried && <p className="muted">{t('jobs.answer.tried')}</p>}
      <h2>{isTried && answer.explanation.unsatisfiable ? t('jobs.answer.impossible') : words[status]}</h2>
      {reason !== null && <p>{reason}</p>}
      {'warnings' in answer && <Warnings warnings={answer.warnings ?? []} />}
      {isTried && <WaitingExplained explanation={answer.explanation} isHeadline />}
      <div className="answer-foot">
        {id !== null && may(queueApi.get) && (
          <Link href={`/jobs/${id}`} className="button button-primary">
            {t('jobs.answer.open')}
          </Link>
        )}
        {id !== null && !may(queueApi.get) && <code>{id}</code>}
        {isTried && status !== 'rejected' && (
          <Button kind="primary" disabled={isSending} onClick={onSubmit}>
            {t(isSending ? 'jobs.submit.sending' : 'jobs.submit.send')}
          </Button>
        )}
        <Button onClick={onAgain}>{t(isTried ? 'jobs.submit.back' : 'jobs.submit.again')}</Button>
      </div>
    </section>
  );
}
