import { workersApi } from '../../protocol/admin-api.ts';
import type { WorkerId } from '../../protocol/ids.ts';
import { CommandEnd, exitCodes } from '../../main/cli/failure.ts';
import type { Remote } from '../../main/cli/remote.ts';
import { isOfDemo, type WorkerPlan } from './hardware.ts';

/** A worker that is registered with the orchestrator. */
export interface Enlisted {
  readonly plan: WorkerPlan;
  readonly id: WorkerId;
  readonly token: string;
}

/** Workers that an earlier demo left behind. */
export interface Leftovers {
  /** Workers that were removed. */
  readonly cleared: readonly string[];
  /** Workers that are not offline: their demo still runs, or was killed a moment ago. */
  readonly kept: readonly string[];
  /** All worker names that are in use. */
  readonly taken: ReadonlySet<string>;
}

const maxConcurrent = 8;

export async function clearLeftovers(remote: Remote): Promise<Leftovers> {
  const { workers } = await remote.request(workersApi.list);
  const ofDemo = workers.filter(isOfDemo);
  const left = await removeAll(
    remote,
    ofDemo.map(({ id }) => id),
  );
  const kept = ofDemo.filter(({ id }) => left.has(id)).map(({ name }) => name);
  const cleared = ofDemo.filter(({ id }) => !left.has(id)).map(({ name }) => name);
  const gone = new Set(cleared);
  return {
    cleared,
    kept,
    taken: new Set(workers.map(({ name }) => name).filter(name => !gone.has(name))),
  };
}

/** Creates the workers, several at a time. Stops when `isOver` returns true. */
export function enlist(
  { request }: Remote,
  plans: readonly WorkerPlan[],
  onEnlisted: (enlisted: Enlisted) => void,
  isOver: () => boolean,
): Promise<void> {
  return each(plans, async plan => {
    if (isOver()) return;
    const { name, labels, isEphemeral } = plan;
    const body = {
      name,
      labels: { ...labels },
      worker_type: isEphemeral ? 'ephemeral' : 'persistent',
    } as const;
    const { worker_id: id, token } = await request(workersApi.create, { body });
    onEnlisted({ plan, id, token });
  });
}

/** Returns the workers that could not be removed, with the reasons. */
export async function removeAll(
  { request }: Pick<Remote, 'request'>,
  ids: readonly WorkerId[],
): Promise<ReadonlyMap<WorkerId, string>> {
  const left = new Map<WorkerId, string>();
  await each(ids, async id => {
    try {
      await request(workersApi.remove, { params: { id } });
    } catch (cause) {
      if (!(cause instanceof CommandEnd)) throw cause;
      // Another client has already removed it.
      if (cause.failure.code !== exitCodes.notFound) left.set(id, cause.failure.message);
    }
  });
  return left;
}

/** Runs `act` for each item, several at a time. After a failure it starts no more, waits for the running ones, and rejects. */
async function each<T>(items: readonly T[], act: (item: T) => Promise<void>): Promise<void> {
  const rest = items.values();
  let isFailed = false;
  const runRest = async (): Promise<void> => {
    for (const item of rest) {
      if (isFailed) return;
      await act(item).catch((cause: unknown) => {
        isFailed = true;
        throw cause;
      });
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: maxConcurrent }, runRest));
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
}
