import type { ShownStatus } from '../../../protocol/job.ts';
import type { GpuTroubleKind, WorkerStatus } from '../../../protocol/worker.ts';
import type { Core } from '../core.ts';
import { liveJobAt, statusOf } from '../memory/eligibility.ts';
import { withBatchedReads } from '../memory/store-wrappers.ts';

export interface FleetFigures {
  readonly workers: Readonly<Partial<Record<WorkerStatus, number>>>;
  readonly quarantined: number;
  /** Number of GPU troubles of all workers in their last reports. */
  readonly gpuTroubles: Readonly<Record<GpuTroubleKind, number>>;
  /** GPUs of workers that are not offline. */
  readonly gpus: { readonly total: number; readonly busy: number };
  readonly jobs: Readonly<Partial<Record<ShownStatus, number>>>;
  /** Waiting time of the oldest pending job that waits for no approval or parent; null when there is none. */
  readonly oldestWaitMs: number | null;
  readonly isPaused: boolean;
  /** Number of open worker streams. */
  readonly streams: number;
}

/** Returns figures about the fleet for monitoring. */
export function fleetFigures(core: Core): FleetFigures {
  const { store } = core;
  const read = withBatchedReads(store);
  const workers: Partial<Record<WorkerStatus, number>> = {};
  const gpus = { total: 0, busy: 0 };
  const gpuTroubles: Record<GpuTroubleKind, number> = { missing: 0, errors: 0, held: 0 };
  let quarantined = 0;
  for (const worker of read.workers()) {
    const { status } = statusOf(core, read, worker);
    workers[status] = (workers[status] ?? 0) + 1;
    if (worker.quarantine !== null) quarantined += 1;
    for (const { kind } of worker.agent?.gpuTroubles ?? []) gpuTroubles[kind] += 1;
    if (status === 'offline') continue;
    const count = worker.agent?.capabilities.gpuCount ?? 0;
    gpus.total += count;
    const job = liveJobAt(read, worker.id);
    gpus.busy += job === null ? 0 : Math.min(count, job.spec.requirements.gpuCount);
  }
  const jobs: Partial<Record<ShownStatus, number>> = {};
  for (const { status, count } of store.countJobs()) jobs[status] = (jobs[status] ?? 0) + count;
  return {
    workers,
    quarantined,
    gpuTroubles,
    gpus,
    jobs,
    oldestWaitMs: oldestWait(core),
    isPaused: (store.queueSettings()?.pause ?? null) !== null,
    streams: core.connections.streaming().length,
  };
}

function oldestWait({ store, queueTime }: Core): number | null {
  const since = store.oldestPending();
  return since === null ? null : Math.max(0, queueTime() - since);
}

/**
 * `sinceMs`: time since the last check of the health loop, or since its creation. If `sinceMs` is much longer than `maxMs`,
 * the loop has stopped.
 */
export interface LoopPace {
  readonly sinceMs: number;
  readonly maxMs: number;
}

/** Facts about the health of the orchestrator itself. */
export interface HealthFacts {
  readonly acceptsWrites: boolean;
  /** Milliseconds by which the wall clock is ahead of the trusted time; null while the clocks agree. */
  readonly clockJumpMs: number | null;
  readonly loop: LoopPace;
  readonly workers: {
    readonly total: number;
    readonly connected: number;
    readonly streams: number;
  };
}

export const createHealthFacts = (core: Core, loop: { pace(): LoopPace }) => ({
  healthFacts(): HealthFacts {
    const read = withBatchedReads(core.store);
    const statuses = read.workers().map(worker => statusOf(core, read, worker).status);
    return {
      acceptsWrites: core.store.acceptsWrites(),
      clockJumpMs: core.time.jumpMs(),
      loop: loop.pace(),
      workers: {
        total: statuses.length,
        connected: statuses.filter(status => status !== 'offline' && status !== 'connecting').length,
        streams: core.connections.streaming().length,
      },
    };
  },

  /**
   * Commits a transaction without changes. Returns the duration in milliseconds, including the wait. Rejects when the commit
   * fails.
   */
  async timeCommit(): Promise<number> {
    const startedAt = core.clock.mono();
    await core.store.write(() => undefined);
    return core.clock.mono() - startedAt;
  },
});
