import { type ReactNode, useMemo } from 'react';
import { Link } from 'wouter';
import type { WorkerId } from '../../../../protocol/ids.ts';
import {
  isFinal,
  isWaiting,
  type JobDetail,
  type JobView,
  type JobDataView,
} from '../../../../protocol/job.ts';
import { WorkerLink, DatasetLink } from '../../../app/links.tsx';
import { type Translator, useT } from '../../../i18n/index.ts';
import { LabelChips, State, Progress } from '../../../ui/indicators.tsx';
import { Time, useNow } from '../../../ui/time.tsx';
import { Attempts } from './attempts.tsx';
import { failureText, PriorityCell, ProgressCell } from '../cells.tsx';
import { ExplainJob } from './explanation.tsx';
import { duration, figure, progressText, runTime, speed, sizeText } from '../figures.ts';
import { Loss } from '../loss.tsx';
import { aboutConfig, Warnings } from '../warnings.tsx';

interface JobProps {
  readonly job: JobDetail;
}

export const JobOverview = ({ job }: JobProps) => (
  <>
    <StatusSummary job={job} />
    <Facts job={job} />
    <JobData job={job} />
    <Attempts attempts={job.attempts} />
  </>
);

/** Shows the progress, why the job is pending, or how it ended. */
function StatusSummary({ job }: JobProps) {
  const t = useT();
  const figures = useMemo(() => figuresOf(job, t), [job, t]);
  const failure = job.status === 'failed' ? failureText(job, t) : null;
  const title = isFinal(job.status) ? 'ended' : isWaiting(job.status) ? 'why' : 'now';
  return (
    <section className="card job-now" aria-labelledby="job-now">
      <h2 id="job-now">{t(`jobs.detail.${title}`)}</h2>
      {isFinal(job.status) && <State name={job.status} />}
      {failure === null ? <ProgressCell job={job} /> : <p className="trouble error-text">{failure}</p>}
      {failure !== null && job.progress !== null && (
        <Progress
          percent={job.progress.percent ?? null}
          label={t('jobs.progress.label', { config: job.config_name })}
          text={progressText(job.progress, t)}
        />
      )}
      {isWaiting(job.status) && <ExplainJob job={job} />}
      <Warnings warnings={isWaiting(job.status) ? aboutConfig(job.warnings) : job.warnings} />
      {figures.length > 0 && <FactList facts={figures} />}
    </section>
  );
}

type Fact = readonly [name: string, value: ReactNode];

const FactList = ({ facts }: { readonly facts: readonly Fact[] }) => (
  <dl className="facts">
    {facts.map(([name, value]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
);

function figuresOf(job: JobView, t: Translator): readonly Fact[] {
  const { progress, status } = job;
  if (progress === null || isWaiting(status)) return [];
  const { loss, learning_rate: rate, epoch, steps_per_second: pace, eta_s: eta, metrics = {} } = progress;
  const number = (value: number): string => figure(value, t.language);
  const known: readonly (readonly [string, ReactNode])[] = [
    [t('jobs.fact.stage'), progress.stage],
    [t('jobs.fact.loss'), loss === undefined ? undefined : <Loss key="loss" job={job} />],
    [t('jobs.fact.rate'), rate === undefined ? undefined : number(rate)],
    [t('jobs.fact.epoch'), epoch === undefined ? undefined : number(epoch)],
    [t('jobs.fact.speed'), pace === undefined ? undefined : speed(pace, t)],
    [t('jobs.fact.eta'), eta === undefined || status !== 'running' ? undefined : duration(eta, t.language)],
    ...Object.entries(metrics).map(([name, value]) => [name, number(value)] as const),
  ];
  return known.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]));
}

function Facts({ job }: JobProps) {
  const t = useT();
  const now = useNow();
  const ran = runTime(job, now);
  // A pending job may still name the worker of its previous attempt, so show a worker only for other jobs.
  const isOn = !isWaiting(job.status);
  const facts: readonly (readonly [string, ReactNode])[] = [
    [t('jobs.fact.user'), job.user],
    [t('jobs.fact.submitted'), <Time key="submitted" at={job.queued_at} style="absolute" />],
    [t('jobs.fact.started'), isOn && job.started_at && <Time at={job.started_at} style="absolute" />],
    [t('jobs.fact.ended'), job.completed_at && <Time at={job.completed_at} style="absolute" />],
    [t('jobs.fact.ran'), ran === null ? null : duration(ran, t.language)],
    [t('jobs.fact.worker'), isOn && job.worker_id && <OnWorker id={job.worker_id} job={job} />],
    [t('jobs.fact.attempt'), job.attempt === 0 ? null : attemptText(job, t)],
    [t('jobs.fact.priority'), <PriorityCell key="priority" job={job} />],
    [t('jobs.fact.allocated'), job.allocated_gpus?.join(', ')],
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

/** The datasets that the worker downloads for the job; renders nothing without any. */
function JobData({ job: { data } }: { readonly job: JobDetail }) {
  const t = useT();
  if (data.length === 0) return null;
  return (
    <section className="card" aria-labelledby="job-data">
      <h2 id="job-data">{t('jobs.detail.data')}</h2>
      <ul className="plain-list job-data">
        {data.map(each => (
          <li key={each.path}>
            <Source data={each} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Source({ data: { path, version, files, bytes, dataset } }: { readonly data: JobDataView }) {
  const t = useT();
  return (
    <>
      <span className="job-data-facts">
        {dataset === null ? (
          <span className="muted">{t('jobs.data.gone')}</span>
        ) : (
          <DatasetLink id={String(dataset.id)}>
            <span translate="no">{dataset.name}</span>
          </DatasetLink>
        )}
        <code className="mono" title={version}>
          {version.slice(0, 12)}
        </code>
        <span>{t('data.filesAndSize', { count: files, size: sizeText(bytes, t.language) })}</span>
      </span>
      <span className="mono muted">{path}</span>
    </>
  );
}
