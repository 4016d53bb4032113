import { type Absence, absenceOf, isRecentAbsence, jobNeed, workerNeeds } from '../../protocol/attention.ts';
import type { ValueOf } from '../../protocol/client.ts';
import type { UiEvent } from '../../protocol/events.ts';
import { type ShownStatus, type JobView, liveStatuses } from '../../protocol/job.ts';
import type { queueApi } from '../../protocol/queue-api.ts';
import type { QueueView } from '../../protocol/queue.ts';
import type { WorkerStatus, WorkerView } from '../../protocol/worker.ts';
import type { Battery } from '../../protocol/desktop-api.ts';
import type { Words } from './words/index.ts';

/** At this battery level (0 to 1), the computer may sleep even while jobs run. An empty battery would shut it down. */
const lowLevel = 0.2;

/** Returns true if the computer must not sleep automatically. A battery whose charge is unknown counts as full. */
export const staysAwake = (
  runningJobs: number,
  { isOnBattery, battery }: { readonly isOnBattery: boolean; readonly battery: Battery | null },
): boolean => {
  const isLow = battery !== null && !battery.charging && battery.level <= lowLevel;
  return runningJobs > 0 && !(isOnBattery && isLow);
};

/** Statistics that only the server can compute. */
export type AttentionStats = Pick<
  ValueOf<typeof queueApi.stats>,
  'unsatisfiable' | 'waiting_for_offline' | 'ended_24h'
>;

/** The parts of a fleet's state that the tray, the taskbar and the sleep blocker need. */
export interface Summary {
  readonly workers: ReadonlyMap<string, WorkerFacts>;
  /** Running jobs by id. */
  readonly live: ReadonlyMap<string, LiveJob>;
  /** The keys are the ids of jobs that need approval. */
  readonly approvals: ReadonlyMap<string, true>;
  /** Null until loaded, and when the token may not read the statistics. */
  readonly stats: AttentionStats | null;
  /** Null when the token may not read the queue. */
  readonly isPaused: boolean | null;
  /** True if the token may pause the queue. */
  readonly mayPause: boolean;
}

export interface WorkerFacts {
  readonly status: WorkerStatus;
  /** True for the worker of the orchestrator's own machine. */
  readonly isLocal: boolean;
  /** Number of problems that need attention, not counting an absence. */
  readonly needs: number;
  readonly absence: Absence | null;
}

export interface LiveJob {
  readonly id: string;
  readonly name: string;
  /** 0 to 100; null before the first progress report. */
  readonly percent: number | null;
  /** Id of the worker that runs the job. */
  readonly worker: string | null;
  /** True if the worker of the job does not respond. */
  readonly isSilent: boolean;
}

export const emptySummary: Summary = {
  workers: new Map(),
  live: new Map(),
  approvals: new Map(),
  stats: null,
  isPaused: null,
  mayPause: false,
};

export interface SummaryInput {
  readonly workers: readonly WorkerView[];
  readonly jobs: readonly JobView[];
  readonly queue: QueueView | null;
  readonly mayPause: boolean;
}

export const summaryOf = ({ workers, jobs, queue, mayPause }: SummaryInput): Summary => ({
  mayPause,
  stats: null,
  workers: new Map(workers.map(worker => [worker.id, workerFacts(worker)])),
  live: new Map(jobs.filter(({ status }) => isLive(status)).map(job => [job.id, liveJob(job)])),
  approvals: new Map(jobs.filter(waitsForApproval).map(({ id }) => [id, true])),
  isPaused: queue === null ? null : queue.paused !== null,
});

/** Applies an event to a summary. An event may be applied twice, because it contains the full state of its object. */
export function applyEvent(summary: Summary, event: UiEvent): Summary {
  switch (event.kind) {
    case 'worker':
      return { ...summary, workers: put(summary.workers, event.worker_id, factsOrNull(event.worker)) };
    case 'job': {
      const { job, worker } = event;
      const live = put(summary.live, event.job_id, job !== null && isLive(job.status) ? liveJob(job) : null);
      const waits = job !== null && waitsForApproval(job);
      const approvals = put(summary.approvals, event.job_id, waits || null);
      const workers =
        worker === undefined ? summary.workers : put(summary.workers, worker.id, workerFacts(worker));
      return { ...summary, live, approvals, workers };
    }
    case 'queue':
      return { ...summary, isPaused: event.queue.paused !== null };
    case 'pool':
    case 'template':
    case 'hidden':
    case 'reset':
      return summary;
  }
}

/** Returns the number of connected workers. */
export const connectedCount = ({ workers }: Summary): number =>
  [...workers.values()].filter(({ status }) => status !== 'offline' && status !== 'connecting').length;

/** Returns the number of entries under "Needs attention" on the overview, without available updates. */
export function attentionCount({ workers, live, approvals, stats }: Summary, now: number): number {
  const { unsatisfiable, waiting_for_offline: waiting, ended_24h: ended } = stats ?? noStats;
  // If jobs wait for an absent worker, count only the entry for the jobs, not the entry for the absence.
  const awaited = new Set(
    waiting.filter(each => each.worker_count === 1).map(each => String(each.worker_id)),
  );
  let count = approvals.size + unsatisfiable.length + waiting.length + (ended.failed > 0 ? 1 : 0);
  for (const { isSilent } of live.values()) count += isSilent ? 1 : 0;
  for (const [id, { needs, absence }] of workers) {
    const isAbsent = absence !== null && isRecentAbsence(now - Date.parse(absence.at)) && !awaited.has(id);
    count += needs + (isAbsent ? 1 : 0);
  }
  return count;
}

const noStats: AttentionStats = {
  unsatisfiable: [],
  waiting_for_offline: [],
  ended_24h: { completed: 0, failed: 0, cancelled: 0 },
};

/** Returns the job that runs on the orchestrator's own machine; null for none. */
export const localJob = ({ workers, live }: Summary): LiveJob | null =>
  [...live.values()].find(({ worker }) => worker !== null && workers.get(worker)?.isLocal === true) ?? null;

function put<T>(map: ReadonlyMap<string, T>, key: string, value: T | null): ReadonlyMap<string, T> {
  if (value === null && !map.has(key)) return map;
  const next = new Map(map);
  if (value === null) next.delete(key);
  else next.set(key, value);
  return next;
}

const isLive = (status: ShownStatus): boolean => liveStatuses.some(live => live === status);

const waitsForApproval = (job: JobView): boolean => jobNeed(job) === 'approval';

const workerFacts = (worker: WorkerView): WorkerFacts => ({
  status: worker.status,
  isLocal: worker.local,
  needs: workerNeeds(worker).length,
  absence: absenceOf(worker),
});

const factsOrNull = (worker: WorkerView | null): WorkerFacts | null =>
  worker === null ? null : workerFacts(worker);

function liveJob(job: JobView): LiveJob {
  const { id, config_name: name, progress, worker_id: worker } = job;
  const { percent: reported, step, total_steps: total } = progress ?? {};
  const share = reported ?? (step !== undefined && total ? (step / total) * 100 : null);
  const percent = share === null ? null : Math.max(0, Math.min(100, Math.floor(share)));
  return { id, name, percent, worker, isSilent: jobNeed(job) === 'silent' };
}

interface Question {
  readonly message: string;
  readonly detail: string;
}

/**
 * Returns the question to ask before the app quits; null when quitting affects no running jobs. With `isGuest`, another program
 * runs the orchestrator, so jobs are not affected.
 */
export function quitQuestion(
  fleet: { readonly isGuest: boolean; readonly summary: Summary | null } | null,
  words: Words,
): Question | null {
  const running = fleet === null || fleet.isGuest ? 0 : (fleet.summary?.live.size ?? 0);
  return running === 0 ? null : { message: words.quitQuestion(running), detail: words.quitDetail };
}
