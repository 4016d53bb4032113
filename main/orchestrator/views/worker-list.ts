import type { WorkerId } from '../../../protocol/ids.ts';
import type { WorkerStatus, WorkerView } from '../../../protocol/worker.ts';
import type { Core } from '../core.ts';
import { workerView } from './views.ts';
import { withBatchedReads } from '../memory/store-wrappers.ts';

export interface WorkerPage {
  readonly workers: readonly WorkerView[];
  /** The `after` value of the next page; null on the last page. */
  readonly next: WorkerId | null;
}

export function createWorkerList(core: Core) {
  const inStatus = (status: WorkerStatus | undefined, views: readonly WorkerView[]): readonly WorkerView[] =>
    status === undefined ? views : views.filter(view => view.status === status);

  return {
    listWorkers(status: WorkerStatus | undefined): readonly WorkerView[] {
      const read = withBatchedReads(core.store);
      return inStatus(
        status,
        read.workers().map(worker => workerView(core, read, worker)),
      );
    },

    /** Reads `limit` workers and returns those of them with this status, so that a page may be shorter. */
    pageOfWorkers(after: WorkerId | null, limit: number, status: WorkerStatus | undefined): WorkerPage {
      const workers = core.store.workersAfter(after, limit);
      const views = workers.map(worker => workerView(core, core.store, worker));
      return {
        workers: inStatus(status, views),
        next: workers.length < limit ? null : (workers.at(-1)?.id ?? null),
      };
    },
  };
}
