import { useMemo } from 'react';
import { shownName } from '../../../../protocol/job-about.ts';
import type { JobId } from '../../../../protocol/ids.ts';
import type { JobDetail, JobView, ShownStatus } from '../../../../protocol/job.ts';
import { useFleet } from '../../../app/context.ts';
import { JobLink } from '../../../app/links.tsx';
import { useT } from '../../../i18n/index.ts';
import { Icon } from '../../../ui/icon.tsx';
import { Progress, State } from '../../../ui/indicators.tsx';
import { progressText } from '../figures.ts';
import { shownState } from '../list/filter.ts';
import './chain.css';

/** Maximum number of jobs to draw per step. */
const maxShown = 8;

/** A job in the diagram, as the server's answer describes it. The event stream may provide newer data. */
interface ChainJob {
  readonly id: JobId;
  readonly name: string | null;
  readonly status: ShownStatus | null;
  readonly isRetry: boolean;
}

/** A diagram of the job with its parents and children. */
export function JobChain({ job }: { readonly job: JobDetail }) {
  const t = useT();
  const jobs = useFleet(({ fleet }) => fleet.jobs);
  const children = useMemo(() => childrenOf(job, jobs), [job, jobs]);
  const parents = job.after === null ? [] : parentsOf(job.after.parents);
  const count = Math.max(job.children_count, children.length);
  return (
    <section className="card chain-card" aria-labelledby="job-chain">
      <h2 id="job-chain">{t('jobs.chain.title')}</h2>
      <ol className="chain">
        {job.after !== null && (
          <Step title={t('jobs.chain.before', { on: job.after.on })} jobs={parents} count={parents.length} />
        )}
        <li className="chain-step">
          <h3>{t('jobs.chain.self')}</h3>
          <span className="chain-job" aria-current="true">
            <span className="chain-name">{shownName(job)}</span>
            <State name={shownState(job)} />
          </span>
        </li>
        {children.length > 0 && <Step title={t('jobs.chain.then')} jobs={children} count={count} />}
      </ol>
    </section>
  );
}

interface StepProps {
  readonly title: string;
  readonly jobs: readonly ChainJob[];
  readonly count: number;
}

function Step({ title, jobs, count }: StepProps) {
  const t = useT();
  const shown = jobs.slice(0, maxShown);
  const more = count - shown.length;
  return (
    <li className="chain-step">
      <h3>{title}</h3>
      <ul>
        {shown.map(job => (
          <ChainLink key={job.id} job={job} />
        ))}
      </ul>
      {more > 0 && <p className="muted">{t('jobs.chain.more', { count: more })}</p>}
    </li>
  );
}

function ChainLink({ job: { id, name, status, isRetry } }: { readonly job: ChainJob }) {
  const t = useT();
  const live = useFleet(({ fleet }) => fleet.jobs.get(id));
  const state = live === undefined ? status : shownState(live);
  if (state === null)
    return (
      <li className="chain-job">
        <span className="chain-name mono">{id}</span>
        <span className="muted">
          <Icon name="cancelled" /> {t('jobs.chain.deleted')}
        </span>
      </li>
    );
  return (
    <li className="chain-job">
      <JobLink id={id} className="chain-name">
        {name ?? id}
      </JobLink>
      <State name={state} />
      {isRetry && <span className="chip">{t('jobs.chain.retry')}</span>}
      {live?.status === 'running' && live.progress !== null && (
        <Progress
          percent={live.progress.percent ?? null}
          label={t('jobs.progress.label', { config: shownName(live) })}
          text={progressText(live.progress, t)}
        />
      )}
    </li>
  );
}

const parentsOf = (parents: NonNullable<JobView['after']>['parents']): readonly ChainJob[] =>
  parents.map(({ job_id: id, name, status, retry_id: retry }) => ({
    id: retry ?? id,
    name,
    status,
    isRetry: retry !== null,
  }));

/** Returns the children that the server listed, and the children that were submitted since then. */
function childrenOf(job: JobDetail, jobs: ReadonlyMap<JobId, JobView>): readonly ChainJob[] {
  const children = new Map<JobId, ChainJob>(
    job.children.map(({ job_id: id, name, status }) => [id, { id, name, status, isRetry: false }]),
  );
  for (const other of jobs.values()) {
    const isChild = other.after?.parents.some(({ job_id: id }) => id === job.id) === true;
    if (isChild && !children.has(other.id))
      children.set(other.id, {
        id: other.id,
        name: shownName(other),
        status: shownState(other),
        isRetry: false,
      });
  }
  return [...children.values()];
}
