import type { JobId } from '../../protocol/ids.ts';
import type { LocalStats, WorkerCounts } from '../../protocol/queue-api.ts';
import { atOnce } from './at-once.ts';
import type { Core } from './core.ts';
import type { Worker } from './model.ts';
import type { Read } from './ports.ts';
import { candidacyOf, settingsOf, statusOf } from './standing.ts';
import { gpusFor } from './views.ts';

/** Which GPUs of a worker its job has, by their numbers on that machine. */
export interface GpuAllocation {
  readonly worker: Worker;
  readonly jobId: JobId | null;
  readonly total: number;
  readonly allocated: readonly number[];
  /** GPUs that a new job could use. Empty while the worker is busy: it runs one job at a time. */
  readonly available: readonly number[];
}

function allocationOf(core: Core, read: Read, worker: Worker): GpuAllocation {
  const job = read.liveJobOf(worker.id);
  const total = worker.agent?.capabilities.gpuCount ?? 0;
  const held = new Set(job === null ? [] : gpusFor(job.spec));
  const all = Array.from({ length: total }, (_, n) => n);
  // Dispatch reads the same facts.
  const isFree = candidacyOf(core, read, worker).obstacles.length === 0;
  return {
    worker,
    jobId: job?.id ?? null,
    total,
    allocated: all.filter(gpu => held.has(gpu)),
    available: isFree ? all : [],
  };
}

export function createGpuAllocations(core: Core) {
  const localStats = (read: Read): LocalStats | null => {
    const worker = read.workers().find(({ local }) => local);
    if (worker === undefined) return null;
    const { jobId, total, allocated, available } = allocationOf(core, read, worker);
    const { maxLocalGpus, maxLocalJobs } = settingsOf(read);
    return {
      running_jobs: jobId === null ? 0 : 1,
      pending_jobs: core.store.pendingLocally(),
      allocated_gpus: [...allocated],
      available_gpus: [...available],
      total_gpus: total,
      max_concurrent_gpus: maxLocalGpus,
      max_concurrent_jobs: maxLocalJobs,
    };
  };

  const workerCounts = (read: Read): WorkerCounts => {
    const statuses = read
      .workers()
      .filter(({ local }) => !local)
      .map(worker => statusOf(core, read, worker).status);
    const countOf = (wanted: string): number => statuses.filter(status => status === wanted).length;
    return {
      total_workers: statuses.length,
      idle_workers: countOf('idle'),
      busy_workers: countOf('busy'),
      offline_workers: countOf('offline'),
      draining_workers: countOf('draining'),
      connecting_workers: countOf('connecting'),
    };
  };

  return {
    /** For SimpleTuner's clients: this machine and the other workers. */
    localAndWorkers(): { readonly local: LocalStats | null; readonly workers: WorkerCounts } {
      const read = atOnce(core.store);
      return { local: localStats(read), workers: workerCounts(read) };
    },

    gpuAllocations(): readonly GpuAllocation[] {
      const read = atOnce(core.store);
      return read.workers().map(worker => allocationOf(core, read, worker));
    },
  };
}
