import type { Explanation } from '../../../../protocol/explain.ts';
import type { JobId } from '../../../../protocol/ids.ts';
import type { JobDetail, JobStatus, JobView, ShownStatus } from '../../../../protocol/job.ts';
import { stateOf } from '../../../../protocol/job-search.ts';
import { accept, type Outcome, refuse } from '../../../../protocol/problem.ts';
import type { JobCounts } from '../../../../protocol/queue-api.ts';
import { type Core, recordJobEvent } from '../../core.ts';
import { refuseAwaited } from './dependencies.ts';
import { inputsView } from '../../views/inputs.ts';
import { dataOfJob } from './job-data.ts';
import { command } from '../command.ts';
import { usageOfJob } from '../../views/usage.ts';
import { createExplainer } from '../../views/explain.ts';
import type { JobEvent } from '../../rules/job-lifecycle.ts';
import { type Actor, type Job, type JobPayload, nameOf } from '../../model.ts';
import type { JobFilter, JobPosition, Tx } from '../../ports/index.ts';
import { warningsAbout, configWarnings } from '../../rules/job-warnings.ts';
import { outstandingView } from '../files/outstanding.ts';
import { endNodesOf } from './node-reports.ts';
import { applyEvent } from '../transitions.ts';
import { childrenView } from '../../views/dependency-views.ts';
import { attemptView, createJobViewer, holdOf } from '../../views/job-views.ts';

export interface JobPage {
  readonly entries: readonly JobView[];
  /** The `after` value of the next page; null on the last page. */
  readonly next: JobPosition | null;
}

const unknown = (id: string) => refuse('job_not_found', `There is no job ${id}`);

/** Changes one job, dispatches pending jobs, and returns the changed job. */
export async function changeJob(
  core: Core,
  id: JobId,
  act: (tx: Tx, job: Job) => Outcome<unknown>,
): Promise<Outcome<JobView>> {
  const outcome = await command(core, tx => {
    const job = tx.job(id);
    return job === null ? unknown(id) : act(tx, job);
  });
  if (!outcome.ok) return outcome;
  const job = core.store.job(id);
  return job === null ? unknown(id) : accept(createJobViewer(core, core.store)(job));
}

function removeEnded(core: Core, tx: Tx, id: JobId, by: Actor): Outcome<JobId> {
  const job = tx.job(id);
  if (job === null) return unknown(id);
  if (!('endedAt' in job))
    return refuse('job_not_final', `Job ${id} is ${job.status}: cancel it first, then delete it`);
  if (tx.isAwaited(id)) return refuseAwaited(tx, id);
  recordJobEvent(core, tx, 'job.deleted', job, by, { config_name: job.spec.configName });
  endNodesOf(core, tx, id);
  tx.removeJob(id);
  tx.afterCommit(core.onFilesDropped);
  tx.afterCommit(() => core.dropLogs([id]));
  return accept(id);
}

/** Calls of users about their jobs. */
export function createJobCalls(core: Core) {
  const applyTo = (id: JobId, event: JobEvent, by: Actor): Promise<Outcome<JobView>> =>
    changeJob(core, id, (tx, job) => {
      const step = applyEvent(core, tx, job, event, by);
      return step.kind === 'refused' ? { ok: false, refusal: step.refusal } : accept(true);
    });

  return {
    listJobs(filter: JobFilter): JobPage {
      const jobs = core.store.jobs({ ...filter, limit: filter.limit + 1 });
      const shown = jobs.slice(0, filter.limit);
      const last = jobs.length > shown.length ? shown.at(-1) : undefined;
      const next = last === undefined ? null : core.store.jobPosition(last.id, filter.sort);
      return { entries: shown.map(createJobViewer(core, core.store)), next };
    },

    countJobs(filter: JobFilter): JobCounts {
      const byStatus: Partial<Record<JobStatus, number>> = {};
      const states = new Set<string>(filter.search.states);
      let [total, blocked] = [0, 0];
      for (const group of core.store.countFound(filter)) {
        const { status, count } = group;
        const state = stateOf(group);
        byStatus[status] = (byStatus[status] ?? 0) + count;
        if (state === 'blocked') blocked += count;
        const names: readonly ShownStatus[] = state === 'blocked' ? [status, state] : [status];
        const isWanted = filter.statuses.length === 0 || names.some(name => filter.statuses.includes(name));
        const isInState = states.size === 0 || states.has(state);
        if (isWanted && isInState && (!filter.blocked || state === 'blocked')) total += count;
      }
      return { total, by_status: byStatus, blocked };
    },

    /** Returns the owner of the job; null when there is no such job. */
    ownerOf: (id: JobId): string | null => core.store.job(id)?.user ?? null,

    /** Returns a job with its details. `onlyUser`: shows only children of this user; null for all. */
    job(id: JobId, onlyUser: string | null = null): Outcome<JobDetail> {
      const job = core.store.job(id);
      if (job === null) return unknown(id);
      const stored = core.store.attempts(id);
      const attempts = stored.map(attempt => attemptView(core, core.store, attempt));
      const outstanding = outstandingView(core, core.store, job);
      const about = configWarnings(core, job.spec, () => core.store.payload(id)?.config ?? null);
      const warnings = [...about, ...warningsAbout(core.store, job.attempt?.workerId ?? null, job)];
      const data = dataOfJob(core.store, job);
      const inputs = inputsView(core.store, job);
      const notes = core.store.notesOf(id);
      const view = createJobViewer(core, core.store)(job);
      const children = childrenView(core.store, job, onlyUser);
      const usage = usageOfJob(core, job, stored);
      return accept({ ...view, notes, attempts, outstanding, warnings, data, inputs, usage, ...children });
    },

    /** Returns the config as it was submitted, even if its file has changed since. */
    jobConfig(id: JobId): Outcome<JobPayload & { readonly configName: string }> {
      const job = core.store.job(id);
      const payload = core.store.payload(id);
      if (job === null || payload === null) return unknown(id);
      return accept({ ...payload, configName: job.spec.configName });
    },

    explainJob(id: JobId): Outcome<Explanation> {
      const job = core.store.job(id);
      return job === null ? unknown(id) : accept(createExplainer(core, core.store).explain(job));
    },

    cancel: (id: JobId, by: Actor) => applyTo(id, { type: 'stop', why: 'cancel' }, by),

    reject: (id: JobId, reason: string | null, by: Actor) =>
      applyTo(id, { type: 'reject', by: nameOf(by), reason }, by),

    removeJob: (id: JobId, by: Actor): Promise<Outcome<JobId>> =>
      command(core, tx => removeEnded(core, tx, id, by)),

    /** Stops waiting for a silent worker, or for an unconfirmed stop. */
    release(id: JobId, by: Actor): Promise<Outcome<JobView>> {
      const job = core.store.job(id);
      const hold = job && holdOf(core, core.store, job);
      if (hold === null || hold.releasable) return applyTo(id, { type: 'release' }, by);
      const detail = `The worker of job ${id} is in contact: wait until it has stopped the trainer`;
      return Promise.resolve(refuse('nothing_to_release', detail));
    },
  };
}
