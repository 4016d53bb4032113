import { useMemo, useState } from 'react';
import type { Client } from '../../../../protocol/client.ts';
import type { JobId } from '../../../../protocol/ids.ts';
import { isFinal, isWaiting, type JobView } from '../../../../protocol/job.ts';
import { queueApi } from '../../../../protocol/queue-api.ts';
import { detailOf } from '../../../api/session.ts';
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
/** Maximum number of concurrent calls, so that the server can answer other clients in between. */
const maxParallel = 6;

interface Result {
  readonly job: JobView;
  readonly text: string;
  readonly isTrouble: boolean;
}

type Step = { readonly kind: 'ask' } | { readonly kind: 'results'; readonly results: readonly Result[] };

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
  const endable = useMemo(
    () =>
      isAnyChosen
        ? rows.filter(job => !isFinal(job.status) && may(queueApi.cancel, job)).slice(0, maxChosen)
        : [],
    [rows, isAnyChosen, may],
  );
  const running = jobs.filter(({ status }) => !isWaiting(status) && !isFinal(status)).length;
  const cancel = async (): Promise<void> => {
    let results: readonly Result[] = jobs.map(job => ({
      job,
      text: t('jobs.bulk.waiting'),
      isTrouble: false,
    }));
    setStep({ kind: 'results', results });
    await cancelEach(client, t, jobs, result => {
      results = results.map(old => (old.job.id === result.job.id ? result : old));
      setStep(was => (was === null ? null : { kind: 'results', results }));
    });
    choose(new Set());
  };
  return (
    <>
      {jobs.length > 0 && (
        <div className="bulk" role="group" aria-label={t('jobs.bulk.chosen', { count: jobs.length })}>
          <span>{t('jobs.bulk.chosen', { count: jobs.length })}</span>
          <Button kind="danger" onClick={() => setStep({ kind: 'ask' })}>
            {t('jobs.bulk.cancel')}
          </Button>
          {endable.length > 0 && (
            <Button onClick={() => choose(new Set(endable.map(({ id }) => id)))}>
              {t('jobs.bulk.all', { count: endable.length })}
            </Button>
          )}
          <Button kind="quiet" onClick={() => choose(new Set())}>
            {t('jobs.bulk.none')}
          </Button>
        </div>
      )}
      {step?.kind === 'ask' && (
        <Confirm
          title={t('jobs.bulk.title', { count: jobs.length })}
          consequence={t('jobs.bulk.consequence', { running })}
          act={t('jobs.bulk.cancel')}
          back={t('jobs.bulk.keep')}
          onConfirm={() => void cancel()}
          onClose={() => setStep(was => (was?.kind === 'ask' ? null : was))}
        >
          <ul className="bulk-list">
            {jobs.map(job => (
              <li key={job.id}>
                {job.config_name} <span className="muted mono">{job.id}</span>
              </li>
            ))}
          </ul>
        </Confirm>
      )}
      {step?.kind === 'results' && <Results results={step.results} onClose={() => setStep(null)} />}
    </>
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
            {job.config_name} <span className="muted mono">{job.id}</span>
            <span className={isTrouble ? 'trouble' : 'muted'}>{text}</span>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}

async function cancelEach(
  client: Client,
  t: Translator,
  jobs: readonly JobView[],
  onResult: (result: Result) => void,
): Promise<void> {
  const waiting = jobs.values();
  const cancelNext = async (): Promise<void> => {
    for (const job of waiting) onResult(await cancelOne(client, t, job));
  };
  await Promise.all(Array.from({ length: maxParallel }, cancelNext));
}

async function cancelOne(client: Client, t: Translator, job: JobView): Promise<Result> {
  if (isFinal(job.status)) return { job, text: t('jobs.bulk.skipped'), isTrouble: false };
  const answer = await client.call(queueApi.cancel, { params: { id: job.id } });
  if (!answer.ok) return { job, text: detailOf(answer.failure) ?? t('error.unreachable'), isTrouble: true };
  const isOver = answer.value.status === 'cancelled';
  return { job, text: t(isOver ? 'jobs.bulk.cancelled' : 'jobs.bulk.stopping'), isTrouble: false };
}
