import type { WorkerView } from '../../../../protocol/worker.ts';
import type { WorkerId } from '../../../../protocol/ids.ts';
import type { UpdateAnswer, UpdateRefusal } from '../../../../protocol/worker-update.ts';

/** The server's answer for each worker. */
export type UpdateAnswers = ReadonlyMap<WorkerId, UpdateAnswer>;

const underWay: readonly (string | undefined)[] = ['queued', 'waiting', 'downloading', 'restarting'];

/** Returns true if an update of the worker is in progress. */
export const isUpdating = ({ update }: WorkerView): boolean => underWay.includes(update?.order?.state);

/** Returns true if a user can cancel the update. The last step, the restart of the worker, cannot be cancelled. */
export const isCancellable = (worker: WorkerView): boolean =>
  isUpdating(worker) && worker.update?.order?.state !== 'restarting';

/** Returns why the server would refuse to update the worker; null if the server would accept. */
export function refusalOf(worker: WorkerView): UpdateRefusal | null {
  if (worker.update === null) return worker.registered_at === null ? 'never_registered' : 'too_old';
  if (isUpdating(worker)) return 'under_way';
  if (worker.update.blocked !== null) return worker.update.blocked;
  return worker.status === 'offline' ? 'offline' : null;
}

/** Returns true if an update is available, can start now, and has not been requested yet. */
export const isUpdatable = (worker: WorkerView): boolean =>
  worker.update?.available === true && refusalOf(worker) === null && worker.update.order === null;

const byHand: readonly (UpdateRefusal | null)[] = ['off', 'insecure', 'read_only', 'too_old'];

/** Returns true if an update is available, but only by running a command on the worker's machine. */
export const needsCommand = (worker: WorkerView): boolean =>
  worker.update?.available === true && byHand.includes(refusalOf(worker));
