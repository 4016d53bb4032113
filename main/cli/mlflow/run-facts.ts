import { shownName } from '../../../protocol/job-about.ts';
import type { JobDetail, ShownStatus } from '../../../protocol/job.ts';
import { isLoopbackLink, linksOfJob } from '../../../protocol/run-link.ts';
import { cutTo, limits } from './limits.ts';
import type { Pair } from './params.ts';

export type RunStatus = 'SCHEDULED' | 'RUNNING' | 'FINISHED' | 'FAILED' | 'KILLED';

/** The tag by which an export finds the run that an earlier export of the job created. */
export const jobIdTag = 'trainyard.job_id';

const statuses: Readonly<Record<ShownStatus, RunStatus>> = {
  pending: 'SCHEDULED',
  blocked: 'SCHEDULED',
  dispatched: 'RUNNING',
  starting: 'RUNNING',
  running: 'RUNNING',
  recovering: 'RUNNING',
  cancelling: 'RUNNING',
  completed: 'FINISHED',
  failed: 'FAILED',
  cancelled: 'KILLED',
};
export const statusOfRun = ({ status }: Pick<JobDetail, 'status'>): RunStatus => statuses[status];

/**
 * Returns the start of the run in ms since 1970: the first start of a trainer, otherwise the first offer to a worker, otherwise
 * the submission.
 */
export function startOfRun({ attempts, queued_at: queuedAt }: JobDetail): number {
  const first = attempts.find(({ started_at: at }) => at !== null) ?? attempts[0];
  return Date.parse(first?.started_at ?? first?.offered_at ?? queuedAt);
}

export const endOfRun = ({ completed_at: at }: JobDetail): number | null =>
  at === null ? null : Date.parse(at);

export const nameOfRun = (job: JobDetail): string => cutTo(shownName(job), limits.name);

/** Tags for new runs only. Later exports do not set them, because users may change them in MLflow. */
export const tagsOfNewRun = (job: JobDetail): readonly Pair[] =>
  toPairs([
    [jobIdTag, job.id],
    ['mlflow.runName', nameOfRun(job)],
    ['mlflow.user', job.user],
    ['mlflow.source.name', 'trainyard'],
    ['mlflow.source.type', 'JOB'],
    ['mlflow.note.content', job.notes],
  ]);

/** Tags that each export sets. `server` is the URL of the orchestrator. */
export const tagsOfJob = (job: JobDetail, server: string): readonly Pair[] =>
  toPairs([
    [jobIdTag, job.id],
    ['trainyard.url', isLoopbackLink({ kind: '', url: server }) ? null : `${server}/jobs/${job.id}`],
    ['trainyard.status', job.status],
    ['trainyard.config', job.config_name],
    ['trainyard.group', job.group],
    ['trainyard.tags', job.tags.join(', ')],
    ['trainyard.worker', job.worker_name],
    ['trainyard.attempts', String(job.attempts.length)],
    ['trainyard.cause', job.cause],
    ['trainyard.error', job.error_message],
    ...linksOfJob(job).map(({ kind, url }) => [`trainyard.link.${kind}`, url] as const),
  ]);

const toPairs = (tags: readonly (readonly [key: string, value: string | null])[]): readonly Pair[] =>
  tags.flatMap(([key, value]) =>
    value === null || value === '' ? [] : [{ key, value: cutTo(value, limits.tagValue) }],
  );
