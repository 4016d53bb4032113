import type { AttemptView, JobDetail, NodeView } from '../../../../protocol/job.ts';
import { WorkerLink } from '../../../app/links.tsx';
import { type Translator, useT } from '../../../i18n/index.ts';
import { Time, useNow } from '../../../ui/time.tsx';
import { namesCause } from '../cells.tsx';
import { lastErrorLine } from '../error-line.ts';
import { duration, ranFor } from '../figures.ts';
import { attemptText, outcomeText } from './fact-texts.ts';

/** The attempts with their outcomes, newest first. */
export function Attempts({ job }: { readonly job: JobDetail }) {
  const t = useT();
  const { attempts } = job;
  const newest = attempts.toSorted((a, b) => b.attempt - a.attempt);
  return (
    <section className="card" aria-labelledby="job-attempts">
      <h2 id="job-attempts">{t('jobs.detail.attempts')}</h2>
      {attempts.length === 0 && <p className="muted">{t('jobs.detail.noAttempts')}</p>}
      <ol className="timeline">
        {newest.map(attempt => (
          <AttemptItem key={attempt.attempt_id} job={job} attempt={attempt} />
        ))}
      </ol>
    </section>
  );
}

interface AttemptItemProps {
  readonly job: JobDetail;
  readonly attempt: AttemptView;
}

function AttemptItem({ job, attempt }: AttemptItemProps) {
  const t = useT();
  const now = useNow();
  const { worker_id: worker, started_at: started, ended_at: ended, late_result: late } = attempt;
  const ran = ranFor({ started_at: started, completed_at: ended }, now);
  return (
    <li data-outcome={attempt.outcome ?? 'live'}>
      <div className="attempt-head">
        <strong>{t('jobs.attempt.title', { attempt: attempt.attempt })}</strong>
        <span className="attempt-outcome">{attemptText(attempt.outcome, job, t)}</span>
        <WorkerLink id={worker} isDeleted={attempt.worker_deleted}>
          {attempt.worker_name ?? worker}
        </WorkerLink>
        {ran !== null && <span className="muted">{duration(ran, t.language)}</span>}
      </div>
      <dl className="attempt-times">
        <Moment name={t('jobs.attempt.offered')} at={attempt.offered_at} />
        <Moment name={t('jobs.attempt.started')} at={started} />
        <Moment name={t('jobs.attempt.ended')} at={ended} />
      </dl>
      <ResumeInfo attempt={attempt} />
      <Nodes nodes={attempt.nodes} />
      <Ending attempt={attempt} isErrorShown={isShownAbove(attempt, job)} />
      {late !== null && (
        <p className="muted">{t('jobs.attempt.late', { status: outcomeText(late.status, t) })}</p>
      )}
    </li>
  );
}

/** The workers of an attempt that runs on several workers. Errors are shown with the attempt, not with its workers. */
function Nodes({ nodes }: { readonly nodes: readonly NodeView[] }) {
  const t = useT();
  if (nodes.length === 0) return null;
  return (
    <ul className="attempt-nodes" aria-label={t('jobs.node.list')}>
      {nodes.map(({ rank, worker_id: worker, worker_name: name, state, outcome }) => (
        <li key={rank}>
          <span className="muted">{t('jobs.node.machine', { number: rank + 1 })}</span>{' '}
          <WorkerLink id={worker}>{name ?? worker}</WorkerLink>{' '}
          <span>{t(`jobs.node.${outcome !== null && state === 'ended' ? outcome : state}`)}</span>
        </li>
      ))}
    </ul>
  );
}

function Moment({ name, at }: { readonly name: string; readonly at: string | null }) {
  if (at === null) return null;
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <Time at={at} />
      </dd>
    </div>
  );
}

/** Shows the checkpoint from which an attempt resumed, and how many steps were lost. */
function ResumeInfo({ attempt: { resumed } }: { readonly attempt: AttemptView }) {
  const t = useT();
  if (resumed === null) return null;
  const { checkpoint, steps_lost: lost } = resumed;
  return (
    <ul className="attempt-ending">
      <li>{resumeText(resumed, t)}</li>
      {lost !== null && lost > 0 && (
        <li>{t(checkpoint === null ? 'jobs.attempt.lost' : 'jobs.attempt.again', { count: lost })}</li>
      )}
    </ul>
  );
}

function resumeText({ checkpoint, step }: NonNullable<AttemptView['resumed']>, t: Translator): string {
  if (checkpoint === null) return t('jobs.attempt.anew');
  if (step === null) return t('jobs.attempt.wentOn', { checkpoint });
  return t('jobs.attempt.wentOnAt', { checkpoint, step });
}

/** Returns true when the job's result at the top of the page already shows the whole error of this attempt. */
const isShownAbove = ({ attempt, error_message: error }: AttemptView, job: JobDetail): boolean =>
  error !== null &&
  job.status === 'failed' &&
  attempt === job.attempt &&
  lastErrorLine(error) === error.trim();

interface EndingProps {
  readonly attempt: AttemptView;
  readonly isErrorShown: boolean;
}

function Ending({
  attempt: { cause, exit_code: code, signal, error_message: error },
  isErrorShown,
}: EndingProps) {
  const t = useT();
  const words = cause === null ? null : t(`jobs.cause.${cause}`);
  const parts = [
    words === null || (error !== null && namesCause(words, error)) ? null : words,
    code === null ? null : t('jobs.attempt.exit', { code }),
    signal === null ? null : t('jobs.attempt.signal', { signal }),
  ].filter(part => part !== null);
  return (
    <>
      {parts.length > 0 && (
        <ul className="attempt-ending">
          {parts.map(part => (
            <li key={part}>{part}</li>
          ))}
        </ul>
      )}
      {error !== null && !isErrorShown && <pre className="error-text">{error}</pre>}
    </>
  );
}
