import { isJobUpdate, type UiEvent } from '../../protocol/events.ts';
import type { JobId, PoolId, WorkerId } from '../../protocol/ids.ts';
import type { JobView } from '../../protocol/job.ts';
import type { QueueView } from '../../protocol/queue.ts';
import type { WorkerView } from '../../protocol/worker.ts';
import { type Keyed, keyed } from './keyed.ts';

/** The fleet as the server reported it, without optimistic updates. */
export interface Fleet {
  readonly workers: Keyed<WorkerId, WorkerView>;
  readonly jobs: Keyed<JobId, JobView>;
  readonly queue: QueueView | null;
  /**
   * Number of the last event of each pool since the last full read. A page that shows pools reads a pool again when its
   * number changes.
   */
  readonly poolSeqs: ReadonlyMap<PoolId, number>;
  /** Number of the last event of a job template since the last full read; 0 before the first. */
  readonly templateSeq: number;
  /** True when `jobs` contains all ended jobs; false when it contains only the newest ones. */
  readonly hasAllEndedJobs: boolean;
  /** Events for the list of recent activity, newest first. */
  readonly recent: readonly UiEvent[];
  /** Number of the last event that the fleet includes; -1 before the first snapshot. */
  readonly seq: number;
}

/** The lists of a full read. They include all events up to `seq`. */
export interface Snapshot {
  readonly workers: readonly WorkerView[];
  readonly jobs: readonly JobView[];
  readonly queue: QueueView;
  readonly hasAllEndedJobs: boolean;
  readonly seq: number;
}

export const emptyFleet: Fleet = {
  workers: keyed(),
  jobs: keyed(),
  queue: null,
  poolSeqs: new Map(),
  templateSeq: 0,
  hasAllEndedJobs: false,
  recent: [],
  seq: -1,
};

const maxRecent = 50;

export const fromSnapshot = (snapshot: Snapshot, recent: readonly UiEvent[]): Fleet => ({
  workers: keyed(snapshot.workers.map(worker => [worker.id, worker] as const)),
  jobs: keyed(snapshot.jobs.map(job => [job.id, job] as const)),
  queue: snapshot.queue,
  poolSeqs: new Map(),
  templateSeq: 0,
  hasAllEndedJobs: snapshot.hasAllEndedJobs,
  recent,
  seq: snapshot.seq,
});

/** A page of jobs that includes all events up to `seq`. */
export interface JobsRead {
  readonly jobs: readonly JobView[];
  readonly seq: number;
}

/**
 * Adds a page of jobs, except jobs with events newer than the page. `lastSeqs` contains the number of the last event of
 * each job that the fleet already includes.
 */
export function withJobsPage(fleet: Fleet, page: JobsRead, lastSeqs: ReadonlyMap<JobId, number>): Fleet {
  const isNewer = ({ id }: JobView): boolean => (lastSeqs.get(id) ?? -1) <= page.seq;
  const newer = page.jobs.filter(isNewer).map(job => [job.id, job] as const);
  return { ...fleet, jobs: fleet.jobs.with(new Map(newer)) };
}

/** The result of a batch of events. `missed` is true when earlier events are missing; `fleet` is then unchanged. */
export interface Advance {
  readonly fleet: Fleet;
  readonly missed: boolean;
}

/** Applies a batch of events in one change. Events arrive in order, but some may arrive twice. */
export function advance(fleet: Fleet, events: readonly UiEvent[]): Advance {
  const workers = new Map<WorkerId, WorkerView | null>();
  const jobs = new Map<JobId, JobView | null>();
  const pools = new Map<PoolId, number>();
  let { queue, seq, templateSeq } = fleet;
  const shown: UiEvent[] = [];
  for (const event of events) {
    if (event.kind === 'reset') return { fleet, missed: true };
    if (event.seq <= seq) continue;
    if (event.seq > seq + 1) return { fleet, missed: true };
    seq = event.seq;
    if (event.kind === 'queue') queue = event.queue;
    else if (event.kind === 'worker') workers.set(event.worker_id, event.worker);
    else if (event.kind === 'job') jobs.set(event.job_id, event.job);
    else if (event.kind === 'pool') pools.set(event.pool_id, seq);
    else if (event.kind === 'template') templateSeq = seq;
    if (event.kind === 'job' && event.worker !== undefined) workers.set(event.worker.id, event.worker);
    if (isShown(event)) shown.push(event);
  }
  if (seq === fleet.seq) return { fleet, missed: false };
  const recent =
    shown.length === 0
      ? fleet.recent
      : [...shown.slice(-maxRecent).toReversed(), ...fleet.recent].slice(0, maxRecent);
  const next = {
    ...fleet,
    workers: fleet.workers.with(workers),
    jobs: fleet.jobs.with(jobs),
    queue,
    poolSeqs: pools.size === 0 ? fleet.poolSeqs : new Map([...fleet.poolSeqs, ...pools]),
    templateSeq,
    recent,
    seq,
  };
  return { fleet: next, missed: false };
}

/**
 * Returns true for events that belong in the list of recent activity. Updates of running jobs are too frequent for this list.
 */
const isShown = (event: UiEvent): boolean =>
  event.kind !== 'hidden' &&
  !(event.kind === 'job' && isJobUpdate(event.type)) &&
  !(event.kind === 'pool' && event.type === 'launch.updated');

/** A list of workers that includes all events up to `seq`. */
export interface WorkersRead {
  readonly workers: readonly WorkerView[];
  readonly seq: number;
}

/**
 * Merges a list of workers into the fleet, because heartbeats cause no events. If a worker has events newer than the
 * list, takes only the load and the last contact from the list. Only events add and remove workers.
 */
export function withRefreshedWorkers(fleet: Fleet, read: WorkersRead): Fleet {
  const since = fleet.recent.filter(event => event.seq > read.seq);
  // `recent` is full, so it may not contain all events since the list. Treat every worker as changed.
  const isFlooded = since.length === maxRecent;
  const touched = new Set(since.map(reportedWorker));
  const changed = new Map<WorkerId, WorkerView>();
  for (const view of read.workers) {
    const shown = fleet.workers.get(view.id);
    if (shown === undefined) continue;
    const next = isFlooded || touched.has(view.id) ? { ...shown, ...heartbeatFields(view) } : view;
    if (!isSame(next, shown)) changed.set(view.id, next);
  }
  return changed.size === 0 ? fleet : { ...fleet, workers: fleet.workers.with(changed) };
}

/** Returns the worker whose current state is part of the event; null when there is none. */
function reportedWorker(event: UiEvent): WorkerId | null {
  if (event.kind === 'worker') return event.worker_id;
  return event.kind === 'job' ? (event.worker?.id ?? null) : null;
}

/** Replaces all workers with those in the list. For users who receive no events, only the list adds and removes workers. */
export function withListedWorkers(fleet: Fleet, { workers, seq }: WorkersRead): Fleet {
  const removals = [...fleet.workers.keys()].map(id => [id, null] as const);
  const changed = new Map<WorkerId, WorkerView | null>(removals);
  for (const view of workers) {
    if (isSame(view, fleet.workers.get(view.id))) changed.delete(view.id);
    else changed.set(view.id, view);
  }
  return { ...fleet, workers: fleet.workers.with(changed), seq };
}

/** Compares two JSON values. Comparing them as text would block scrolling when there are thousands of workers. */
function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length &&
    names.every(name => Object.hasOwn(b, name) && isSame(Reflect.get(a, name), Reflect.get(b, name)))
  );
}

const heartbeatFields = (view: WorkerView) => ({
  last_heartbeat: view.last_heartbeat,
  last_contact_age_s: view.last_contact_age_s,
  gpu_utilization: view.gpu_utilization,
  vram_used_gb: view.vram_used_gb,
});
