import { workersApi } from '../../../protocol/admin-api.ts';
import type { WorkerId } from '../../../protocol/ids.ts';
import { CommandEnd, exitCodes } from '../failure.ts';
import type { Remote } from '../remote.ts';
import { isOfDemo, type WorkerPlan } from './hardware.ts';

/** A worker that the orchestrator knows now. */
export interface Enlisted {
  readonly plan: WorkerPlan;
  readonly id: WorkerId;
  readonly token: string;
}

/** What an earlier demo has left behind. */
export interface Leftovers {
  /** Removed. */
  readonly cleared: readonly string[];
  /** Not offline: a demo that still runs, or one that was killed a moment ago. */
  readonly kept: readonly string[];
  /** Every name that somebody has. */
  readonly taken: ReadonlySet<string>;
}

const atOnce = 8;

export async function clearLeftovers(remote: Remote): Promise<Leftovers> {
  const { workers } = await remote.ask(workersApi.list);
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

/** Creates one worker after the other, some at once; stops where `isOver` says so. */
export function enlist(
  { ask }: Remote,
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
    const { worker_id: id, token } = await ask(workersApi.create, { body });
    onEnlisted({ plan, id, token });
  });
}

/** Answers with those that could not be removed. */
export async function removeAll(
  { ask }: Pick<Remote, 'ask'>,
  ids: readonly WorkerId[],
): Promise<ReadonlyMap<WorkerId, string>> {
  const left = new Map<WorkerId, string>();
  await each(ids, async id => {
    try {
      await ask(workersApi.remove, { params: { id } });
    } catch (cause) {
      if (!(cause instanceof CommandEnd)) throw cause;
      // Somebody was quicker.
      if (cause.failure.code !== exitCodes.notFound) left.set(id, cause.failure.message);
    }
  });
  return left;
}

/** Begins no further one when one has failed, and ends when all that were begun have. */
async function each<T>(things: readonly T[], act: (thing: T) => Promise<void>): Promise<void> {
  const rest = things.values();
  let isFailed = false;
  const work = async (): Promise<void> => {
    for (const thing of rest) {
      if (isFailed) return;
      await act(thing).catch((cause: unknown) => {
        isFailed = true;
        throw cause;
      });
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: atOnce }, work));
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
}
