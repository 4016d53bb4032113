import { lazy, type ReactNode, Suspense, useMemo } from 'react';
import { shownName } from '../../../../protocol/job-about.ts';
import { artifactsApi } from '../../../../protocol/artifacts-api.ts';
import { isFinal, isWaiting, type JobDetail, type JobView } from '../../../../protocol/job.ts';
import { logsApi } from '../../../../protocol/logs-api.ts';
import { metricsApi } from '../../../../protocol/metrics-api.ts';
import { useFleet, useMay } from '../../../app/context.ts';
import { loadPart } from '../../../app/part.ts';
import { type Translator, useT } from '../../../i18n/index.ts';
import { Progress, State } from '../../../ui/indicators.tsx';
import { failureText, ProgressCell } from '../cells.tsx';
import { lastErrorLine } from '../error-line.ts';
import { duration, figure, progressText, speed } from '../figures.ts';
import { bestLossOf } from '../best.ts';
import { BestLoss } from '../best-loss.tsx';
import { Loss } from '../loss.tsx';
import { aboutConfig, Warnings } from '../warnings.tsx';
import { Attempts } from './attempts.tsx';
import { ExplainJob } from './explanation.tsx';
import { type Fact, FactList, Facts } from './facts.tsx';
import { JobData } from './job-data.tsx';
import { useUsageFacts } from './usage-facts.tsx';

/** Loaded on demand, because it includes the chart library. */
const MainCurve = lazy(() =>
  loadPart(async () => ({ default: (await import('../curves/main-curve.tsx')).MainCurve })),
);
const NewestSamples = lazy(() =>
  loadPart(async () => ({ default: (await import('../files/newest-samples.tsx')).NewestSamples })),
);
const LogTail = lazy(() =>
  loadPart(async () => ({ default: (await import('../logs/log-tail.tsx')).LogTail })),
);

/** Loaded on demand, because most jobs have no parents or children. */
const JobChain = lazy(() => loadPart(async () => ({ default: (await import('./chain.tsx')).JobChain })));

/** Loaded on demand, because most jobs use no files of other jobs. */
const JobInputs = lazy(() =>
  loadPart(async () => ({ default: (await import('../inputs/card.tsx')).JobInputs })),
);

const JobTimeline = lazy(() =>
  loadPart(async () => ({ default: (await import('../../timeline/card.tsx')).JobTimeline })),
);

interface JobProps {
  readonly job: JobDetail;
}

export const JobOverview = ({ job }: JobProps) => (
  <>
    <Glance job={job} />
    <Chain job={job} />
    {job.inputs.length > 0 && (
      <Suspense fallback={<div aria-busy="true" />}>
        <JobInputs job={job} />
      </Suspense>
    )}
    <Facts job={job} />
    <JobData job={job} />
    {job.attempt > 0 && (
      <Suspense fallback={<div aria-busy="true" />}>
        <JobTimeline job={job} />
      </Suspense>
    )}
    <Attempts job={job} />
  </>
);

/** Shows the diagram of parents and children if the job has any. */
function Chain({ job }: JobProps) {
  const isParent = useFleet(
    ({ fleet }) =>
      job.children_count > 0 ||
      [...fleet.jobs.values()].some(({ after }) => after?.parents.some(({ job_id: id }) => id === job.id)),
  );
  if (job.after === null && !isParent) return null;
  return (
    <Suspense fallback={<div aria-busy="true" />}>
      <JobChain job={job} />
    </Suspense>
  );
}

/** Summarizes the training: progress, main curve, newest samples, and the end of the log. */
function Glance({ job }: JobProps) {
  const may = useMay();
  const hasStarted = job.attempts.some(({ started_at: at }) => at !== null);
  return (
    <div className="glance">
      <div className="glance-lead">
        <StatusSummary job={job} />
        {hasStarted && may(metricsApi.read) && (
          <Suspense fallback={null}>
            <MainCurve job={job} />
          </Suspense>
        )}
      </div>
      {hasStarted && may(artifactsApi.list) && (
        <Suspense fallback={null}>
          <NewestSamples job={job} />
        </Suspense>
      )}
      {job.attempts.length > 0 && may(logsApi.read) && (
        <Suspense fallback={null}>
          <LogTail job={job} />
        </Suspense>
      )}
    </div>
  );
}

function titleOf({ status }: JobView) {
  if (isFinal(status)) return 'ended';
  return isWaiting(status) ? 'why' : 'now';
}

/** Shows the progress, why the job is pending, or how it ended. */
function StatusSummary({ job }: JobProps) {
  const t = useT();
  const jobFigures = useMemo(() => figuresOf(job, t), [job, t]);
  const figures = [...jobFigures, ...useUsageFacts(job)];
  // Only the line that states the error; the list of attempts below shows the whole error.
  const failure = job.status === 'failed' ? failureText(job, t, lastErrorLine) : null;
  return (
    <section className="card job-now" aria-labelledby="job-now">
      <h2 id="job-now">{t(`jobs.detail.${titleOf(job)}`)}</h2>
      {isFinal(job.status) && <State name={job.status} />}
      {failure === null ? <ProgressCell job={job} /> : <p className="trouble error-text">{failure}</p>}
      {failure !== null && job.progress !== null && (
        <Progress
          percent={job.progress.percent ?? null}
          label={t('jobs.progress.label', { config: shownName(job) })}
          text={progressText(job.progress, t)}
        />
      )}
      {isWaiting(job.status) && <ExplainJob job={job} />}
      <Warnings warnings={isWaiting(job.status) ? aboutConfig(job.warnings) : job.warnings} />
      {figures.length > 0 && <FactList facts={figures} />}
    </section>
  );
}

function figuresOf(job: JobView, t: Translator): readonly Fact[] {
  const { progress, status } = job;
  if (progress === null || isWaiting(status)) return [];
  const { loss, learning_rate: rate, epoch, steps_per_second: pace, eta_s: eta, metrics = {} } = progress;
  const number = (value: number): string => figure(value, t.language);
  const candidates: readonly (readonly [string, ReactNode])[] = [
    [t('jobs.fact.eta'), eta === undefined || status !== 'running' ? undefined : duration(eta, t.language)],
    [t('jobs.fact.loss'), loss === undefined ? undefined : <Loss key="loss" job={job} />],
    [
      t('jobs.fact.bestLoss'),
      bestLossOf(progress) === null ? undefined : <BestLoss key="best" job={job} showsKind />,
    ],
    [t('jobs.fact.speed'), pace === undefined ? undefined : speed(pace, t)],
    [t('jobs.fact.epoch'), epoch === undefined ? undefined : number(epoch)],
    [t('jobs.fact.rate'), rate === undefined ? undefined : number(rate)],
    [t('jobs.fact.stage'), progress.stage],
    ...Object.entries(metrics).map(([name, value]) => [name, number(value)] as const),
  ];
  return candidates.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]));
}
