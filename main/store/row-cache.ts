import type { JobId, WorkerId } from '../../protocol/ids.ts';
import type { Job, JobPayload, LiveJob, Tx, Worker } from '../orchestrator/ports.ts';
import { type JobStatements, textsOf } from './job-rows.ts';
import type { WorkerStatements } from './worker-rows.ts';

/** All but what is only read, and always from the database: whatever is added to them has to be thought of here. */
type JobRows = Omit<
  JobStatements,
  | 'jobs'
  | 'jobPlace'
  | 'countFound'
  | 'pendingJobs'
  | 'pendingAhead'
  | 'liveJobs'
  | 'starvingJobs'
  | 'attempts'
>;
type CachedJobRows = Omit<JobRows, 'insertJob'> & Pick<Tx, 'insertJob'>;
type WorkerRows = Omit<
  WorkerStatements,
  'workersAfter' | 'deletedWorkerName' | 'uploadGenerations' | 'startUploadGeneration'
>;
/** Runs something now, and once more if what follows is taken back. */
type Forget = (drop: () => void) => void;

/**
 * Answers from memory for as long as nothing has changed the row: this process alone writes to the database, and all writes
 * come by here. What is written is forgotten, or known from then on where it is written whole, and forgotten when that is taken
 * back; it is read anew when somebody asks.
 */
export function cacheRows(
  rows: JobRows & WorkerRows,
  afterRollback: Tx['afterRollback'],
): CachedJobRows & WorkerRows {
  const forget: Forget = drop => {
    drop();
    afterRollback(drop);
  };
  return { ...cacheJobs(rows, forget), ...cacheWorkers(rows, forget) };
}

/** Of the jobs that were asked for last: those that run, those that are given out, and those that are looked at. */
const mostJobs = 5_000;
/** Of those that came last, most of which are given out soon, and then are asked for: 4 MB of text at most. */
const mostPayloads = 256;
const longestPayload = 16_384;

function cacheJobs(rows: JobRows, forget: Forget): CachedJobRows {
  const jobs = createRowCache<JobId, Job>(mostJobs);
  /** Which one a worker runs. */
  const held = createRowCache<WorkerId, { readonly job: JobId | null }>();
  const payloads = createRowCache<JobId, JobPayload>(mostPayloads);
  /** Null when that is to be read. */
  let nextOrder: number | null = null;
  const job: JobRows['job'] = id => jobs.get(id, () => rows.job(id));
  const nextJobOrder = (): number => (nextOrder ??= rows.nextJobOrder());
  return {
    job,
    nextJobOrder,
    payload: id => payloads.peek(id) ?? rows.payload(id),
    liveJobOf(id) {
      const { job: jobId } = held.get(id, () => ({ job: rows.liveJobOf(id)?.id ?? null })) ?? { job: null };
      return jobId === null ? null : (job(jobId) as LiveJob);
    },
    insertJob(inserted, payload) {
      const behind = Math.max(nextJobOrder(), inserted.order + 1);
      const texts = textsOf(payload);
      rows.insertJob(inserted, texts);
      forget(() => {
        jobs.drop(inserted.id);
        payloads.drop(inserted.id);
        nextOrder = null;
      });
      jobs.put(inserted.id, inserted);
      const { config, dataloader, files } = texts;
      const length = config.length + dataloader.length + (files?.length ?? 0);
      if (length <= longestPayload) payloads.put(inserted.id, payload);
      nextOrder = behind;
    },
    replaceJob(was, next) {
      const isAsItWas = jobs.has(was.id, was);
      forget(() => {
        jobs.drop(next.id);
        for (const { attempt } of [was, next]) if (attempt !== null) held.drop(attempt.workerId);
      });
      if (!rows.replaceJob(was, next)) return false;
      // What has changed since `was` was read is not in `next`, and is not written.
      if (isAsItWas) jobs.put(next.id, next);
      // No worker has two, by an index of the table: one whose job has ended has none.
      if (next.attempt !== null && (was.attempt?.id !== next.attempt.id || was.attempt.end === null))
        held.put(next.attempt.workerId, { job: next.attempt.end === null ? next.id : null });
      return true;
    },
    setProgress(id, progress) {
      rows.setProgress(id, progress);
      forget(() => jobs.drop(id));
    },
    setLateResult(attempt, late) {
      rows.setLateResult(attempt, late);
      forget(jobs.clear);
    },
    removeJob(id) {
      rows.removeJob(id);
      forget(() => {
        jobs.drop(id);
        payloads.drop(id);
        held.clear();
        nextOrder = null;
      });
    },
  };
}

function cacheWorkers(rows: WorkerRows, forget: Forget): WorkerRows {
  const workers = createRowCache<WorkerId, Worker>();
  const byHash = createRowCache<string, WorkerId>();
  /** Known to have no older token. */
  const withOneToken = new Set<WorkerId>();
  /** In their order; null when that is to be read. */
  let everyone: readonly WorkerId[] | null = null;
  const forgetOrder = (): void =>
    forget(() => {
      everyone = null;
    });
  const forgetWithToken = (id: WorkerId): void =>
    forget(() => {
      workers.drop(id);
      byHash.clear();
      withOneToken.delete(id);
    });
  const worker: WorkerRows['worker'] = id => workers.get(id, () => rows.worker(id));
  return {
    worker,
    workers() {
      if (everyone !== null) return everyone.flatMap(id => worker(id) ?? []);
      const all = rows.workers();
      for (const each of all) workers.put(each.id, each);
      everyone = all.map(({ id }) => id);
      return all;
    },
    workerByTokenHash(hash) {
      const id = byHash.get(hash, () => rows.workerByTokenHash(hash)?.id ?? null);
      return id === null ? null : worker(id);
    },
    insertWorker(inserted, hash) {
      rows.insertWorker(inserted, hash);
      forgetOrder();
      forgetWithToken(inserted.id);
    },
    updateWorker(updated) {
      const known = worker(updated.id);
      // Most ends of jobs say nothing new of a worker.
      if (known === null || isSame(known, updated)) return;
      rows.updateWorker(updated);
      forget(() => workers.drop(updated.id));
    },
    setTokenHash(id, hash, keepOld) {
      rows.setTokenHash(id, hash, keepOld);
      forgetWithToken(id);
    },
    dropOldToken(id) {
      // Asked whenever a job ends, and hardly ever there.
      if (withOneToken.has(id)) return false;
      const wasThere = rows.dropOldToken(id);
      if (wasThere) forgetWithToken(id);
      withOneToken.add(id);
      return wasThere;
    },
    removeWorker(id) {
      rows.removeWorker(id);
      forgetOrder();
      forgetWithToken(id);
    },
  };
}

const isSame = (known: Worker, updated: Worker): boolean =>
  (Object.keys(updated) as (keyof Worker)[]).every(
    key => known[key] === updated[key] || JSON.stringify(known[key]) === JSON.stringify(updated[key]),
  );

interface RowCache<K, V> {
  /** What is not there is not kept: it may come. */
  get(key: K, read: () => V | null): V | null;
  /** Null when it is not kept. */
  peek(key: K): V | null;
  put(key: K, value: V): void;
  /** Whether it is kept, and is this very one. */
  has(key: K, value: V): boolean;
  readonly drop: (key: K) => void;
  readonly clear: () => void;
}

/**
 * Of two generations: when the younger one has half of `most`, the older one goes. To look for the one that has been there for longest
 * would take longer than to read a row: a map is walked through with all the places that are empty by now.
 */
function createRowCache<K, V>(most = Number.POSITIVE_INFINITY): RowCache<K, V> {
  let young = new Map<K, V>();
  let old = new Map<K, V>();
  const known = (key: K): V | undefined => young.get(key) ?? old.get(key);
  const put = (key: K, value: V): void => {
    if (young.size >= most / 2) {
      old = young;
      young = new Map();
    }
    young.set(key, value);
  };
  return {
    put,
    peek: key => known(key) ?? null,
    get(key, read) {
      const found = known(key);
      if (found !== undefined) return found;
      const value = read();
      if (value !== null) put(key, value);
      return value;
    },
    has: (key, value) => known(key) === value,
    drop(key) {
      young.delete(key);
      old.delete(key);
    },
    clear() {
      young.clear();
      old.clear();
    },
  };
}
