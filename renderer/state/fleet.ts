import type { UiEvent } from '../../protocol/events.ts';
import type { JobId, WorkerId } from '../../protocol/ids.ts';
import type { JobView } from '../../protocol/job.ts';
import type { QueueView } from '../../protocol/queue.ts';
import type { WorkerView } from '../../protocol/worker.ts';

/** What the server has said of the fleet: nothing in it is guessed or hoped for. */
export interface Fleet {
  readonly workers: ReadonlyMap<WorkerId, WorkerView>;
  readonly jobs: ReadonlyMap<JobId, JobView>;
  readonly queue: QueueView | null;
  /** The newest things that happened, the last one first. */
  readonly recent: readonly UiEvent[];
  /** Up to which event this is current; -1 before the first snapshot. */
  readonly seq: number;
}

export interface Snapshot {
  readonly workers: readonly WorkerView[];
  readonly jobs: readonly JobView[];
  readonly queue: QueueView;
  readonly seq: number;
}

export const emptyFleet: Fleet = { workers: new Map(), jobs: new Map(), queue: null, recent: [], seq: -1 };

const mostRecent = 50;

export const fromSnapshot = (snapshot: Snapshot, recent: readonly UiEvent[]): Fleet => ({
  workers: new Map(snapshot.workers.map(worker => [worker.id, worker])),
  jobs: new Map(snapshot.jobs.map(job => [job.id, job])),
  queue: snapshot.queue,
  recent,
  seq: snapshot.seq,
});

/** What a batch of events makes of the fleet; `missed` when some that lie before them never came. */
export interface Advance {
  readonly fleet: Fleet;
  readonly missed: boolean;
}

/** Events come in the order of their numbers, some perhaps twice. All of a batch change the fleet at once. */
export function advance(fleet: Fleet, events: readonly UiEvent[]): Advance {
  const workers = new Map(fleet.workers);
  const jobs = new Map(fleet.jobs);
  let { queue, seq } = fleet;
  const told: UiEvent[] = [];
  for (const event of events) {
    if (event.kind === 'reset') return { fleet, missed: true };
    if (event.seq <= seq) continue;
    if (event.seq > seq + 1) return { fleet, missed: true };
    seq = event.seq;
    if (event.kind === 'worker') put(workers, event.worker_id, event.worker);
    else if (event.kind === 'job') put(jobs, event.job_id, event.job);
    else queue = event.queue;
    if (event.kind !== 'job' || event.type !== 'job.progress') told.unshift(event);
  }
  if (seq === fleet.seq) return { fleet, missed: false };
  const recent = told.length === 0 ? fleet.recent : [...told, ...fleet.recent].slice(0, mostRecent);
  return { fleet: { workers, jobs, queue, recent, seq }, missed: false };
}

/** Workers as a list gives them that was read after event `seq`. */
export interface WorkersRead {
  readonly workers: readonly WorkerView[];
  readonly seq: number;
}

/**
 * Beats are no events, and neither is a worker that turns busy with its job: a list that is read again brings them. Of a
 * worker that an event has told of since, the load and the contact alone are taken. Who comes or goes is left to events.
 */
export function refreshed(fleet: Fleet, read: WorkersRead): Fleet {
  const since = fleet.recent.filter(event => event.seq > read.seq);
  // So much has happened meanwhile that it is not known to whom.
  const isFlooded = since.length === mostRecent;
  const touched = new Set(since.map(event => (event.kind === 'worker' ? event.worker_id : null)));
  const workers = new Map(fleet.workers);
  let hasChanged = false;
  for (const view of read.workers) {
    const known = workers.get(view.id);
    if (known === undefined) continue;
    const next = isFlooded || touched.has(view.id) ? { ...known, ...lastSaid(view) } : view;
    if (isSame(next, known)) continue;
    workers.set(view.id, next);
    hasChanged = true;
  }
  return hasChanged ? { ...fleet, workers } : fleet;
}

/** The age of a contact is hardly ever the same: all else is looked at only then. */
const isSame = (a: WorkerView, b: WorkerView): boolean =>
  a.last_contact_age_s === b.last_contact_age_s && JSON.stringify(a) === JSON.stringify(b);

const lastSaid = (view: WorkerView) => ({
  last_heartbeat: view.last_heartbeat,
  last_contact_age_s: view.last_contact_age_s,
  gpu_utilization: view.gpu_utilization,
  vram_used_gb: view.vram_used_gb,
});

/** Null when it is gone. */
function put<K, V>(things: Map<K, V>, id: K, thing: V | null): void {
  if (thing === null) things.delete(id);
  else things.set(id, thing);
}
