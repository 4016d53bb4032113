import type { JobId, WorkerId } from '../../../protocol/ids.ts';
import type { Store, Tx, LiveJob, Read } from '../ports/index.ts';

/** Gets notified of each job and worker that a command changes, and again if the command is rolled back. */
export interface ChangeListener {
  noteJob(id: JobId): void;
  noteWorker(id: WorkerId): void;
  noteQueue(): void;
}

/** Wraps a store so that it notifies `listener` of changes. Every write of the orchestrator goes through the wrapper. */
export function watchStore(store: Store, listener: ChangeListener): Store {
  const txs = new WeakMap<Tx, Tx>();
  const watched = (tx: Tx): Tx => {
    const watchedTx = txs.get(tx) ?? watchTx(tx, listener);
    txs.set(tx, watchedTx);
    return watchedTx;
  };
  return { ...store, write: command => store.write(tx => command(watched(tx))) };
}

function watchTx(tx: Tx, { noteJob, noteWorker, noteQueue }: ChangeListener): Tx {
  const note = <K>(notify: (id: K) => void, id: K): void => {
    notify(id);
    tx.afterRollback(() => notify(id));
  };
  return {
    ...tx,
    updateWorker(worker) {
      tx.updateWorker(worker);
      note(noteWorker, worker.id);
    },
    removeWorker(id) {
      tx.removeWorker(id);
      note(noteWorker, id);
    },
    insertJob(job, payload) {
      tx.insertJob(job, payload);
      note(noteJob, job.id);
    },
    replaceJob(was, next) {
      note(noteJob, next.id);
      for (const { attempt } of [was, next]) if (attempt !== null) note(noteWorker, attempt.workerId);
      return tx.replaceJob(was, next);
    },
    insertNodes(nodes) {
      tx.insertNodes(nodes);
      for (const { workerId } of nodes) note(noteWorker, workerId);
    },
    updateNode(node) {
      tx.updateNode(node);
      note(noteWorker, node.workerId);
    },
    setQueueSettings(settings) {
      tx.setQueueSettings(settings);
      note(noteQueue, undefined);
    },
  };
}

/**
 * Returns a wrapper that reads the live jobs of all workers in one query, for callers that evaluate every worker. Use the
 * wrapper only in the current turn of the event loop, because it keeps the result of the query.
 */
export function withBatchedReads(read: Read): Read {
  let liveJobs: ReadonlyMap<WorkerId, LiveJob> | null = null;
  const jobs = (): ReadonlyMap<WorkerId, LiveJob> =>
    (liveJobs ??= new Map(read.liveJobs().map(job => [job.attempt.workerId, job])));
  return { ...read, liveJobOf: worker => jobs().get(worker) ?? null };
}
