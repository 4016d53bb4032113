import type { JobId, WorkerId } from '../../../protocol/ids.ts';
import type { DependencyReads, Job, LiveJob, Tx, Worker } from '../../orchestrator/ports/index.ts';
import type { JobStatements } from './job-rows.ts';
import type { WorkerStatements } from './worker-rows.ts';

/**
 * The calls to cache. Calls that always go to the database are excluded. For each new call, decide whether to exclude it here.
 */
type JobRows = Omit<
  JobStatements,
  | 'jobs'
  | 'payload'
  | 'configOf'
  | 'notesOf'
  | 'setNotes'
  | 'jobPosition'
  | 'countFound'
  | 'pendingJobs'
  | 'pendingAhead'
  | 'neighbours'
  | 'liveJobs'
  | 'starvingJobs'
  | 'attempts'
  | 'newestRetry'
  | 'hasCompleted'
  | 'completedIn'
> &
  Pick<DependencyReads, 'openChildren'>;
type WorkerRows = Omit<
  WorkerStatements,
  'workersAfter' | 'deletedWorkerName' | 'uploadGenerations' | 'startUploadGeneration'
>;
/** Runs `drop` now, and again if the current command is rolled back. */
type Forget = (drop: () => void) => void;

/**
 * Caches the rows of jobs and workers. This is safe because this process is the only writer, and all writes use this cache. A
 * write invalidates the cached row, or replaces it when the whole row is known. A rollback invalidates the row again.
 */
export function cacheRows(
  rows: JobRows & WorkerRows & Pick<DependencyReads, 'openRoots'>,
  afterRollback: Tx['afterRollback'],
): JobRows & WorkerRows {
  const forget: Forget = drop => {
    drop();
    afterRollback(drop);
  };
  return { ...cacheJobs(rows, forget), ...cacheWorkers(rows, forget) };
}

/**
 * Maximum number of cached jobs. Jobs that are running, being dispatched, or shown in a panel are used often and stay cached.
 */
const maxJobs = 5_000;

function cacheJobs(rows: JobRows & Pick<DependencyReads, 'openRoots'>, forget: Forget): JobRows {
  const jobs = createRowCache<JobId, Job>(maxJobs);
  /** The live job of each worker. */
  const liveJobs = createRowCache<WorkerId, { readonly job: JobId | null }>();
  /** The next job order; null when it must be read. */
  let nextOrder: number | null = null;
  const awaited = createAwaitedRoots(rows.openRoots, forget);
  const job: JobRows['job'] = id => jobs.get(id, () => rows.job(id));
  const nextJobOrder = (): number => (nextOrder ??= rows.nextJobOrder());
  return {
    job,
    nextJobOrder,
    liveJobOf(id) {
      const { job: jobId } = liveJobs.get(id, () => ({ job: rows.liveJobOf(id)?.id ?? null })) ?? {
        job: null,
      };
      return jobId === null ? null : (job(jobId) as LiveJob);
    },
    insertJob(inserted, payload) {
      const followingOrder = Math.max(nextJobOrder(), inserted.order + 1);
      rows.insertJob(inserted, payload);
      for (const { root } of inserted.dependencies?.parents ?? []) awaited.add(root);
      forget(() => {
        jobs.drop(inserted.id);
        nextOrder = null;
      });
      jobs.put(inserted.id, inserted);
      nextOrder = followingOrder;
    },
    replaceJob(was, next) {
      const isCurrent = jobs.has(was.id, was);
      forget(() => {
        jobs.drop(next.id);
        for (const { attempt } of [was, next]) if (attempt !== null) liveJobs.drop(attempt.workerId);
      });
      if (!rows.replaceJob(was, next)) return false;
      // `next` lacks changes that were made after `was` was read, so it must not be cached.
      if (isCurrent) jobs.put(next.id, next);
      // A unique index ensures that a worker has at most one live job, so a worker whose job has ended has none.
      if (next.attempt !== null && (was.attempt?.id !== next.attempt.id || was.attempt.end === null))
        liveJobs.put(next.attempt.workerId, { job: next.attempt.end === null ? next.id : null });
      return true;
    },
    openChildren: (which, limit) => (awaited.has(which.root) ? rows.openChildren(which, limit) : []),
    setProgress(id, progress) {
      rows.setProgress(id, progress);
      forget(() => jobs.drop(id));
    },
    setLateResult(attempt, late) {
      rows.setLateResult(attempt, late);
      forget(jobs.clear);
    },
    setLinks(attempt, links) {
      rows.setLinks(attempt, links);
      forget(jobs.clear);
    },
    removeJob(id) {
      rows.removeJob(id);
      forget(() => {
        jobs.drop(id);
        liveJobs.clear();
        nextOrder = null;
      });
    },
  };
}

/** The roots are read again when there are more than twice as many as before, plus this number. Unneeded roots then disappear. */
const spareRoots = 1_000;

/**
 * Caches the roots of the chains of retries that jobs wait for. May also contain roots that no job waits for any more. Avoids a
 * query for each event of a job, because jobs rarely wait for other jobs.
 */
function createAwaitedRoots(read: () => readonly JobId[], forget: Forget) {
  let roots: Set<JobId> | null = null;
  let max = 0;
  const awaitedRoots = (): Set<JobId> => {
    if (roots !== null) return roots;
    // A rollback may reopen a link that is closed now.
    forget(() => {
      roots = null;
    });
    const awaited = new Set(read());
    max = 2 * awaited.size + spareRoots;
    roots = awaited;
    return awaited;
  };
  return {
    has: (root: JobId): boolean => awaitedRoots().has(root),
    add(root: JobId): void {
      if (awaitedRoots().add(root).size > max) roots = null;
    },
  };
}

function cacheWorkers(rows: WorkerRows, forget: Forget): WorkerRows {
  const workers = createRowCache<WorkerId, Worker>();
  const byHash = createRowCache<string, WorkerId>();
  /** Workers without a previous token. */
  const withOneToken = new Set<WorkerId>();
  /** Worker ids in list order; null when they must be read. */
  let orderedIds: readonly WorkerId[] | null = null;
  const forgetOrder = (): void =>
    forget(() => {
      orderedIds = null;
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
      if (orderedIds !== null) return orderedIds.flatMap(id => worker(id) ?? []);
      const all = rows.workers();
      for (const each of all) workers.put(each.id, each);
      orderedIds = all.map(({ id }) => id);
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
      const stored = worker(updated.id);
      // Called at the end of each job, which rarely changes the worker.
      if (stored === null || isSame(stored, updated)) return;
      rows.updateWorker(updated);
      forget(() => workers.drop(updated.id));
    },
    setTokenHash(id, hash, keepOld) {
      rows.setTokenHash(id, hash, keepOld);
      forgetWithToken(id);
    },
    dropOldToken(id) {
      // Called whenever a job ends, but a previous token is rare.
      if (withOneToken.has(id)) return false;
      const existed = rows.dropOldToken(id);
      if (existed) forgetWithToken(id);
      withOneToken.add(id);
      return existed;
    },
    removeWorker(id) {
      rows.removeWorker(id);
      forgetOrder();
      forgetWithToken(id);
    },
  };
}

const isSame = (stored: Worker, updated: Worker): boolean =>
  (Object.keys(updated) as (keyof Worker)[]).every(
    key => stored[key] === updated[key] || JSON.stringify(stored[key]) === JSON.stringify(updated[key]),
  );

interface RowCache<K, V> {
  /** Returns the cached value, or reads and caches it. Does not cache missing rows, because they may be inserted later. */
  get(key: K, read: () => V | null): V | null;
  put(key: K, value: V): void;
  /** Whether exactly this object is cached. */
  has(key: K, value: V): boolean;
  readonly drop: (key: K) => void;
  readonly clear: () => void;
}

/**
 * Creates a cache with two generations: once the young one has `max / 2` entries, it replaces the old one. Finding the least
 * recently used entry of a Map would take longer than reading a row, because iteration also visits deleted entries.
 */
function createRowCache<K, V>(max = Number.POSITIVE_INFINITY): RowCache<K, V> {
  let young = new Map<K, V>();
  let old = new Map<K, V>();
  const cachedValue = (key: K): V | undefined => young.get(key) ?? old.get(key);
  const put = (key: K, value: V): void => {
    if (young.size >= max / 2) {
      old = young;
      young = new Map();
    }
    young.set(key, value);
  };
  return {
    put,
    get(key, read) {
      const cached = cachedValue(key);
      if (cached !== undefined) return cached;
      const value = read();
      if (value !== null) put(key, value);
      return value;
    },
    has: (key, value) => cachedValue(key) === value,
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
