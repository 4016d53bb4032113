import { useMemo } from 'react';
import { Link } from 'wouter';
import { shownName } from '../../../../protocol/job-about.ts';
import type { JobView } from '../../../../protocol/job.ts';
import { queueApi } from '../../../../protocol/queue-api.ts';
import { AllTexts } from '../../../app/all-texts.tsx';
import { useFleet, useLoaded } from '../../../app/context.ts';
import { FleetTexts, useFleetTexts } from '../../../app/fleet-texts.ts';
import { useNow } from '../../../ui/time.tsx';
import {
  causeParam,
  createCauseReader,
  type FailureGroup,
  groupFailures,
} from '../../jobs/list/failure-groups.ts';
import './causes.css';

const weekMs = 7 * 86_400_000;
const maxCauses = 3;
/** The query for failed jobs if the panel does not have all jobs in memory. */
const newestFailed = { query: { q: 'state:failed', limit: 200 } };
const failedLink = '/jobs?q=state:failed';

/** The most common causes of failures within the last 7 days, each with its number of jobs. */
export function FailureCauses() {
  const isWhole = useFleet(({ fleet }) => fleet.hasAllEndedJobs);
  return (
    <AllTexts>
      <FleetTexts>{isWhole ? <FromMemory /> : <FromServer />}</FleetTexts>
    </AllTexts>
  );
}

function FromMemory() {
  const jobs = useFleet(({ fleet }) => fleet.jobs);
  const all = useMemo(() => [...jobs.values()], [jobs]);
  return <Causes jobs={all} />;
}

function FromServer() {
  const failed = useFleet(({ fleet }) =>
    fleet.recent.find(
      ({ kind, ...event }) => kind === 'job' && 'type' in event && event.type === 'job.failed',
    ),
  );
  const { value } = useLoaded(queueApi.list, newestFailed, String(failed?.seq ?? ''));
  return value === null ? null : <Causes jobs={value.entries} hasMore={value.next_cursor !== null} />;
}

interface CausesProps {
  readonly jobs: readonly JobView[];
  /** True if the server has further, older failed jobs. */
  readonly hasMore?: boolean;
}

function Causes({ jobs, hasMore = false }: CausesProps) {
  const t = useFleetTexts();
  const since = useNow(60_000) - weekMs;
  const causeOf = useMemo(() => createCauseReader(name => t(`jobs.cause.${name}`)), [t]);
  const failed = useMemo(() => failedSince(jobs, since), [jobs, since]);
  const groups = useMemo(() => groupFailures(failed, causeOf), [failed, causeOf]);
  if (failed.length === 0) return null;
  const max = groups[0]?.count ?? 1;
  // If the read also returned failures from before `since`, it returned all failures after `since`.
  const isCut = hasMore && failed.length === jobs.length;
  return (
    <section className="card causes" aria-labelledby="overview-causes">
      <h2 id="overview-causes">{t(isCut ? 'causes.newest' : 'causes.title', { count: failed.length })}</h2>
      <ol className="plain-list">
        {groups.slice(0, maxCauses).map(group => (
          <Cause key={group.cause} group={group} max={max} />
        ))}
      </ol>
      {groups.length > maxCauses && (
        <Link href={failedLink}>{t('jobs.failures.more', { count: groups.length - maxCauses })}</Link>
      )}
    </section>
  );
}

/** Returns the jobs that failed since this time (ms since 1970), newest first. */
const failedSince = (jobs: readonly JobView[], since: number): readonly JobView[] =>
  jobs
    .filter(({ status, completed_at: at }) => status === 'failed' && at !== null && Date.parse(at) >= since)
    .toSorted((a, b) => Date.parse(b.completed_at ?? '') - Date.parse(a.completed_at ?? ''));

interface CauseProps {
  readonly group: FailureGroup;
  /** Number of jobs of the most common cause. */
  readonly max: number;
}

function Cause({ group: { cause, count, examples }, max }: CauseProps) {
  const t = useFleetTexts();
  const names = examples.map(shownName).join(', ');
  return (
    <li className="cause">
      <span className="cause-bar" aria-hidden="true">
        <span style={{ width: `${(100 * count) / max}%` }} />
      </span>
      <Link href={`${failedLink}&${causeParam}=${encodeURIComponent(cause)}`}>
        {t('causes.cause', { count, cause: cause === '' ? t('jobs.failures.unknown') : cause })}
      </Link>
      <span className="muted cause-jobs" title={names}>
        {count > examples.length ? t('causes.jobs', { names, more: count - examples.length }) : names}
      </span>
    </li>
  );
}
