import { isJobUpdate, type UiEvent } from '../../protocol/events.ts';
import type { JobId, WorkerId } from '../../protocol/ids.ts';
import type { JobView } from '../../protocol/job.ts';
import type { QueueView } from '../../protocol/queue.ts';
import type { WorkerView } from '../../protocol/worker.ts';
import { type Keyed, keyed } from './keyed.ts';

/** What the server has said of the fleet: nothing in it is guessed or hoped for. */
export interface Fleet {
  readonly workers: Keyed<WorkerId, WorkerView>;
  readonly jobs: Keyed<JobId, JobView>;
  readonly queue: QueueView | null;
  /** Whether every job that has ended is among the jobs; else only the newest are. */
  readonly hasAllEnded: boolean;
  /** The newest things that happened, the last one first. */
  readonly recent: readonly UiEvent[];
  /** Up to which event this is current; -1 before the first snapshot. */
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
  hasAllEnded: false,
  recent: [],
  seq: -1,
};

const mostRecent = 50;

export const fromSnapshot = (snapshot: Snapshot, recent: readonly UiEvent[]): Fleet => ({
  workers: keyed(snapshot.workers.map(worker => [worker.id, worker] as const)),
  jobs: keyed(snapshot.jobs.map(job => [job.id, job] as const)),
  queue: snapshot.queue,
  hasAllEnded: snapshot.hasAllEnded,
  recent,
  seq: snapshot.seq,
});

/** Jobs as a page of a list gives them that was read after event `seq`. */
export interface JobsRead {
  readonly jobs: readonly JobView[];
  readonly seq: number;
}

/** With a page that was read while events came; `told` are the numbers of the last ones, of those that are in the fleet. */
export function joined(fleet: Fleet, page: JobsRead, told: ReadonlyMap<JobId, number>): Fleet {
  const isNews = ({ id }: JobView): boolean => (told.get(id) ?? -1) <= page.seq;
  const news = page.jobs.filter(isNews).map(job => [job.id, job] as const);
  return { ...fleet, jobs: fleet.jobs.with(new Map(news)) };
}

/** What a batch of events makes of the fleet; `missed` when some that lie before them never came. */
export interface Advance {
  readonly fleet: Fleet;
  readonly missed: boolean;
}

/** Events come in the order of their numbers, some perhaps twice. All of a batch change the fleet at once. */
export function advance(fleet: Fleet, events: readonly UiEvent[]): Advance {
  const workers = new Map<WorkerId, WorkerView | null>();
  const jobs = new Map<JobId, JobView | null>();
  let { queue, seq } = fleet;
  const told: UiEvent[] = [];
  for (const event of events) {
    if (event.kind === 'reset') return { fleet, missed: true };
    if (event.seq <= seq) continue;
    if (event.seq > seq + 1) return { fleet, missed: true };
    seq = event.seq;
    if (event.kind === 'queue') queue = event.queue;
    else if (event.kind === 'worker') workers.set(event.worker_id, event.worker);
    else if (event.kind === 'job') jobs.set(event.job_id, event.job);
    if (event.kind === 'job' && event.worker !== undefined) workers.set(event.worker.id, event.worker);
    if (event.kind !== 'hidden' && (event.kind !== 'job' || !isJobUpdate(event.type))) told.push(event);
  }
  if (seq === fleet.seq) return { fleet, missed: false };
  const recent =
    told.length === 0
      ? fleet.recent
      : [...told.slice(-mostRecent).toReversed(), ...fleet.recent].slice(0, mostRecent);
  const next = {
    ...fleet,
    workers: fleet.workers.with(workers),
    jobs: fleet.jobs.with(jobs),
    queue,
    recent,
    seq,
  };
  return { fleet: next, missed: false };
}

/** Workers as a list gives them that was read after event `seq`. */
export interface WorkersRead {
  readonly workers: readonly WorkerView[];
  readonly seq: number;
}

/**
 * Beats are no events: a list that is read again brings them. Of a worker that an event has told of since, the load and the
 * contact alone are taken. Who comes or goes is left to events.
 */
export function refreshed(fleet: Fleet, read: WorkersRead): Fleet {
  const since = fleet.recent.filter(event => event.seq > read.seq);
  // So much has happened meanwhile that it is not known to whom.
  const isFlooded = since.length === mostRecent;
  const touched = new Set(since.map(toldOf));
  const changed = new Map<WorkerId, WorkerView>();
  for (const view of read.workers) {
    const known = fleet.workers.get(view.id);
    if (known === undefined) continue;
    const next = isFlooded || touched.has(view.id) ? { ...known, ...lastSaid(view) } : view;
    if (!isSame(next, known)) changed.set(view.id, next);
  }
  return changed.size === 0 ? fleet : { ...fleet, workers: fleet.workers.with(changed) };
}

/** The worker that an event shows as it is since then. */
function toldOf(event: UiEvent): WorkerId | null {
  if (event.kind === 'worker') return event.worker_id;
  return event.kind === 'job' ? (event.worker?.id ?? null) : null;
}

/** Where no events come, the list says who comes and goes, too. */
export function listed(fleet: Fleet, { workers, seq }: WorkersRead): Fleet {
  const gone = [...fleet.workers.keys()].map(id => [id, null] as const);
  const changed = new Map<WorkerId, WorkerView | null>(gone);
  for (const view of workers) {
    if (isSame(view, fleet.workers.get(view.id))) changed.delete(view.id);
    else changed.set(view.id, view);
  }
  return { ...fleet, workers: fleet.workers.with(changed), seq };
}

/** Of two things that came as JSON. Written out, thousands of them would hold up whoever scrolls. */
function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length &&
    names.every(name => Object.hasOwn(b, name) && isSame(Reflect.get(a, name), Reflect.get(b, name)))
  );
}

const lastSaid = (view: WorkerView) => ({
  last_heartbeat: view.last_heartbeat,
  last_contact_age_s: view.last_contact_age_s,
  gpu_utilization: view.gpu_utilization,
  vram_used_gb: view.vram_used_gb,
});
