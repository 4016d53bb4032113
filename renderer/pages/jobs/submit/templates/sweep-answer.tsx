import { useEffect, useRef } from 'react';
import { Link } from 'wouter';
import type { ValueOf } from '../../../../../protocol/client.ts';
import { queueApi } from '../../../../../protocol/queue-api.ts';
import type { templatesApi } from '../../../../../protocol/templates-api.ts';
import { useMay } from '../../../../app/context.ts';
import { Button } from '../../../../ui/button.tsx';
import { listOf } from '../../job-chips.tsx';
import { Warnings } from '../../warnings.tsx';
import { useTemplateT } from './texts.tsx';

export type SweepSubmitted = ValueOf<typeof templatesApi.sweep>;

interface AnswerProps {
  readonly answer: SweepSubmitted;
  readonly onAgain: () => void;
}

const maxShown = 20;

/** Lists the jobs of a sweep after its submission, with links to the jobs and their comparison. */
export function SweepAnswer({ answer: { jobs, group, warnings }, onAgain }: AnswerProps) {
  const t = useTemplateT();
  const may = useMay();
  const heading = useRef<HTMLHeadingElement>(null);
  // Move the focus to the heading, because the focused submit button no longer exists.
  useEffect(() => heading.current?.focus(), []);
  const maySee = may(queueApi.get);
  const mayList = may(queueApi.list) && group !== null;
  return (
    <section className="card" role="status">
      <h2 ref={heading} tabIndex={-1}>
        {t('templates.sweep.submitted', { count: jobs.length })}
      </h2>
      <ul className="sweep-jobs">
        {jobs.slice(0, maxShown).map(({ job_id: id, name }) => (
          <li key={id}>{maySee ? <Link href={`/jobs/${id}`}>{name ?? id}</Link> : (name ?? id)}</li>
        ))}
      </ul>
      {jobs.length > maxShown && (
        <p className="muted">{t('templates.sweep.more', { count: jobs.length - maxShown })}</p>
      )}
      <Warnings warnings={warnings} />
      <div className="answer-foot">
        {mayList && (
          <>
            <Link href={listOf(`group:${group}`)} className="button button-primary">
              {t('templates.sweep.open')}
            </Link>
            <Link href={`/compare?group=${encodeURIComponent(group)}`} className="button button-plain">
              {t('templates.sweep.compare')}
            </Link>
          </>
        )}
        <Button onClick={onAgain}>{t('jobs.submit.again')}</Button>
      </div>
    </section>
  );
}
