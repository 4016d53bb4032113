import { Link } from 'wouter';
import { shownName } from '../../../protocol/job-about.ts';
import type { JobView } from '../../../protocol/job.ts';
import { useT } from '../../i18n/index.ts';
import { Progress } from '../../ui/indicators.tsx';
import { duration, progressText, speed } from '../jobs/figures.ts';
import { Loss } from '../jobs/loss.tsx';

const maxShown = 10;

interface RunningJobsProps {
  readonly jobs: readonly JobView[];
  readonly title: 'overview.running' | 'fleet.others';
}

/** Running jobs, each with progress, remaining time and loss. */
export function RunningJobs({ jobs, title }: RunningJobsProps) {
  const t = useT();
  return (
    <section className="card" aria-labelledby="overview-running">
      <h2 id="overview-running">{t(title)}</h2>
      <List jobs={jobs} />
    </section>
  );
}

function List({ jobs }: { readonly jobs: readonly JobView[] }) {
  const t = useT();
  return (
    <ul className="plain-list">
      {jobs.slice(0, maxShown).map(job => (
        <li key={job.id} className="running">
          <Link href={`/jobs/${job.id}`} title={shownName(job)}>
            {shownName(job)}
          </Link>
          <span className="muted" title={job.worker_name ?? undefined}>
            {job.worker_name}
          </span>
          <Progress
            percent={job.progress?.percent ?? null}
            label={t('jobs.progress.label', { config: shownName(job) })}
            text={progressText(job.progress, t) || t('state.running')}
          />
          <Pace job={job} />
          <span className="running-loss">
            <Loss job={job} />
          </span>
        </li>
      ))}
      {jobs.length > maxShown && (
        <li>
          <Link href="/jobs?q=state:running">{t('overview.viewAll', { count: jobs.length })}</Link>
        </li>
      )}
    </ul>
  );
}

/** Shows the remaining time and the speed, if known. */
function Pace({ job: { progress } }: { readonly job: JobView }) {
  const t = useT();
  const { eta_s: eta, steps_per_second: rate } = progress ?? {};
  return (
    <span className="muted running-pace">
      {eta !== undefined && <span>{duration(eta, t.language)}</span>}
      {rate !== undefined && <span>{speed(rate, t)}</span>}
    </span>
  );
}
