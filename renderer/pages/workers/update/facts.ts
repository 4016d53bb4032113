import type { WorkerView } from '../../../../protocol/worker.ts';
import type { WorkerId } from '../../../../protocol/ids.ts';
import type { UpdateAnswer, UpdateRefusal } from '../../../../protocol/worker-update.ts';

/** The server's answer for each worker. */
export type UpdateAnswers = ReadonlyMap<WorkerId, UpdateAnswer>;

const underWay: readonly (string | undefined)[] = ['queued', 'waiting', 'downloading', 'restarting'];

/** Whether an update of the worker has begun and not ended. */
export const isUpdating = ({ update }: WorkerView): boolean => underWay.includes(update?.order?.state);

/** Whether a user can cancel the update. A worker that restarts already cannot be stopped. */
export const isCancellable = (worker: WorkerView): boolean =>
  isUpdating(worker) && worker.update?.order?.state !== 'restarting';

/** Returns why the server would refuse to update the worker; null when it would update it. */
export function refusalOf(worker: WorkerView): UpdateRefusal | null {
  if (worker.update === null) return worker.registered_at === null ? 'never_registered' : 'too_old';
  if (isUpdating(worker)) return 'under_way';
  if (worker.update.blocked !== null) return worker.update.blocked;
  return worker.status === 'offline' ? 'offline' : null;
}

/** Whether the server can update the worker now, and has something to update it to. */
export const isUpdatable = (worker: WorkerView): boolean =>
  worker.update?.available === true && refusalOf(worker) === null && worker.update.order === null;

const byHand: readonly (UpdateRefusal | null)[] = ['off', 'insecure', 'read_only', 'too_old'];

/** Whether a user can update the worker with the command on its machine. */
export const needsCommand = (worker: WorkerView): boolean =>
  worker.update?.available === true && byHand.includes(refusalOf(worker));
