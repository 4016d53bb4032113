import type { JobId, WorkerId } from '../../../protocol/ids.ts';
import { isFinal, isWaiting, type ShownStatus } from '../../../protocol/job.ts';
import { parseSearch } from '../../../protocol/job-search.ts';
import { accept, refuse } from '../../../protocol/problem.ts';
import type { Core } from '../core.ts';
import { toGpuHours } from '../rules/energy.ts';
import { createExplainer } from './explain.ts';
import type { WaitingKind } from '../ports/index.ts';
import { createJobViewer, maxPositions } from './job-views.ts';
import { groupWaiting } from './wait-groups.ts';

const dayMs = 86_400_000;
/** Maximum number of jobs to list for a user. */
const maxShown = 500;
/** Maximum number of kinds of pending jobs to evaluate. Jobs of the same kind have the same requirements. */
const maxKinds = 50;

/** Figures of the queue as a whole. */
export function createQueueFigures(core: Core) {
  return {
    position(id: JobId) {
      const job = core.store.job(id);
      if (job === null) return refuse('job_not_found', `There is no job ${id}`);
      const { status, position } = createJobViewer(core, core.store)(job);
      return accept({ status, position, pending: core.store.jobCounts().pending });
    },

    /** Returns figures of the queue. `only`: counts only this user's jobs; null for all. Times and GPU-hours cover all jobs. */
    queueStats(only: string | null) {
      const byStatus: Partial<Record<ShownStatus, number>> = {};
      const byUser = new Map<string, { readonly pending: number; readonly running: number }>();
      for (const { user, status, count } of core.store.countJobs()) {
        if (only !== null && user !== only) continue;
        byStatus[status] = (byStatus[status] ?? 0) + count;
        if (isFinal(status)) continue;
        const { pending, running } = byUser.get(user) ?? { pending: 0, running: 0 };
        const isPending = isWaiting(status);
        byUser.set(user, {
          pending: pending + (isPending ? count : 0),
          running: running + (isPending ? 0 : count),
        });
      }
      const now = core.clock.wall();
      const { averageWaitMs, averageRunMs, ...ended } = core.store.jobTimes(now - dayMs);
      return {
        byStatus,
        byUser: Object.fromEntries(byUser),
        ended,
        waitS: inSeconds(averageWaitMs),
        runS: inSeconds(averageRunMs),
        gpuHours: toGpuHours(core.store.gpuMs(now - dayMs, now)),
        ...stuckKinds(core, only),
      };
    },

    /** Returns pending jobs, grouped by the reason why they wait. */
    waiting: (only: string | null) => groupWaiting(core, only),

    /** Returns pending jobs in dispatch order. */
    order: (): readonly JobId[] => core.store.queuedJobs(maxPositions),

    /** Returns the pending and running jobs of this user. */
    jobsOf(user: string) {
      const jobs = core.store.jobs({
        statuses: [],
        includeFinal: false,
        user,
        workerId: null,
        search: parseSearch(''),
        blocked: false,
        sort: 'submitted',
        isDescending: true,
        after: null,
        limit: maxShown,
        offset: 0,
      });
      const entries = jobs.map(createJobViewer(core, core.store));
      const positions = entries.flatMap(({ position }) => position ?? []);
      return { entries, nextPosition: positions.length === 0 ? null : Math.min(...positions) };
    },
  };
}

/** Pending jobs that only offline workers could take. */
interface WaitingForOffline {
  /** The first of the offline workers, as an example. */
  readonly worker: { readonly id: WorkerId; readonly name: string };
  readonly workerCount: number;
  readonly firstJob: JobId;
  readonly count: number;
}

interface StuckKinds {
  /** Kinds of jobs that no registered worker could take. */
  readonly unsatisfiable: readonly WaitingKind[];
  readonly waitingForOffline: readonly WaitingForOffline[];
}

/** Returns the kinds of pending jobs that no connected worker could take, even if all were idle. */
function stuckKinds(core: Core, only: string | null): StuckKinds {
  const { isUnsatisfiable, offlineTakers } = createExplainer(core, core.store);
  const kinds = core.store.waitingKinds(maxKinds, only);
  const waitingForOffline = new Map<string, WaitingForOffline>();
  for (const { requirements, first, count } of kinds) {
    const takers = offlineTakers(requirements);
    const [worker] = takers;
    if (worker === undefined) continue;
    const key = takers.map(({ id }) => id).join(' ');
    const entry = waitingForOffline.get(key) ?? {
      worker,
      workerCount: takers.length,
      firstJob: first,
      count: 0,
    };
    waitingForOffline.set(key, { ...entry, count: entry.count + count });
  }
  return {
    unsatisfiable: kinds.filter(({ requirements }) => isUnsatisfiable(requirements)),
    waitingForOffline: [...waitingForOffline.values()],
  };
}

const inSeconds = (ms: number | null): number | null => (ms === null ? null : Math.round(ms / 100) / 10);
