import { useEffect, useRef } from 'react';
import { Link } from 'wouter';
import { queueApi } from '../../../../protocol/queue-api.ts';
import { useFleet, useMay } from '../../../app/context.ts';
import { Button } from '../../../ui/button.tsx';
import { useT } from '../../../i18n/index.ts';
import { Warnings } from '../warnings.tsx';
import type { Submitted } from './use-submit.ts';

interface AnswerProps {
  readonly answer: Submitted;
  readonly onAgain: () => void;
}

/** Shows the answer to a submit, with a link to the job. */
export function SubmitAnswer({ answer, onAgain }: AnswerProps) {
  const t = useT();
  const may = useMay();
  const heading = useRef<HTMLHeadingElement>(null);
  // Move the focus to the heading, because the focused submit button no longer exists.
  useEffect(() => heading.current?.focus(), []);
  const { status, job_id: id, reason, allocated_worker_id: worker, queue_position: position } = answer;
  const name = useFleet(({ fleet }) =>
    worker === null ? null : (fleet.workers.get(worker)?.name ?? worker),
  );
  const words = {
    running: t('jobs.answer.running', { worker: name ?? '' }),
    queued: t('jobs.answer.queued', { position: position ?? '' }),
    blocked: t('jobs.answer.blocked'),
    rejected: t('jobs.answer.rejected'),
    completed: t('jobs.answer.ended', { state: t('state.completed') }),
    failed: t('jobs.answer.ended', { state: t('state.failed') }),
    cancelled: t('jobs.answer.ended', { state: t('state.cancelled') }),
  };
  return (
    <section className="card" role="status">
      <h2 ref={heading} tabIndex={-1}>
        {words[status]}
      </h2>
      {reason !== null && <p>{reason}</p>}
      {'warnings' in answer && <Warnings warnings={answer.warnings ?? []} />}
      <div className="answer-foot">
        {id !== null && may(queueApi.get) && (
          <Link href={`/jobs/${id}`} className="button button-primary">
            {t('jobs.answer.open')}
          </Link>
        )}
        {id !== null && !may(queueApi.get) && <code>{id}</code>}
        <Button onClick={onAgain}>{t('jobs.submit.again')}</Button>
      </div>
    </section>
  );
}
