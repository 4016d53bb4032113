import type { UiEvent } from '../../protocol/events.ts';
import { type ShownStatus, type JobView, liveStatuses } from '../../protocol/job.ts';
import type { QueueView } from '../../protocol/queue.ts';
import type { WorkerStatus, WorkerView } from '../../protocol/worker.ts';
import type { Battery } from '../../protocol/desktop-api.ts';
import type { Words } from './words/index.ts';

/** Low battery level, from 0 to 1. The computer may then sleep even while jobs run, because an empty battery would shut it down. */
const lowLevel = 0.2;

/** Returns true if the computer must not sleep automatically. A battery whose charge is unknown counts as full. */
export const staysAwake = (
  runningJobs: number,
  { isOnBattery, battery }: { readonly isOnBattery: boolean; readonly battery: Battery | null },
): boolean => {
  const isLow = battery !== null && !battery.charging && battery.level <= lowLevel;
  return runningJobs > 0 && !(isOnBattery && isLow);
};

/** The state of a fleet, as far as the tray, the notifications and the sleep blocker need it. */
export interface Summary {
  readonly workers: ReadonlyMap<string, WorkerStatus>;
  /** Running jobs by id. */
  readonly live: ReadonlyMap<string, LiveJob>;
  /** Null when the token may not read the queue. */
  readonly isPaused: boolean | null;
  /** True if the token may pause the queue. */
  readonly mayPause: boolean;
}

export interface LiveJob {
  readonly id: string;
  readonly name: string;
  /** 0 to 100; null before the first progress report. */
  readonly percent: number | null;
}

export const emptySummary: Summary = { workers: new Map(), live: new Map(), isPaused: null, mayPause: false };

export interface SummaryInput {
  readonly workers: readonly WorkerView[];
  readonly jobs: readonly JobView[];
  readonly queue: QueueView | null;
  readonly mayPause: boolean;
}

export const summaryOf = ({ workers, jobs, queue, mayPause }: SummaryInput): Summary => ({
  mayPause,
  workers: new Map(workers.map(({ id, status }) => [id, status])),
  live: new Map(jobs.filter(({ status }) => isLive(status)).map(job => [job.id, liveJob(job)])),
  isPaused: queue === null ? null : queue.paused !== null,
});

/** Applies an event to a summary. An event may be applied twice, because it contains the full state of its object. */
export function applyEvent(summary: Summary, event: UiEvent): Summary {
  switch (event.kind) {
    case 'worker':
      return { ...summary, workers: put(summary.workers, event.worker_id, event.worker?.status ?? null) };
    case 'job': {
      const { job, worker } = event;
      const live = put(summary.live, event.job_id, job !== null && isLive(job.status) ? liveJob(job) : null);
      const workers = worker === undefined ? summary.workers : put(summary.workers, worker.id, worker.status);
      return { ...summary, live, workers };
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

/** Number of connected workers. */
export const connectedCount = ({ workers }: Summary): number =>
  [...workers.values()].filter(status => status !== 'offline' && status !== 'connecting').length;

function put<T>(map: ReadonlyMap<string, T>, key: string, value: T | null): ReadonlyMap<string, T> {
  if (value === null && !map.has(key)) return map;
  const next = new Map(map);
  if (value === null) next.delete(key);
  else next.set(key, value);
  return next;
}

const isLive = (status: ShownStatus): boolean => liveStatuses.some(live => live === status);

function liveJob({ id, config_name: name, progress }: JobView): LiveJob {
  const { percent, step, total_steps: total } = progress ?? {};
  const share = percent ?? (step !== undefined && total ? (step / total) * 100 : null);
  return { id, name, percent: share === null ? null : Math.max(0, Math.min(100, Math.floor(share))) };
}

interface Question {
  readonly message: string;
  readonly detail: string;
}

/**
 * Returns the question to ask before the app quits; null when no jobs run on the app's own fleet. `isGuest`: the app shows the
 * fleet of another server.
 */
export function quitQuestion(
  fleet: { readonly isGuest: boolean; readonly summary: Summary | null } | null,
  words: Words,
): Question | null {
  const running = fleet === null || fleet.isGuest ? 0 : (fleet.summary?.live.size ?? 0);
  return running === 0 ? null : { message: words.quitQuestion(running), detail: words.quitDetail };
}
