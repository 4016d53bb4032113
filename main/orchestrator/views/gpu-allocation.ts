import type { JobId } from '../../../protocol/ids.ts';
import type { GpuAllocation as FleetAllocation, SystemStatus } from '../../../protocol/health-api.ts';
import type { GpuFigures } from '../../../protocol/worker.ts';
import type { LocalStats, WorkerCounts } from '../../../protocol/queue.ts';
import type { Core } from '../core.ts';
import { gpusFor, type Worker } from '../model.ts';
import type { Read } from '../ports/index.ts';
import { candidacyOf, liveJobAt, settingsOf, statusOf } from '../memory/eligibility.ts';
import type { Load } from '../memory/connection-registry.ts';
import { withBatchedReads } from '../memory/store-wrappers.ts';

/** The GPUs of a worker by use. `allocated` and `available` are GPU numbers on that machine. */
interface GpuAllocation {
  readonly worker: Worker;
  readonly jobId: JobId | null;
  readonly total: number;
  readonly allocated: readonly number[];
  /** GPUs that a new job could use. Empty while the worker cannot take a job. */
  readonly available: readonly number[];
}

function allocationOf(core: Core, read: Read, worker: Worker): GpuAllocation {
  const job = liveJobAt(read, worker.id);
  const total = worker.agent?.capabilities.gpuCount ?? 0;
  const inUse = new Set(job === null ? [] : gpusFor(job.spec));
  const all = Array.from({ length: total }, (_, n) => n);
  // Dispatch uses the same facts.
  const isFree = candidacyOf(core, read, worker).ineligibilityReasons.length === 0;
  return {
    worker,
    jobId: job?.id ?? null,
    total,
    allocated: all.filter(gpu => inUse.has(gpu)),
    available: isFree ? all : [],
  };
}

function devicesOf({ worker, jobId, total, allocated }: GpuAllocation): FleetAllocation['devices'] {
  const capabilities = worker.agent?.capabilities;
  return Array.from({ length: total }, (_, index) => {
    const isAllocated = allocated.includes(index);
    return {
      index,
      name: capabilities?.gpus[index]?.name ?? capabilities?.gpuName ?? null,
      memory_gb: capabilities?.gpus[index]?.vram_gb ?? capabilities?.gpuVramGb ?? null,
      allocated: isAllocated,
      job_id: isAllocated ? jobId : null,
    };
  });
}

function rowOf(core: Core, read: Read, worker: Worker): NonNullable<FleetAllocation['workers']>[number] {
  const { jobId, total, allocated, available } = allocationOf(core, read, worker);
  return {
    worker_id: worker.id,
    name: worker.name,
    local: worker.local,
    status: statusOf(core, read, worker).status,
    job_id: jobId,
    total_gpus: total,
    allocated_gpus: [...allocated],
    available_gpus: [...available],
  };
}

/** Returns the figures of a GPU. Older agents report only totals, which are used if the worker has a single GPU. */
const figuresAt = (
  { gpus, gpuUtilization, vramUsedGb }: Load,
  index: number,
  total: number,
): Pick<GpuFigures, 'utilization' | 'vram_used_gb'> | undefined =>
  gpus.find(gpu => gpu.index === index) ??
  (total === 1 ? { utilization: gpuUtilization, vram_used_gb: vramUsedGb } : undefined);

const percentOf = (used: number | null, total: number | null): number | null =>
  used === null || !total ? null : Math.round((used / total) * 1_000) / 10;

const nothing = { jobId: null, total: 0, allocated: [], available: [] } as const;

export function createGpuAllocations(core: Core) {
  /** Returns the figures of this machine. Without a local worker, it has no GPUs and no running job. */
  const localStats = (read: Read): LocalStats => {
    const worker = read.workers().find(({ local }) => local);
    const { jobId, total, allocated, available } =
      worker === undefined ? nothing : allocationOf(core, read, worker);
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
    const countOf = (status: string): number => statuses.filter(each => each === status).length;
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
    /** Returns the figures of this machine and the counts of all other workers, for SimpleTuner's clients. */
    localAndWorkers(): { readonly local: LocalStats; readonly workers: WorkerCounts } {
      const read = withBatchedReads(core.store);
      return { local: localStats(read), workers: workerCounts(read) };
    },

    /** Returns the GPUs of this machine. With `includesWorkers`, also those of all workers. */
    gpuAllocation(includesWorkers: boolean): FleetAllocation {
      const read = withBatchedReads(core.store);
      const workers = read.workers();
      const here = workers.find(({ local }) => local);
      const local = here && allocationOf(core, read, here);
      return {
        allocated_gpus: [...(local?.allocated ?? [])],
        available_gpus: [...(local?.available ?? [])],
        running_local_jobs: local === undefined || local.jobId === null ? 0 : 1,
        devices: local === undefined ? [] : devicesOf(local),
        ...(includesWorkers && { workers: workers.map(worker => rowOf(core, read, worker)) }),
      };
    },

    /** Returns the GPUs of this machine, as its agent last reported them. */
    gpusHere(): Pick<SystemStatus, 'gpus' | 'gpu_inventory'> {
      const here = core.store.workers().find(({ local }) => local);
      const capabilities = here?.agent?.capabilities;
      const total = capabilities?.gpuCount ?? 0;
      const backend = capabilities?.accelerator ?? null;
      const load = here && core.connections.loadOf(here.id);
      const vram = capabilities?.gpuVramGb ?? null;
      return {
        gpus: Array.from({ length: total }, (_, index) => {
          const gpu = capabilities?.gpus[index];
          const figures = load && figuresAt(load, gpu?.index ?? index, total);
          return {
            index,
            name: gpu?.name ?? capabilities?.gpuName ?? null,
            backend,
            utilization_percent: figures?.utilization ?? null,
            memory_percent: percentOf(figures?.vram_used_gb ?? null, gpu?.vram_gb ?? vram),
          };
        }),
        gpu_inventory: {
          backend,
          count: total,
          capabilities: { driver: capabilities?.driver ?? null, vram_gb: vram },
        },
      };
    },
  };
}
