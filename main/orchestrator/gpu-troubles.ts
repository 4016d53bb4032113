import type { GpuTrouble } from '../../protocol/worker.ts';

/** What an agent's word changes of what is known of its worker's GPUs. */
export interface TroublePlan {
  /** All that are known from now on, by GPU and kind. */
  readonly troubles: readonly GpuTrouble[];
  readonly came: readonly GpuTrouble[];
  readonly went: readonly GpuTrouble[];
  /** Known, and not named this time: one that is not named the next time either is over. */
  readonly doubted: ReadonlySet<string>;
  /** Whether there is anything to write: the words alone may have changed, which is no news. */
  readonly changes: boolean;
}

/** A GPU has at most one trouble of a kind; another process that holds it is the same trouble in other words. */
const keyOf = ({ gpu, kind }: GpuTrouble): string => `${gpu} ${kind}`;

const byGpu = (a: GpuTrouble, b: GpuTrouble): number => a.gpu - b.gpu || (a.kind < b.kind ? -1 : 1);

/**
 * A trouble counts from the first word of it, and until the second word in a row that does not name it: a GPU that comes and
 * goes is told of once. `doubted` are those that the last word did not name.
 */
export function planTroubles(
  known: readonly GpuTrouble[],
  said: readonly GpuTrouble[],
  doubted: ReadonlySet<string>,
): TroublePlan {
  const named = new Map(said.map(trouble => [keyOf(trouble), trouble]));
  const wasKnown = new Set(known.map(keyOf));
  const came = [...named.values()].filter(trouble => !wasKnown.has(keyOf(trouble)));
  const unnamed = known.filter(trouble => !named.has(keyOf(trouble)));
  const went = unnamed.filter(trouble => doubted.has(keyOf(trouble)));
  const left = unnamed.filter(trouble => !doubted.has(keyOf(trouble)));
  const isReworded = known.some(trouble => {
    const now = named.get(keyOf(trouble));
    return now !== undefined && now.detail !== trouble.detail;
  });
  return {
    troubles: [...named.values(), ...left].toSorted(byGpu),
    came,
    went,
    doubted: new Set(left.map(keyOf)),
    changes: came.length > 0 || went.length > 0 || isReworded,
  };
}
