import { useMemo, useState } from 'react';
import { Link } from 'wouter';
import { shownName } from '../../../../protocol/job-about.ts';
import type { CallFailure, Client } from '../../../../protocol/client.ts';
import type { JobId } from '../../../../protocol/ids.ts';
import { isFinal, isWaiting, type JobView } from '../../../../protocol/job.ts';
import { queueApi } from '../../../../protocol/queue-api.ts';
import { detailOf, type May } from '../../../api/session.ts';
import { usePanel } from '../../../app/context.ts';
import { type Translator, useT } from '../../../i18n/index.ts';
import { Button } from '../../../ui/button.tsx';
import { Confirm, Dialog } from '../../../ui/dialog.tsx';

interface BulkProps {
  readonly rows: readonly JobView[];
  readonly chosen: ReadonlySet<JobId>;
  readonly choose: (ids: ReadonlySet<JobId>) => void;
}

/** Maximum number of jobs that "Select all" selects. */
const maxChosen = 500;
/** Maximum number of jobs that the comparison page shows. */
const maxCompared = 8;
/** Maximum number of concurrent calls, so that the server stays responsive for other clients. */
const maxParallel = 6;

interface Result {
  readonly job: JobView;
  readonly text: string;
  readonly isTrouble: boolean;
}

type Action = 'cancel' | 'retry';
type Step =
  | { readonly kind: 'ask'; readonly action: Action }
  | { readonly kind: 'results'; readonly results: readonly Result[] };

const calls = { cancel: queueApi.cancel, retry: queueApi.retry } as const;

/** Returns true when the user may perform the action, and the job's state allows it. */
const allows = (action: Action, job: JobView, may: May): boolean =>
  may(calls[action], job) && isFinal(job.status) === (action === 'retry');

/** Returns true when the user may cancel or retry the job, whatever its current state. */
export const maySelect = (job: JobView | undefined, may: May): boolean =>
  may(calls.cancel, job) || may(calls.retry, job);

/**
 * Returns the jobs that "Select all" selects: all jobs that can be cancelled. If there are none, returns failed and
 * cancelled jobs that can be retried.
 * @internal
 */
export function selectableJobs(rows: readonly JobView[], may: May): readonly JobView[] {
  const active = rows.filter(job => allows('cancel', job, may));
  const ended = (): readonly JobView[] =>
    rows.filter(job => job.status !== 'completed' && allows('retry', job, may));
  return (active.length > 0 ? active : ended()).slice(0, maxChosen);
}

/** Actions for the selected jobs; renders nothing while no job is selected. */
export function BulkBar({ rows, chosen, choose }: BulkProps) {
  const t = useT();
  const { client, may } = usePanel();
  const [step, setStep] = useState<Step | null>(null);
  const isAnyChosen = chosen.size > 0;
  const jobs = useMemo(
    () => (isAnyChosen ? rows.filter(({ id }) => chosen.has(id)) : []),
    [rows, chosen, isAnyChosen],
  );
  const selectable = useMemo(() => (isAnyChosen ? selectableJobs(rows, may) : []), [rows, isAnyChosen, may]);
  const perform = async (action: Action): Promise<void> => {
    let results: readonly Result[] = jobs.map(job => ({
      job,
      text: t('jobs.bulk.waiting'),
      isTrouble: false,
    }));
    setStep({ kind: 'results', results });
    const actOnJob = action === 'cancel' ? cancelOne : retryOne;
    await forEachJob(
      jobs,
      job => actOnJob(client, t, job),
      result => {
        results = results.map(old => (old.job.id === result.job.id ? result : old));
        setStep(was => (was === null ? null : { kind: 'results', results }));
      },
    );
    choose(new Set());
  };
  const offered = (['cancel', 'retry'] as const).filter(action => jobs.some(job => allows(action, job, may)));
  return (
    <>
      {jobs.length > 0 && (
        <div className="bulk" role="group" aria-label={t('jobs.bulk.chosen', { count: jobs.length })}>
          <span>{t('jobs.bulk.chosen', { count: jobs.length })}</span>
          {offered.map(action => (
            <Button
              key={action}
              kind={action === 'cancel' ? 'danger' : 'plain'}
              onClick={() => setStep({ kind: 'ask', action })}
            >
              {t(`jobs.bulk.${action}`)}
            </Button>
          ))}
          {chosen.size > 1 && chosen.size <= maxCompared && (
            <Link className="button button-plain" href={`/compare?jobs=${[...chosen].join(',')}`}>
              {t('jobs.bulk.compare')}
            </Link>
          )}
          {selectable.length > 0 && (
            <Button onClick={() => choose(new Set(selectable.map(({ id }) => id)))}>
              {t('jobs.bulk.all', { count: selectable.length })}
            </Button>
          )}
          <Button kind="quiet" onClick={() => choose(new Set())}>
            {t('jobs.bulk.none')}
          </Button>
        </div>
      )}
      {step?.kind === 'ask' && (
        <Question
          action={step.action}
          jobs={jobs}
          onConfirm={() => void perform(step.action)}
          onClose={() => setStep(was => (was?.kind === 'ask' ? null : was))}
        />
      )}
      {step?.kind === 'results' && <Results results={step.results} onClose={() => setStep(null)} />}
    </>
  );
}

interface QuestionProps {
  readonly action: Action;
  readonly jobs: readonly JobView[];
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}

function Question({ action, jobs, onConfirm, onClose }: QuestionProps) {
  const t = useT();
  const running = jobs.filter(({ status }) => !isWaiting(status) && !isFinal(status)).length;
  const list = (
    <ul className="bulk-list">
      {jobs.map(job => (
        <li key={job.id}>
          {shownName(job)} <span className="muted mono">{job.id}</span>
        </li>
      ))}
    </ul>
  );
  if (action === 'retry')
    return (
      <Confirm
        title={t('jobs.bulk.retryTitle', { count: jobs.length })}
        consequence={t('jobs.bulk.retryConsequence')}
        act={t('jobs.bulk.retry')}
        {...{ onConfirm, onClose }}
      >
        {list}
      </Confirm>
    );
  return (
    <Confirm
      title={t('jobs.bulk.title', { count: jobs.length })}
      consequence={t('jobs.bulk.consequence', { running })}
      act={t('jobs.bulk.cancel')}
      back={t('jobs.bulk.keep')}
      {...{ onConfirm, onClose }}
    >
      {list}
    </Confirm>
  );
}

interface ResultsProps {
  readonly results: readonly Result[];
  readonly onClose: () => void;
}

function Results({ results, onClose }: ResultsProps) {
  const t = useT();
  return (
    <Dialog title={t('jobs.bulk.results')} onClose={onClose}>
      <ul className="bulk-list">
        {results.map(({ job, text, isTrouble }) => (
          <li key={job.id}>
            {shownName(job)} <span className="muted mono">{job.id}</span>
            <span className={isTrouble ? 'trouble' : 'muted'}>{text}</span>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}

/** Performs an action on each job, at most `maxParallel` at a time, and reports each result. */
async function forEachJob(
  jobs: readonly JobView[],
  act: (job: JobView) => Promise<Result>,
  onResult: (result: Result) => void,
): Promise<void> {
  const waiting = jobs.values();
  const actOnNext = async (): Promise<void> => {
    for (const job of waiting) onResult(await act(job));
  };
  await Promise.all(Array.from({ length: maxParallel }, actOnNext));
}

async function cancelOne(client: Client, t: Translator, job: JobView): Promise<Result> {
  if (isFinal(job.status)) return { job, text: t('jobs.bulk.skipped'), isTrouble: false };
  const answer = await client.call(queueApi.cancel, { params: { id: job.id } });
  if (!answer.ok) return failed(t, job, answer.failure);
  const isOver = answer.value.status === 'cancelled';
  return { job, text: t(isOver ? 'jobs.bulk.cancelled' : 'jobs.bulk.stopping'), isTrouble: false };
}

async function retryOne(client: Client, t: Translator, job: JobView): Promise<Result> {
  if (!isFinal(job.status)) return { job, text: t('jobs.bulk.notEnded'), isTrouble: false };
  const answer = await client.call(queueApi.retry, { params: { id: job.id } });
  if (!answer.ok) return failed(t, job, answer.failure);
  return { job, text: t('jobs.bulk.retried', { id: answer.value.job_id ?? '' }), isTrouble: false };
}

const failed = (t: Translator, job: JobView, failure: CallFailure): Result => ({
  job,
  text: detailOf(failure) ?? t('error.unreachable'),
  isTrouble: true,
});
