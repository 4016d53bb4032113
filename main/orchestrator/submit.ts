import type { SubmitRequest } from '../../protocol/queue-api.ts';
import type { JobId, WorkerId } from '../../protocol/ids.ts';
import type { TrainerConfig } from '../../protocol/job.ts';
import { accept, type Outcome, refuse } from '../../protocol/problem.ts';
import { type Core, tellJob } from './core.ts';
import { dispatch } from './dispatch.ts';
import {
  type Actor,
  isLive,
  type Job,
  type JobPayload,
  type JobSpec,
  nameOf,
  type PendingJob,
} from './model.ts';
import type { Configs, Read, Tx } from './ports.ts';
import { freshRank } from './rank.ts';
import { createJobViewer, gpusOf } from './views.ts';

export interface Accepted {
  readonly status: 'running' | 'queued' | 'blocked';
  readonly jobId: JobId;
  readonly workerId: WorkerId | null;
  readonly gpus: readonly number[] | null;
  readonly position: number | null;
  readonly reason: string | null;
}

/** It would have had to wait, and was not to: there is no job. */
export interface Rejected {
  readonly status: 'rejected';
  readonly reason: string | null;
}

export type Submitted = Accepted | Rejected;

/** A name for this submission by whoever submits, and the hash of all that was asked for. */
export interface IdempotencyKey {
  readonly key: string;
  readonly fingerprint: string;
}

/** What becomes a job. */
interface Draft {
  readonly spec: JobSpec;
  readonly payload: JobPayload;
  readonly priority: number;
  readonly requiresApproval: boolean;
  readonly noWait: boolean;
  readonly retryOf: JobId | null;
}

const keyLastsMs = 24 * 3_600_000;

/** Its row may be there from an earlier run: without the agent a job would wait for it for ever. */
const noLocalRuns = refuse(
  'target_unavailable',
  'This orchestrator runs no jobs on its own machine: use target "worker", or start it with --local-worker',
);

/** How jobs come in. */
export function createSubmissions(core: Core, configs: Configs) {
  const insert = (tx: Tx, draft: Draft, by: Actor): PendingJob => {
    const job = newJob(core, tx.nextJobOrder(), draft, nameOf(by));
    tx.insertJob(job, draft.payload);
    const { spec, retryOf } = job;
    tellJob(core, tx, 'job.submitted', job, by, { config_name: spec.configName, retry_of: retryOf });
    dispatch(core, tx);
    return job;
  };

  const isTakenAtOnce = (tx: Tx, draft: Draft, by: Actor): boolean => {
    // Whoever waits already goes first.
    dispatch(core, tx);
    return core.line.wouldTake(core, tx, newJob(core, tx.nextJobOrder(), draft, nameOf(by)));
  };

  const enter = async (
    draft: Draft,
    by: Actor,
    idempotency: IdempotencyKey | null,
  ): Promise<Outcome<Submitted>> => {
    const entered = await core.store.write((tx): Outcome<JobId> | Draft => {
      const earlier = earlierOne(tx, by, idempotency);
      if (earlier !== null) return earlier;
      const now = core.clock.wall();
      if (draft.spec.requirements.target === 'local' && !core.runsLocally) return noLocalRuns;
      if (draft.noWait && !isTakenAtOnce(tx, draft, by)) return draft;
      const { id: jobId } = insert(tx, draft, by);
      if (idempotency !== null) {
        const { key, fingerprint } = idempotency;
        tx.rememberSubmission(nameOf(by), key, { jobId, fingerprint, at: now }, now - keyLastsMs);
      }
      return accept(jobId);
    });
    return 'ok' in entered ? asItIs(entered) : accept(rejected(core, entered, nameOf(by)));
  };

  const earlierOne = (read: Read, by: Actor, idempotency: IdempotencyKey | null): Outcome<JobId> | null => {
    const known = idempotency && read.submissionOf(nameOf(by), idempotency.key);
    return known && core.clock.wall() - known.at < keyLastsMs ? sameAgain(known, idempotency) : null;
  };

  const asItIs = (entered: Outcome<JobId>): Outcome<Submitted> => {
    if (!entered.ok) return entered;
    const job = core.store.job(entered.value);
    if (job !== null) return accept(submitted(core, job));
    return refuse('job_not_found', `Job ${entered.value}, which this key stands for, was deleted`);
  };

  return {
    /** The same key means the same job for 24 hours: it is answered as it is by then. */
    async submit(
      request: SubmitRequest,
      by: Actor,
      idempotency: IdempotencyKey | null = null,
    ): Promise<Outcome<Submitted>> {
      // Before its config is looked for, which may be another one by now, or none.
      const earlier = earlierOne(core.store, by, idempotency);
      if (earlier !== null) return asItIs(earlier);
      const payload: Outcome<JobPayload> =
        request.config === undefined
          ? await configs.load(request.config_name ?? '')
          : accept({ config: request.config, dataloader: null });
      if (!payload.ok) return payload;
      const draft = draftOf(request, payload.value);
      return draft.ok ? enter(draft.value, by, idempotency) : draft;
    },

    /** A new job like one that has ended, with the config that that one had. */
    async retry(id: JobId, by: Actor): Promise<Outcome<Submitted>> {
      const job = core.store.job(id);
      const payload = core.store.payload(id);
      if (job === null || payload === null) return refuse('job_not_found', `There is no job ${id}`);
      if (!('endedAt' in job)) {
        return refuse('job_not_final', `Job ${id} is ${job.status}: only one that has ended is tried again`);
      }
      const { spec, rank } = job;
      const requiresApproval = job.approval !== null;
      const draft = { spec, payload, priority: rank.priority, requiresApproval, noWait: false, retryOf: id };
      return enter(draft, by, null);
    },
  };
}

function sameAgain(
  known: { readonly jobId: JobId; readonly fingerprint: string },
  now: IdempotencyKey,
): Outcome<JobId> {
  if (known.fingerprint === now.fingerprint) return accept(known.jobId);
  return refuse(
    'idempotency_key_reused',
    `This key stands for job ${known.jobId}, which was submitted otherwise: use a new key for a new job`,
  );
}

function submitted(core: Core, job: Job): Accepted {
  // Why it waits is worked out when the writer is done with it: nobody else has to wait for that.
  const { position, reason } = createJobViewer(core, core.store)(job);
  const workerId = isLive(job) ? job.attempt.workerId : null;
  const status = workerId !== null ? 'running' : job.approval === 'wanted' ? 'blocked' : 'queued';
  return { jobId: job.id, status, workerId, gpus: gpusOf(job), position, reason };
}

function rejected(core: Core, draft: Draft, user: string): Rejected {
  const { reason } = createJobViewer(core, core.store)(newJob(core, 0, draft, user));
  return { status: 'rejected', reason };
}

function newJob(core: Core, order: number, draft: Draft, user: string): PendingJob {
  const now = core.clock.wall();
  return {
    id: core.ids.job(),
    order,
    status: 'pending',
    spec: draft.spec,
    user,
    rank: freshRank(draft.priority, core.queueTime()),
    approval: draft.requiresApproval ? 'wanted' : null,
    retryOf: draft.retryOf,
    queuedAt: now,
    notBefore: 0,
    retriesUsed: 0,
    progress: null,
    attempt: null,
  };
}

function draftOf(request: SubmitRequest, { config, dataloader }: JobPayload): Outcome<Draft> {
  const wanted = gpusWanted(request, config);
  if (!wanted.ok) return wanted;
  const spec: JobSpec = {
    configName: request.config_name ?? 'inline',
    requirements: {
      target: request.target,
      gpuCount: wanted.value.count,
      vramGb: request.gpu_vram_gb,
      accelerator: request.accelerator ?? null,
      guarded: request.on_lost_contact === 'stop',
      labels: request.worker_labels,
    },
    devices: wanted.value.devices,
    maxRetries: request.max_retries,
    retryOn: request.retry_on,
    onLostContact: request.on_lost_contact,
    timeoutMs: request.timeout_s === undefined ? null : Math.round(request.timeout_s * 1000),
  };
  return accept({
    spec,
    payload: { config: request.any_gpu ? withoutDevices(config) : config, dataloader },
    priority: request.priority,
    requiresApproval: request.requires_approval,
    noWait: request.no_wait,
    retryOf: null,
  });
}

/** In either spelling, as SimpleTuner's own configs have them. */
const read = (config: TrainerConfig, name: string): unknown => config[name] ?? config[`--${name}`];

const devicesKey = 'accelerate_visible_devices';
const mostGpus = 1024;

interface GpusWanted {
  readonly count: number;
  readonly devices: readonly number[] | null;
}

/**
 * The submit's own word, else `num_processes` in the config, else none: a job that asks for nothing runs anywhere. One
 * whose config names its GPUs needs a worker that has those, unless any will do.
 */
function gpusWanted(request: SubmitRequest, config: TrainerConfig): Outcome<GpusWanted> {
  const count = request.gpu_count ?? wholeNumber(read(config, 'num_processes') ?? 0);
  if (count === null) {
    return refuse(
      'config_invalid',
      `num_processes in the config must be a whole number from 0 to ${mostGpus}`,
    );
  }
  const named = request.any_gpu ? null : (read(config, devicesKey) ?? null);
  if (named === null) return accept({ count, devices: null });
  const devices = Array.isArray(named) ? named : [named];
  const known = devices.map(wholeNumber).filter(device => device !== null);
  if (known.length < devices.length || known.length === 0) {
    return refuse(
      'config_invalid',
      `${devicesKey} in the config must be a list of GPU numbers, such as [0, 1]`,
    );
  }
  return accept({ count: Math.max(count, ...known.map(device => device + 1)), devices: known });
}

function wholeNumber(stated: unknown): number | null {
  const count = typeof stated === 'string' && stated.trim() !== '' ? Number(stated) : stated;
  return typeof count === 'number' && Number.isInteger(count) && count >= 0 && count <= mostGpus
    ? count
    : null;
}

const withoutDevices = (config: TrainerConfig): TrainerConfig =>
  Object.fromEntries(
    Object.entries(config).filter(([key]) => key !== devicesKey && key !== `--${devicesKey}`),
  );
