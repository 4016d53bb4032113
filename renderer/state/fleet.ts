import { isJobUpdate, type UiEvent } from '../../protocol/events.ts';
import type { JobId, PoolId, WorkerId } from '../../protocol/ids.ts';
import type { JobView } from '../../protocol/job.ts';
import type { QueueView } from '../../protocol/queue.ts';
import type { WorkerView } from '../../protocol/worker.ts';
import { type Keyed, keyed } from './keyed.ts';

/** The fleet as the server reported it, without guesses or optimistic updates. */
export interface Fleet {
  readonly workers: Keyed<WorkerId, WorkerView>;
  readonly jobs: Keyed<JobId, JobView>;
  readonly queue: QueueView | null;
  /** The last event of each pool, since the last full read. Pages with pools read those again. */
  readonly poolSeqs: ReadonlyMap<PoolId, number>;
  /** True when `jobs` contains every ended job; otherwise only the newest ones. */
  readonly hasAllEnded: boolean;
  /** Recent events, newest first. */
  readonly recent: readonly UiEvent[];
  /** The last event that is included; -1 before the first snapshot. */
  readonly seq: number;
}

export interface Snapshot {
  readonly workers: readonly WorkerView[];
  readonly jobs: readonly JobView[];
  readonly queue: QueueView;
  readonly hasAllEnded: boolean;
  readonly seq: number;
}

export const emptyFleet: Fleet = {
  workers: keyed(),
  jobs: keyed(),
  queue: null,
  poolSeqs: new Map(),
  hasAllEnded: false,
  recent: [],
  seq: -1,
};

const maxRecent = 50;

export const fromSnapshot = (snapshot: Snapshot, recent: readonly UiEvent[]): Fleet => ({
  workers: keyed(snapshot.workers.map(worker => [worker.id, worker] as const)),
  jobs: keyed(snapshot.jobs.map(job => [job.id, job] as const)),
  queue: snapshot.queue,
  poolSeqs: new Map(),
  hasAllEnded: snapshot.hasAllEnded,
  recent,
  seq: snapshot.seq,
});

/** A page of jobs, read after event `seq`. */
export interface JobsRead {
  readonly jobs: readonly JobView[];
  readonly seq: number;
}

/** Adds a page that was read while events arrived. `lastSeqs` has the number of the last event per job that the fleet already includes. */
export function joined(fleet: Fleet, page: JobsRead, lastSeqs: ReadonlyMap<JobId, number>): Fleet {
  const isNewer = ({ id }: JobView): boolean => (lastSeqs.get(id) ?? -1) <= page.seq;
  const newer = page.jobs.filter(isNewer).map(job => [job.id, job] as const);
  return { ...fleet, jobs: fleet.jobs.with(new Map(newer)) };
}

/** The fleet after a batch of events; `missed` is true when earlier events are missing. */
export interface Advance {
  readonly fleet: Fleet;
  readonly missed: boolean;
}

/** Applies events, which arrive in order, some possibly twice. One batch changes the fleet once. */
export function advance(fleet: Fleet, events: readonly UiEvent[]): Advance {
  const workers = new Map<WorkerId, WorkerView | null>();
  const jobs = new Map<JobId, JobView | null>();
  const pools = new Map<PoolId, number>();
  let { queue, seq } = fleet;
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
    recent,
    seq,
  };
  return { fleet: next, missed: false };
}

/** Whether the event is listed as activity. Updates in between are frequent. */
const isShown = (event: UiEvent): boolean =>
  event.kind !== 'hidden' &&
  !(event.kind === 'job' && isJobUpdate(event.type)) &&
  !(event.kind === 'pool' && event.type === 'launch.updated');

/** A list of workers, read after event `seq`. */
export interface WorkersRead {
  readonly workers: readonly WorkerView[];
  readonly seq: number;
}

/**
 * Merges a list of workers, because heartbeats cause no events. For workers with newer events, it takes only the load and the last contact.
 * Events alone add and remove workers.
 */
export function refreshed(fleet: Fleet, read: WorkersRead): Fleet {
  const since = fleet.recent.filter(event => event.seq > read.seq);
  // There are more events than `recent` holds, so any worker may have changed.
  const isFlooded = since.length === maxRecent;
  const touched = new Set(since.map(reportedWorker));
  const changed = new Map<WorkerId, WorkerView>();
  for (const view of read.workers) {
    const known = fleet.workers.get(view.id);
    if (known === undefined) continue;
    const next = isFlooded || touched.has(view.id) ? { ...known, ...heartbeatFields(view) } : view;
    if (!isSame(next, known)) changed.set(view.id, next);
  }
  return changed.size === 0 ? fleet : { ...fleet, workers: fleet.workers.with(changed) };
}

/** The worker whose current state the event carries. */
function reportedWorker(event: UiEvent): WorkerId | null {
  if (event.kind === 'worker') return event.worker_id;
  return event.kind === 'job' ? (event.worker?.id ?? null) : null;
}

/** Merges a list when there are no events, so the list also adds and removes workers. */
export function listed(fleet: Fleet, { workers, seq }: WorkersRead): Fleet {
  const gone = [...fleet.workers.keys()].map(id => [id, null] as const);
  const changed = new Map<WorkerId, WorkerView | null>(gone);
  for (const view of workers) {
    if (isSame(view, fleet.workers.get(view.id))) changed.delete(view.id);
    else changed.set(view.id, view);
  }
  return { ...fleet, workers: fleet.workers.with(changed), seq };
}

/** Compares two JSON values. Comparing serialized text would block scrolling with thousands of workers. */
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
