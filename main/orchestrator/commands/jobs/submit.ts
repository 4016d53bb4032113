import type { SubmitRequest } from '../../../../protocol/queue-api.ts';
import type { JobId, WorkerId } from '../../../../protocol/ids.ts';
import type { FinalStatus, JobWarning } from '../../../../protocol/job.ts';
import { accept, type Outcome, refuse } from '../../../../protocol/problem.ts';
import type { Core } from '../../core.ts';
import { dependenciesAgain, dependenciesFor } from './dependencies.ts';
import { dataFor } from './job-data.ts';
import { command, isTakenAtOnce } from '../command.ts';
import { type DryRun, needsOf, predictSubmission } from './dry-run.ts';
import { completeDraft, insertJob, newJob, refusalOfLocal } from './new-job.ts';
import { earlierJob, type IdempotencyKey, rememberKey } from './submission-keys.ts';
import { type Actor, type Dependencies, isLive, type Job, nameOf } from '../../model.ts';
import type { Configs, Read } from '../../ports/index.ts';
import { rootOf } from '../../rules/dependencies.ts';
import { warningsAbout, configWarnings } from '../../rules/job-warnings.ts';
import { type BoundDraft, type Draft, fromTemplate, prepare } from '../../rules/drafts.ts';
import { createEarlierRuns } from '../../views/earlier-runs.ts';
import { createJobViewer, gpusOf } from '../../views/job-views.ts';
import { seesAllJobs } from '../../views/visibility.ts';

export interface Accepted {
  /** Can be final only for an earlier job with the same idempotency key. */
  readonly status: 'running' | 'queued' | 'blocked' | FinalStatus;
  readonly jobId: JobId;
  readonly workerId: WorkerId | null;
  readonly gpus: readonly number[] | null;
  readonly position: number | null;
  readonly reason: string | null;
  /** Warnings about the config, and about the worker that takes the job. */
  readonly warnings: readonly JobWarning[];
  /** Whether the idempotency key was used before, so that nothing was submitted. */
  readonly isRepeat: boolean;
}

/** No job was created: the job would have had to wait, but the request set `no_wait`. */
export interface Rejected {
  readonly status: 'rejected';
  readonly reason: string | null;
}

export type Submitted = Accepted | Rejected;

/** A submission number that sorts after those of all stored jobs. */
const lastOrder = Number.MAX_SAFE_INTEGER;

/** Submissions of jobs. */
export function createSubmissions(core: Core, configs: Configs) {
  const submitDraft = async (
    draft: Draft,
    by: Actor,
    idempotency: IdempotencyKey | null,
    /** Finds the dependencies. Called in the transaction, because a parent may end or be deleted before the transaction. */
    dependenciesIn: (read: Read) => Outcome<Dependencies | null>,
  ): Promise<Outcome<Submitted>> => {
    let isRepeat = false;
    const stored = await command(core, (tx): Outcome<JobId> | BoundDraft => {
      const earlier = earlierJob(core, tx, by, idempotency);
      isRepeat = earlier !== null;
      if (earlier !== null) return earlier;
      const refusal = refusalOfLocal(core, draft);
      if (refusal !== null) return refusal;
      // A dataset may have been removed since the draft was made.
      const data = draft.retryOf === null ? dataFor(tx, draft.payload.data ?? [], by) : accept(null);
      if (!data.ok) return data;
      const dependencies = dependenciesIn(tx);
      if (!dependencies.ok) return dependencies;
      const bound = { ...draft, dependencies: dependencies.value };
      const hypothetical = () => newJob(core, tx, tx.nextJobOrder(), bound, nameOf(by));
      if (draft.noWait && !isTakenAtOnce(core, tx, hypothetical)) return bound;
      const { id: jobId } = insertJob(core, tx, bound, by);
      if (idempotency !== null) rememberKey(core, tx, by, idempotency, jobId);
      return accept(jobId);
    });
    return 'ok' in stored
      ? currentResult(core, stored, isRepeat)
      : accept(rejected(core, stored, nameOf(by)));
  };

  return {
    /** Returns the job that this key already refers to, in its current state; null for none. */
    earlier(by: Actor, idempotency: IdempotencyKey | null): Outcome<Submitted> | null {
      const earlier = earlierJob(core, core.store, by, idempotency);
      return earlier === null ? null : currentResult(core, earlier, true);
    },

    /** Submits a job. For 24 hours, the same idempotency key returns the same job in its current state. */
    async submit(
      request: SubmitRequest,
      by: Actor,
      idempotency: IdempotencyKey | null = null,
      template: string | null = null,
    ): Promise<Outcome<Submitted>> {
      // Checked before the config is loaded, because a repeated call must not depend on its current state.
      const earlier = earlierJob(core, core.store, by, idempotency);
      if (earlier !== null) return currentResult(core, earlier, true);
      const prepared = prepare(configs, request);
      const draft = completeDraft(core, request, prepared instanceof Promise ? await prepared : prepared, by);
      if (!draft.ok) return draft;
      return submitDraft(fromTemplate(draft.value, template), by, idempotency, read =>
        dependenciesFor(read, request, draft.value.spec.requirements.trainer, by),
      );
    },

    dryRun: createDryRun(core, configs),

    /** Submits a new job with the spec and config of an ended job. */
    async retry(id: JobId, by: Actor): Promise<Outcome<Submitted>> {
      const job = core.store.job(id);
      const payload = core.store.payload(id);
      if (job === null || payload === null) return refuse('job_not_found', `There is no job ${id}`);
      if (!('endedAt' in job)) {
        return refuse('job_not_final', `Job ${id} is ${job.status}: only an ended job can be retried`);
      }
      const { spec, rank } = job;
      const requiresApproval = job.approval !== null;
      const draft = {
        spec,
        payload,
        priority: rank.priority,
        requiresApproval,
        noWait: false,
        retryOf: id,
        retryRoot: rootOf(job),
        notes: null,
      };
      return submitDraft(draft, by, null, read => dependenciesAgain(read, job, by));
    },
  };
}

/** Predicts the result of a submission without creating a job. Refuses what `submit` refuses. */
function createDryRun(core: Core, configs: Configs) {
  const earlierRuns = createEarlierRuns();
  return async (request: SubmitRequest, by: Actor): Promise<Outcome<DryRun>> => {
    const draft = completeDraft(core, request, await prepare(configs, request), by);
    if (!draft.ok) return draft;
    const { trainer } = draft.value.spec.requirements;
    const dependencies = dependenciesFor(core.store, request, trainer, by);
    if (!dependencies.ok) return dependencies;
    const bound = { ...draft.value, dependencies: dependencies.value };
    const job = newJob(core, core.store, lastOrder, bound, nameOf(by));
    const { payload, noWait } = draft.value;
    const needs = needsOf(job, payload);
    const onlyUser = seesAllJobs(core.store, nameOf(by)) ? null : nameOf(by);
    const earlier = earlierRuns.figures(core.store, job, payload, onlyUser);
    const checksKeys = needs.trainer !== null && core.trainerKeys.known(needs.trainer) !== null;
    return accept({ ...predictSubmission(core, job, payload, noWait), needs, earlier, checksKeys });
  };
}

/** Returns the current state of the stored job. */
function currentResult(core: Core, stored: Outcome<JobId>, isRepeat: boolean): Outcome<Submitted> {
  if (!stored.ok) return stored;
  const job = core.store.job(stored.value);
  if (job !== null) return accept(submitted(core, job, isRepeat));
  return refuse('job_not_found', `Job ${stored.value}, to which this idempotency key belongs, was deleted`);
}

function submitted(core: Core, job: Job, isRepeat: boolean): Accepted {
  // Computed outside of the transaction, so that no other command has to wait.
  const { position, reason } =
    job.status === 'pending' ? createJobViewer(core, core.store)(job) : { position: null, reason: null };
  const workerId = isLive(job) ? job.attempt.workerId : null;
  const status = statusOf(job);
  const gpus = gpusOf(job);
  const about = configWarnings(core, job.spec, () => core.store.payload(job.id)?.config ?? null);
  const warnings = [...about, ...warningsAbout(core.store, workerId, job)];
  return { jobId: job.id, status, workerId, gpus, position, reason, warnings, isRepeat };
}

function statusOf(job: Job): Accepted['status'] {
  if (job.status === 'pending') return job.approval === 'wanted' ? 'blocked' : 'queued';
  return isLive(job) ? 'running' : job.status;
}

function rejected(core: Core, draft: BoundDraft, user: string): Rejected {
  const { reason } = createJobViewer(core, core.store)(newJob(core, core.store, 0, draft, user));
  return { status: 'rejected', reason };
}
