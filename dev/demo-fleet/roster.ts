import { workersApi } from '../../protocol/admin-api.ts';
import type { WorkerId } from '../../protocol/ids.ts';
import { CommandEnd, exitCodes } from '../../main/cli/failure.ts';
import type { Remote } from '../../main/cli/remote.ts';
import { isOfDemo, type WorkerPlan } from './hardware.ts';

/** A worker that the demo has created in the orchestrator. */
export interface CreatedWorker {
  readonly plan: WorkerPlan;
  readonly id: WorkerId;
  readonly token: string;
}

/** The result of deleting the workers of earlier demos. */
export interface CleanupResult {
  /** Names of the deleted workers. */
  readonly removed: readonly string[];
  /** Names of demo workers that could not be deleted because they are not offline: their demo runs, or was just killed. */
  readonly remaining: readonly string[];
  /** All worker names that are in use. */
  readonly usedNames: ReadonlySet<string>;
}

const maxConcurrent = 8;

/** Deletes the offline workers of earlier demos. */
export async function removeEarlierWorkers(remote: Remote): Promise<CleanupResult> {
  const { workers } = await remote.request(workersApi.list);
  const demoWorkers = workers.filter(isOfDemo);
  const failures = await removeAll(
    remote,
    demoWorkers.map(({ id }) => id),
  );
  const remaining = demoWorkers.filter(({ id }) => failures.has(id)).map(({ name }) => name);
  const removed = demoWorkers.filter(({ id }) => !failures.has(id)).map(({ name }) => name);
  return {
    removed,
    remaining,
    usedNames: new Set(workers.map(({ name }) => name).filter(name => !removed.includes(name))),
  };
}

/** Creates the workers, several at a time. Stops when `isOver` returns true. */
export function createWorkers(
  { request }: Remote,
  plans: readonly WorkerPlan[],
  onCreated: (worker: CreatedWorker) => void,
  isOver: () => boolean,
): Promise<void> {
  return forEachConcurrently(plans, async plan => {
    if (isOver()) return;
    const { name, labels, isEphemeral } = plan;
    const body = {
      name,
      labels: { ...labels },
      worker_type: isEphemeral ? 'ephemeral' : 'persistent',
    } as const;
    const { worker_id: id, token } = await request(workersApi.create, { body });
    onCreated({ plan, id, token });
  });
}

/** Deletes workers. Returns the failures: the reason for each worker that could not be deleted, by its id. */
export async function removeAll(
  { request }: Pick<Remote, 'request'>,
  ids: readonly WorkerId[],
): Promise<ReadonlyMap<WorkerId, string>> {
  const failures = new Map<WorkerId, string>();
  await forEachConcurrently(ids, async id => {
    try {
      await request(workersApi.remove, { params: { id } });
    } catch (cause) {
      if (!(cause instanceof CommandEnd)) throw cause;
      // Ignore a worker that another client has already deleted.
      if (cause.failure.code !== exitCodes.notFound) failures.set(id, cause.failure.message);
    }
  });
  return failures;
}

/** Calls `act` for each item, several at a time. After a failure, waits for the running calls, and rejects. */
async function forEachConcurrently<T>(items: readonly T[], act: (item: T) => Promise<void>): Promise<void> {
  // All loops share this iterator, so that each item is handled once.
  const remaining = items.values();
  let hasFailed = false;
  const handleRemaining = async (): Promise<void> => {
    for (const item of remaining) {
      if (hasFailed) return;
      await act(item).catch((cause: unknown) => {
        hasFailed = true;
        throw cause;
      });
    }
  };
  const results = await Promise.allSettled(Array.from({ length: maxConcurrent }, handleRemaining));
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}
