import type { GpuTrouble } from '../../../protocol/worker.ts';

/** How an agent's report changes the known GPU troubles of its worker. */
export interface TroublePlan {
  /** All known troubles after the report, sorted by GPU and kind. */
  readonly troubles: readonly GpuTrouble[];
  readonly came: readonly GpuTrouble[];
  readonly went: readonly GpuTrouble[];
  /** Known troubles that this report did not name. They end if the next report does not name them either. */
  readonly doubted: ReadonlySet<string>;
  /** Whether there is anything to store. A change of the description alone is stored, but causes no event. */
  readonly changes: boolean;
}

/** A GPU has at most one trouble of each kind. If another process holds it, only the description changes. */
const keyOf = ({ gpu, kind }: GpuTrouble): string => `${gpu} ${kind}`;

const byGpu = (a: GpuTrouble, b: GpuTrouble): number => a.gpu - b.gpu || (a.kind < b.kind ? -1 : 1);

/**
 * A trouble starts with the first report that names it, and ends with the second report in a row that does not. So a
 * GPU that disappears and returns repeatedly causes one event. `doubted`: troubles that the previous report did not
 * name.
 */
export function planTroubles(
  known: readonly GpuTrouble[],
  reported: readonly GpuTrouble[],
  doubted: ReadonlySet<string>,
): TroublePlan {
  const named = new Map(reported.map(trouble => [keyOf(trouble), trouble]));
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
