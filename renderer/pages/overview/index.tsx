import { lazy, Suspense, useMemo, useState } from 'react';
import { Link } from 'wouter';
import { auditApi, eventsApi, workersApi } from '../../../protocol/admin-api.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import type { JobView } from '../../../protocol/job.ts';
import { AllTexts } from '../../app/all-texts.tsx';
import { useFleet, useMay } from '../../app/context.ts';
import { useFreshWorkers } from '../../app/fresh-workers.ts';
import { Hidden } from '../../app/guarded.tsx';
import { loadPart } from '../../app/part.ts';
import { type Translator, useT } from '../../i18n/index.ts';
import { Time, useNow } from '../../ui/time.tsx';
import { type Figures, computeFigures, fleetStates, findNeeds, type Stats, useStats } from './figures.ts';
import { Needs } from './needs.tsx';
import { formatAmount } from './usage/format.ts';
import { RecentActivity } from './recent-activity.tsx';
import './overview.css';

/** Loaded on demand, because it includes the worker dialogs. */
const FirstRun = lazy(() =>
  loadPart(async () => ({ default: (await import('../workers/join/empty-list.tsx')).FirstRun })),
);

const noJobs: readonly JobView[] = [];

/** Loaded on demand, because a fleet without GPUs does not need it. */
const FleetPicture = lazy(() =>
  loadPart(async () => ({ default: (await import('./fleet/index.tsx')).FleetPicture })),
);

/** Loaded on demand, because it reads the errors of jobs. */
const FailureCauses = lazy(() =>
  loadPart(async () => ({ default: (await import('./causes/index.tsx')).FailureCauses })),
);

/** Loaded on demand, because often no job is running. */
const RunningJobs = lazy(() =>
  loadPart(async () => ({ default: (await import('./running.tsx')).RunningJobs })),
);

/** The overview page. Each part is visible only to users who may read its data. */
export function OverviewPage() {
  useFreshWorkers();
  const t = useT();
  const may = useMay();
  const [seesWorkers, seesJobs] = [may(workersApi.list), may(queueApi.list)];
  const workers = useFleet(({ fleet }) => fleet.workers);
  const jobs = useFleet(({ fleet }) => fleet.jobs);
  const isLoaded = useFleet(({ fleet }) => fleet.seq >= 0);
  const now = useNow(60_000);
  const figures = useMemo(() => computeFigures(workers.values(), jobs, now), [workers, jobs, now]);
  const stats = useStats(now);
  const needs = useMemo(
    () => findNeeds(seesWorkers ? workers.values() : [], jobs, stats, now),
    [seesWorkers, workers, jobs, stats, now],
  );
  const running = useMemo(() => [...jobs.values()].filter(({ status }) => status === 'running'), [jobs]);
  const hasFailed = useMemo(() => jobs.values().some(({ status }) => status === 'failed'), [jobs]);
  const hasGpus = useMemo(
    () => seesWorkers && [...workers.values()].some(({ gpu_count: count }) => count > 0),
    [seesWorkers, workers],
  );
  const causes = seesJobs && hasFailed ? <FailureCauses /> : null;
  const isFirstRun = useSticky(isLoaded && seesWorkers && workers.size === 0);
  if (!isLoaded) return <div className="page" aria-busy="true" />;
  return (
    <div className="page">
      <h1>{t('nav.overview')}</h1>
      <div className="overview-lead">
        {(needs.length > 0 || !isFirstRun) && (
          <Needs needs={needs} isKnown={stats !== null || !may(queueApi.stats)} />
        )}
        <div className="tiles">
          {seesWorkers && <WorkerTiles figures={figures} />}
          {seesJobs && <JobTiles figures={figures} stats={stats} />}
        </div>
      </div>
      {!seesWorkers && <Hidden call={workersApi.list} page="nav.workers" />}
      {!seesJobs && <Hidden call={queueApi.list} page="nav.jobs" />}
      {isFirstRun && (
        <Suspense fallback={<section className="card" aria-busy="true" />}>
          <AllTexts>
            <FirstRun isEmpty={workers.size === 0} />
          </AllTexts>
        </Suspense>
      )}
      {/* One boundary for both parts, so that the part below does not move when the fleet picture has loaded. */}
      <Suspense fallback={<section className="card fleet-waiting" aria-busy="true" />}>
        {hasGpus ? (
          <FleetPicture workers={workers} running={seesJobs ? running : noJobs} causes={causes} />
        ) : (
          causes
        )}
        {seesJobs && !hasGpus && <Running jobs={running} />}
        {(may(eventsApi.stream) || may(auditApi.list)) && <RecentActivity />}
      </Suspense>
    </div>
  );
}

function Running({ jobs }: { readonly jobs: readonly JobView[] }) {
  if (jobs.length === 0) return <NothingRuns />;
  return (
    <Suspense fallback={<section className="card" aria-busy="true" />}>
      <RunningJobs jobs={jobs} title="overview.running" />
    </Suspense>
  );
}

function NothingRuns() {
  const t = useT();
  return (
    <section className="card" aria-labelledby="overview-running">
      <h2 id="overview-running">{t('overview.running')}</h2>
      <p className="muted">{t('overview.nothingRuns')}</p>
    </section>
  );
}

/** Returns true as soon as the value has been true, even if the value becomes false again. */
function useSticky(value: boolean): boolean {
  const [wasTrue, setWasTrue] = useState(value);
  if (value && !wasTrue) setWasTrue(true);
  return wasTrue || value;
}

/** Describes the last 24 hours. The GPU-hours come from the server, which also counts jobs that are not in memory. */
function dayNote(t: Translator, stats: Stats | null, failed: number): string {
  if (stats === null) return t('overview.failed', { count: failed });
  return t('overview.dayNote', {
    count: stats.ended_24h.failed,
    hours: formatAmount(stats.gpu_hours_24h, t.language),
  });
}

interface TilesProps {
  readonly figures: Figures;
}

/** Lists the number of workers in every state, so that the numbers add up to the total. */
const statesText = (t: Translator, states: Figures['states']): string =>
  fleetStates
    .filter(state => states[state] > 0 || state === 'idle' || state === 'busy')
    .map(state => t(`overview.state.${state}`, { count: states[state] }))
    .join(', ');

function WorkerTiles({ figures }: TilesProps) {
  const t = useT();
  return (
    <>
      <Tile
        href="/workers"
        title={t('overview.workers')}
        figure={t('overview.workersOnline', {
          online: figures.online,
          all: figures.workers,
        })}
        note={statesText(t, figures.states)}
      />
      <Tile
        href="/workers"
        title={t('overview.gpus')}
        figure={t('overview.gpusInUse', { busy: figures.gpusBusy, all: figures.gpus })}
        note={t('overview.gpusNote')}
      />
    </>
  );
}

function JobTiles({ figures, stats }: TilesProps & { readonly stats: Stats | null }) {
  const t = useT();
  return (
    <>
      <Tile
        href="/queue"
        title={t('overview.queue')}
        figure={t('overview.waiting', { count: figures.waiting })}
        note={
          figures.oldestAt === null ? (
            t('overview.nothingWaits')
          ) : (
            <>
              {t('overview.oldest')} <Time at={figures.oldestAt} />
            </>
          )
        }
      />
      <Tile
        href="/jobs"
        title={t('overview.lastDay')}
        figure={t('overview.completed', { count: stats?.ended_24h.completed ?? figures.completed })}
        note={dayNote(t, stats, figures.failed)}
      />
    </>
  );
}

interface TileProps {
  readonly href: string;
  readonly title: string;
  readonly figure: string;
  readonly note: React.ReactNode;
}

const Tile = ({ href, title, figure, note }: TileProps) => (
  <Link href={href} className="tile">
    <span className="muted">{title}</span>
    <strong>{figure}</strong>
    <span className="muted">{note}</span>
  </Link>
);
