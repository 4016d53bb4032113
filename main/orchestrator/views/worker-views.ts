import type { WorkerId } from '../../../protocol/ids.ts';
import type { WorkerStatus, WorkerView } from '../../../protocol/worker.ts';
import { type Core, lastContact } from '../core.ts';
import { jobIdAt, statusOf } from '../memory/eligibility.ts';
import { withBatchedReads } from '../memory/store-wrappers.ts';
import { labelsOf, type WallMs, type Worker } from '../model.ts';
import type { Read } from '../ports/index.ts';
import { isUpdateAvailable, updateRefusal } from '../rules/update-rules.ts';

export interface WorkerPage {
  readonly workers: readonly WorkerView[];
  /** The `after` value of the next page; null on the last page. */
  readonly next: WorkerId | null;
}

export function createWorkerList(core: Core) {
  const inStatus = (status: WorkerStatus | undefined, views: readonly WorkerView[]): readonly WorkerView[] =>
    status === undefined ? views : views.filter(view => view.status === status);

  return {
    listWorkers(status: WorkerStatus | undefined): readonly WorkerView[] {
      const read = withBatchedReads(core.store);
      return inStatus(
        status,
        read.workers().map(worker => workerView(core, read, worker)),
      );
    },

    /** Reads `limit` workers, and returns those with this status. So a page can have fewer than `limit` workers. */
    pageOfWorkers(after: WorkerId | null, limit: number, status: WorkerStatus | undefined): WorkerPage {
      const workers = core.store.workersAfter(after, limit);
      const views = workers.map(worker => workerView(core, core.store, worker));
      return {
        workers: inStatus(status, views),
        next: workers.length < limit ? null : (workers.at(-1)?.id ?? null),
      };
    },
  };
}

export function workerView(core: Core, read: Read, worker: Worker): WorkerView {
  const { status, reason } = statusOf(core, read, worker);
  const contactAt = lastContact(core, worker);
  const load = core.connections.loadOf(worker.id);
  const duplicate = core.connections.duplicateOf(worker.id);
  const { agent } = worker;
  const capabilities = agent?.capabilities;
  const gpuName = capabilities?.gpuName ?? null;
  const vramGb = capabilities?.gpuVramGb ?? null;
  const accelerator = capabilities?.accelerator ?? null;
  const count = capabilities?.gpuCount ?? 0;
  const drainMs = worker.drain?.deadlineMs ?? null;
  const drainAt = worker.drain === null || drainMs === null ? null : worker.drain.since + drainMs;
  return {
    id: worker.id,
    worker_id: worker.id,
    name: worker.name,
    status,
    status_reason: reason,
    worker_type: worker.type,
    local: worker.local,
    gpu_count: count,
    nodes: capabilities?.nodes ?? 1,
    gpu_name: gpuName,
    gpu_vram_gb: vramGb,
    accelerator_type: accelerator,
    gpu_info: {
      name: gpuName,
      vram_gb: vramGb,
      count,
      accelerator,
      driver: capabilities?.driver ?? null,
      gpus: [...(capabilities?.gpus ?? [])],
    },
    labels: labelsOf(worker),
    admin_labels: worker.labels,
    current_job_id: jobIdAt(read, worker.id),
    last_heartbeat: isoOrNull(core, contactAt),
    last_contact_age_s: contactAt === null ? null : ageS(core.clock.wall() - contactAt),
    stream_closed_at: lostStreamOf(core, worker),
    gpu_utilization: load.gpuUtilization,
    vram_used_gb: load.vramUsedGb,
    gpu_figures: [...load.gpus],
    created_at: core.clock.iso(worker.createdAt),
    registered_at: isoOrNull(core, agent?.registeredAt ?? null),
    host: agent?.host ?? null,
    persistent: agent?.persistent ?? null,
    agent_version: agent?.agentVersion ?? null,
    trainers: agent?.trainers?.map(trainer => ({ ...trainer })) ?? null,
    protocol: agent?.protocol ?? 1,
    drain: worker.drain && {
      reason: worker.drain.reason,
      by: worker.drain.by,
      since: core.clock.iso(worker.drain.since),
      deadline: isoOrNull(core, drainAt),
    },
    quarantine: worker.quarantine && {
      reason: worker.quarantine.reason,
      since: core.clock.iso(worker.quarantine.since),
      retry_at: core.clock.iso(worker.quarantine.since + core.times.trialMs),
    },
    gpu_troubles: [...(agent?.gpuTroubles ?? [])],
    duplicate: duplicate && { ...duplicate, at: core.clock.iso(duplicate.at) },
    update: agent === null ? null : updateView(core, worker),
  };
}

function updateView(core: Core, worker: Worker): WorkerView['update'] {
  const offered = core.offered();
  const { update = null } = worker;
  return {
    available: isUpdateAvailable(worker, offered),
    version: offered.version,
    blocked: updateRefusal(worker, offered),
    order: update && {
      state: update.state,
      when: update.when,
      by: update.by,
      since: core.clock.iso(update.since),
      version: update.target.version,
      reason: update.reason,
    },
  };
}

const ageS = (ms: number): number => Math.round(ms / 100) / 10;

export const isoOrNull = (core: Core, at: WallMs | null): string | null =>
  at === null ? null : core.clock.iso(at);

/** Returns when the worker's stream broke; null if the stream is open, or if the worker is already recorded as offline. */
function lostStreamOf(core: Core, worker: Worker): string | null {
  const lostAt = worker.gone === null ? core.connections.lostStreamAt(worker.id) : null;
  return lostAt === null ? null : core.clock.iso(core.clock.wall() + lostAt - core.clock.mono());
}
