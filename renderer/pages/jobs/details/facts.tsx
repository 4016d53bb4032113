import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { WorkerId } from '../../../../protocol/ids.ts';
import { isWaiting, type JobDetail, type JobView } from '../../../../protocol/job.ts';
import { queueApi } from '../../../../protocol/queue-api.ts';
import { useMay } from '../../../app/context.ts';
import { WorkerLink } from '../../../app/links.tsx';
import { type Translator, useT } from '../../../i18n/index.ts';
import { LabelChips } from '../../../ui/indicators.tsx';
import { Time, useNow } from '../../../ui/time.tsx';
import { PriorityCell } from '../cells.tsx';
import { duration, runTime } from '../figures.ts';
import { assignedGpusText } from './fact-texts.ts';

export type Fact = readonly [name: string, value: ReactNode];

export const FactList = ({ facts }: { readonly facts: readonly Fact[] }) => (
  <dl className="facts">
    {facts.map(([name, value]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
);

/** The template of a job. The link opens the form for the values of the template. */
function TemplateLink({ name }: { readonly name: string }) {
  const may = useMay();
  if (!may(queueApi.submit)) return name;
  return <Link href={`/jobs/new?template=${encodeURIComponent(name)}`}>{name}</Link>;
}

/** The details of a job: requirements, worker, times and options. */
export function Facts({ job }: { readonly job: JobDetail }) {
  const t = useT();
  const now = useNow();
  const ran = runTime(job, now);
  // A pending job may still name the worker and start time of its previous attempt, so hide both.
  const isOn = !isWaiting(job.status);
  const facts: readonly Fact[] = [
    [t('jobs.fact.user'), job.user],
    [t('jobs.fact.submitted'), <Time key="submitted" at={job.queued_at} />],
    [t('jobs.fact.started'), isOn && job.started_at && <Time at={job.started_at} />],
    [t('jobs.fact.ended'), job.completed_at && <Time at={job.completed_at} />],
    [t('jobs.fact.ran'), ran === null ? null : duration(ran, t.language)],
    [t('jobs.fact.worker'), isOn && job.worker_id && <OnWorker id={job.worker_id} job={job} />],
    [t('jobs.fact.attempt'), job.attempt === 0 ? null : attemptText(job, t)],
    [t('jobs.fact.priority'), <PriorityCell key="priority" job={job} />],
    [t('jobs.fact.allocated'), assignedGpusText(job, t)],
    [t('jobs.fact.machines'), job.num_nodes === 1 ? null : job.num_nodes],
    [t('jobs.fact.gpus'), gpusText(job, t)],
    [t('jobs.fact.accelerator'), job.accelerator],
    [t('jobs.fact.target'), t(`jobs.target.${job.target}`)],
    [
      t('jobs.fact.labels'),
      Object.keys(job.worker_labels).length > 0 && <LabelChips labels={job.worker_labels} />,
    ],
    [t('jobs.fact.timeout'), job.timeout_s === null ? null : duration(job.timeout_s, t.language)],
    [t('jobs.fact.retryOn'), job.retry_on.map(cause => t(`jobs.cause.${cause}`)).join(', ')],
    [t('jobs.fact.lostContact'), t(`jobs.lost.${job.on_lost_contact}`)],
    [t('jobs.fact.approval'), job.approval && t(`jobs.approval.${job.approval}`)],
    [t('jobs.fact.template'), job.template && <TemplateLink name={job.template} />],
    [t('jobs.fact.retryOf'), job.retry_of && <Link href={`/jobs/${job.retry_of}`}>{job.retry_of}</Link>],
  ];
  return (
    <section className="card" aria-labelledby="job-facts">
      <h2 id="job-facts">{t('jobs.detail.facts')}</h2>
      <FactList facts={facts.filter(([, value]) => hasValue(value))} />
    </section>
  );
}

const hasValue = (value: ReactNode): boolean =>
  value !== null && value !== undefined && value !== false && value !== '';

interface OnWorkerProps {
  readonly id: WorkerId;
  readonly job: JobView;
}

const OnWorker = ({ id, job: { worker_name: name, worker_deleted: isDeleted } }: OnWorkerProps) => (
  <WorkerLink id={id} isDeleted={isDeleted}>
    {name ?? id}
  </WorkerLink>
);

const attemptText = ({ attempt, max_attempts: most }: JobView, t: Translator): string =>
  t('jobs.attempt', { attempt, most });

const gpusText = ({ gpu_count: count, gpu_vram_gb: vram }: JobView, t: Translator): string =>
  vram === 0 ? t('jobs.fact.gpusOf', { count }) : t('jobs.fact.gpusWith', { count, vram });
