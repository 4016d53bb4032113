import type { SubmitRequest } from '../../protocol/admin-api.ts';
import type { JobId, WorkerId } from '../../protocol/ids.ts';
import type { JobDetail, JobView } from '../../protocol/job.ts';
import { accept, type Outcome, refuse } from '../../protocol/problem.ts';
import { type Core, tellJob } from './core.ts';
import { dispatch } from './dispatch.ts';
import type { JobEvent } from './job-lifecycle.ts';
import { type Actor, isLive, type JobPayload, type PendingJob } from './model.ts';
import type { Configs, JobFilter } from './ports.ts';
import { applyEvent } from './transitions.ts';
import { attemptView, createJobViewer, holdOf } from './views.ts';

export interface Submitted {
  readonly jobId: JobId;
  readonly workerId: WorkerId | null;
  readonly gpus: number | null;
  readonly position: number | null;
  readonly reason: string | null;
}

/** What the people who own the jobs ask for. */
export function createJobCalls(core: Core, configs: Configs) {
  const unknown = (id: string) => refuse('job_not_found', `There is no job ${id}`);

  const insert = async (request: SubmitRequest, payload: JobPayload, by: Actor): Promise<Submitted> => {
    const stored = await core.store.write(tx => {
      const pending = newJob(core, tx.nextJobOrder(), request);
      tx.insertJob(pending, payload);
      tellJob(core, tx, 'job.submitted', pending, by, { config_name: pending.spec.configName });
      dispatch(core, tx);
      return tx.job(pending.id) ?? pending;
    });
    // Why it waits is worked out when the writer is done with it: nobody else has to wait for that.
    const { position, reason } = createJobViewer(core, core.store)(stored);
    const workerId = isLive(stored) ? stored.attempt.workerId : null;
    const gpus = workerId === null ? null : stored.spec.requirements.gpuCount;
    return { jobId: stored.id, workerId, gpus, position, reason };
  };

  const change = async (id: JobId, event: JobEvent, by: Actor): Promise<Outcome<JobView>> => {
    const outcome = await core.store.write((tx): Outcome<true> => {
      const job = tx.job(id);
      if (job === null) return unknown(id);
      const step = applyEvent(core, tx, job, event, by);
      dispatch(core, tx);
      return step.kind === 'refused' ? { ok: false, refusal: step.refusal } : accept(true);
    });
    if (!outcome.ok) return outcome;
    const job = core.store.job(id);
    return job === null ? unknown(id) : accept(createJobViewer(core, core.store)(job));
  };

  return {
    async submit(request: SubmitRequest, by: Actor): Promise<Outcome<Submitted>> {
      if (request.target === 'local') {
        return refuse(
          'target_unavailable',
          'This orchestrator runs no jobs on its own machine: use target "worker", or start an agent there',
        );
      }
      const payload: Outcome<JobPayload> =
        request.config === undefined
          ? await configs.load(request.config_name ?? '')
          : accept({ config: request.config, dataloader: null });
      if (!payload.ok) return payload;
      const count = gpusWanted(request, payload.value.config);
      if (!count.ok) return count;
      return accept(await insert({ ...request, gpu_count: count.value }, payload.value, by));
    },

    listJobs(filter: JobFilter): {
      readonly entries: readonly JobView[];
      readonly pending: number;
      readonly live: number;
    } {
      const counts = core.store.jobCounts();
      return { entries: core.store.jobs(filter).map(createJobViewer(core, core.store)), ...counts };
    },

    job(id: JobId): Outcome<JobDetail> {
      const job = core.store.job(id);
      if (job === null) return unknown(id);
      const attempts = core.store.attempts(id).map(attempt => attemptView(core, core.store, attempt));
      return accept({ ...createJobViewer(core, core.store)(job), attempts });
    },

    cancel: (id: JobId, by: Actor) => change(id, { type: 'stop', why: 'cancel' }, by),

    /** Ends the waiting for a silent worker, or for a stop that nobody confirms. */
    release(id: JobId, by: Actor): Promise<Outcome<JobView>> {
      const job = core.store.job(id);
      const hold = job && holdOf(core, core.store, job);
      if (hold === null || hold.releasable) return change(id, { type: 'release' }, by);
      const detail = `The worker of job ${id} is in contact: wait until it has stopped the trainer`;
      return Promise.resolve(refuse('nothing_to_release', detail));
    },
  };
}

function newJob(core: Core, order: number, request: SubmitRequest): PendingJob {
  return {
    id: core.ids.job(),
    order,
    status: 'pending',
    spec: {
      configName: request.config_name ?? 'inline',
      requirements: {
        target: request.target,
        gpuCount: request.gpu_count ?? 0,
        vramGb: request.gpu_vram_gb,
        accelerator: request.accelerator ?? null,
        guarded: request.on_lost_contact === 'stop',
        labels: request.worker_labels,
      },
      priority: request.priority,
      maxRetries: request.max_retries,
      retryOn: request.retry_on,
      onLostContact: request.on_lost_contact,
      timeoutMs: request.timeout_s === undefined ? null : Math.round(request.timeout_s * 1000),
    },
    queuedAt: core.clock.wall(),
    notBefore: 0,
    retriesUsed: 0,
    progress: null,
    attempt: null,
  };
}

/** The submit's own word, else `num_processes` in the config, else none: a job that asks for nothing runs anywhere. */
function gpusWanted(request: SubmitRequest, config: JobPayload['config']): Outcome<number> {
  if (request.gpu_count !== undefined) return accept(request.gpu_count);
  const stated = config['num_processes'] ?? config['--num_processes'];
  if (stated === undefined || stated === null) return accept(0);
  const count = typeof stated === 'string' && stated.trim() !== '' ? Number(stated) : stated;
  if (typeof count === 'number' && Number.isInteger(count) && count >= 0 && count <= 1024)
    return accept(count);
  return refuse('config_invalid', 'num_processes in the config must be a whole number from 0 to 1024');
}
