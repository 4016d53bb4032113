import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { shownName } from '../../../protocol/job-about.ts';
import { JobId } from '../../../protocol/ids.ts';
import { type Hold, isFinal, isWaiting, type JobView } from '../../../protocol/job.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { useFleet, useMay } from '../../app/context.ts';
import { WorkerLink } from '../../app/links.tsx';
import type { Fleet } from '../../state/fleet.ts';
import { type MessageKey, type Translator, useT } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { Icon } from '../../ui/icon.tsx';
import { Menu } from '../../ui/menu.tsx';
import { Progress } from '../../ui/indicators.tsx';
import { ShortName } from '../../ui/short-name.tsx';
import { Time, useNow } from '../../ui/time.tsx';
import { lastErrorLine } from './error-line.ts';
import { clock, duration, priorityText, progressText, runTime, speed } from './figures.ts';
import { shownState } from './list/filter.ts';
import { useJobActions } from './job-actions.tsx';
import { BestChip } from './best-chip.tsx';
import { JobChips } from './job-chips.tsx';
import { findOnlyWorker, waitText, withTimeLeft } from './wait-text.ts';
import { BestLoss } from './best-loss.tsx';
import { Loss } from './loss.tsx';

interface JobProps {
  readonly job: JobView;
}

const Lines = ({ first, second }: { readonly first: ReactNode; readonly second: ReactNode }) => (
  <span className="two-lines">
    <span>{first}</span>
    <span className="muted">{second}</span>
  </span>
);

export const ConfigCell = ({ job }: JobProps) => (
  <Lines
    first={
      <Link href={`/jobs/${job.id}`} title={`${shownName(job)} (${job.id})`} aria-label={shownName(job)}>
        <ShortName name={shownName(job)} />
      </Link>
    }
    second={
      <>
        {job.user} <JobChips job={job} />
      </>
    }
  />
);

/** Shows the progress of a job, or why it is not progressing. */
export function ProgressCell({ job }: JobProps) {
  const t = useT();
  const { status, progress, hold } = job;
  const config = shownName(job);
  if (isWaiting(status)) return <WhyWaiting job={job} />;
  if (hold !== null) return <Held job={job} hold={hold} />;
  const failure = status === 'failed' || status === 'cancelled' ? failureText(job, t) : '';
  if (failure !== '') {
    return (
      <span className="clamped over-2" title={failure}>
        {failureText(job, t, lastErrorLine)}
      </span>
    );
  }
  if (progress === null && isFinal(status)) return null;
  return (
    <Progress
      percent={status === 'completed' ? 100 : (progress?.percent ?? null)}
      label={t('jobs.progress.label', { config })}
      text={progressText(progress, t)}
    />
  );
}

/** Explains why a job is pending. Every page uses this component. */
export function WhyWaiting({ job }: JobProps) {
  const t = useT();
  const pausedBy = useFleet(({ fleet }) => fleet.queue?.paused?.by ?? null);
  const awaited = useFleet(({ fleet }) => findAwaited(job, fleet));
  const worker = useFleet(({ fleet }) => findOnlyWorker(job.wait, fleet)?.name);
  const text = waitReason(job, { pausedBy, awaited, worker }, t);
  return (
    <span className="clamped over-3 muted" title={job.reason ?? text}>
      {text}
    </span>
  );
}

/** Returns the job that a pending job waits for: its parent, or the current job of the only worker that fits. */
function findAwaited({ wait }: JobView, fleet: Fleet): JobView | undefined {
  const worker = findOnlyWorker(wait, fleet);
  const id = worker === undefined ? JobId.safeParse(wait?.params['job_id']).data : worker.current_job_id;
  return id ? fleet.jobs.get(id) : undefined;
}

interface WaitFacts {
  /** The user who paused the queue; null while it is not paused. */
  readonly pausedBy: string | null;
  readonly awaited: JobView | undefined;
  /** The name of the only worker that fits. */
  readonly worker: string | undefined;
}

/** Prefers these reasons in order: a missing approval, a parent job, a paused queue, and the server's reason for the job. */
function waitReason(job: JobView, { pausedBy, awaited, worker }: WaitFacts, t: Translator): string {
  if (shownState(job) === 'blocked') return t('jobs.why.approval');
  if (job.wait?.code !== 'after' && pausedBy !== null) return t('jobs.why.paused', { by: pausedBy });
  const wait = job.wait && { ...job.wait, params: withTimeLeft(job.wait.params, awaited) };
  // A server of another version may report a reason for which the panel has no text. Then show the server's text.
  return (wait && waitText(wait, t, { needs: job, worker })) ?? job.reason ?? '';
}

/** Returns the text for a failed job. `shorten` selects the part of the error to show where space is limited. */
export function failureText(
  { cause, error_message: whole }: JobView,
  t: Translator,
  shorten: (error: string) => string = error => error,
): string {
  const error = whole === null ? null : shorten(whole);
  if (cause === null) return error ?? '';
  const words = t(`jobs.cause.${cause}`);
  if (error === null) return words;
  return namesCause(words, error) ? error : t('jobs.why.failed', { cause: words, error });
}

/** Returns true when the error already names the cause, so that it need not be repeated. */
export const namesCause = (cause: string, error: string): boolean =>
  error.toLowerCase().includes(cause.toLowerCase());

function Held({ job, hold }: JobProps & { readonly hold: Hold }) {
  const t = useT();
  const may = useMay();
  const { perform } = useJobActions();
  const text = holdText(hold, t);
  return (
    <span className="held over-2">
      <span className="clamped" title={text}>
        {text}
      </span>
      {hold.releasable && may(queueApi.release, job) && (
        <Button onClick={() => perform('release', job)}>
          {t(job.status === 'cancelling' ? 'jobs.act.giveUp' : 'jobs.act.release')}
        </Button>
      )}
    </span>
  );
}

function holdText({ kind, since, until }: Hold, t: Translator): string {
  const words = { silent: 'jobs.why.silent', unconfirmed: 'jobs.why.unconfirmed' } as const;
  const key: MessageKey = until === null ? `${words[kind]}Open` : words[kind];
  return t(key, { since: clock(since, t), until: until === null ? '' : clock(until, t) });
}

export function EtaCell({ job: { progress, status } }: JobProps) {
  const t = useT();
  if (status !== 'running' || progress === null) return null;
  const { eta_s: eta, steps_per_second: rate } = progress;
  return (
    <Lines
      first={eta === undefined ? t('time.none') : duration(eta, t.language)}
      second={rate === undefined ? '' : speed(rate, t)}
    />
  );
}

/**
 * Shows the best loss with a sparkline of the latest values, or with a chip for the best job of a group. Shows nothing
 * for a pending job, because the loss of its last attempt says nothing about the next attempt.
 */
export function LossCell({ job }: JobProps) {
  if (isWaiting(job.status)) return null;
  if (!isFinal(job.status)) return <Loss job={job} instead={<BestLoss job={job} />} />;
  return <Lines first={<BestLoss job={job} />} second={<BestChip id={job.id} isShort />} />;
}

/** If the worker names together have more characters, only the first name and the number of the others are shown. */
const maxNamesLength = 13;

export function WorkerCell({ job }: JobProps) {
  const t = useT();
  if (job.attempt === 0) return null;
  const { worker_id: id, worker_name: name, other_workers: others = [], attempt, max_attempts: most } = job;
  const names = [name ?? id, ...others.map(other => other.worker_name ?? other.worker_id)].join(', ');
  return (
    <Lines
      first={
        id !== null && (
          <>
            <WorkerLink id={id} title={names} isDeleted={job.worker_deleted}>
              {names.length <= maxNamesLength ? names : (name ?? id)}
            </WorkerLink>
            {names.length > maxNamesLength && others.length > 0 && (
              <span title={names}> +{others.length}</span>
            )}
          </>
        )
      }
      second={t('jobs.attempt', { attempt, most })}
    />
  );
}

export function PriorityCell({ job }: JobProps) {
  const t = useT();
  const waits = isWaiting(job.status);
  const raised = t('jobs.boosted', { boosts: job.boosts });
  return (
    <span className="priority">
      {priorityText(job.priority, t)}
      {waits && job.is_top && <Mark icon="top" text={t('jobs.top')} />}
      {waits && job.boosts > 0 && <Mark icon="up" text={raised} />}
    </span>
  );
}

const Mark = ({ icon, text }: { readonly icon: 'top' | 'up'; readonly text: string }) => (
  <span className="mark" title={text}>
    <Icon name={icon} />
    <span className="unseen">{text}</span>
  </span>
);

export function SubmittedCell({ job }: JobProps) {
  const t = useT();
  const now = useNow();
  const ran = runTime(job, now);
  return <Lines first={<Time at={job.queued_at} />} second={ran === null ? '' : duration(ran, t.language)} />;
}

export function MenuCell({ job }: JobProps) {
  const t = useT();
  const { menuOf } = useJobActions();
  return <Menu label={t('jobs.act.menu', { config: shownName(job) })} items={menuOf(job)} />;
}
