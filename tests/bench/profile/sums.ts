import { areaOf, type Frame, idle, rootOf } from './areas.ts';

/** A profile in V8's format (`--cpu-prof`): a tree of calls, and the node on top of the stack for each sample. */
export interface CpuProfile {
  readonly nodes: readonly ProfileNode[];
  readonly samples: readonly number[];
  /** Time in microseconds from the previous sample to each sample. */
  readonly timeDeltas: readonly number[];
}

interface ProfileNode {
  readonly id: number;
  readonly callFrame: Frame;
  readonly children?: readonly number[];
}

/** Self time in ms, and its share of all non-idle time, from 0 to 1. */
export interface Row {
  readonly name: string;
  readonly selfMs: number;
  readonly share: number;
}

export interface FunctionRow extends Row {
  /** File and line of the function; empty for native code. */
  readonly place: string;
}

export interface ProfileSums {
  readonly totalMs: number;
  readonly idleMs: number;
  /** Sorted by time, largest first, without the idle time. */
  readonly areas: readonly Row[];
  readonly functions: readonly FunctionRow[];
}

export function sumProfile({ nodes, samples, timeDeltas }: CpuProfile): ProfileSums {
  const selfMs = new Map<number, number>();
  // A sample counts until the next sample. The time before the first sample belongs to no function.
  for (const [index, id] of samples.entries())
    selfMs.set(id, (selfMs.get(id) ?? 0) + (timeDeltas[index + 1] ?? 0) / 1_000);
  const root = rootOf(nodes.map(({ callFrame }) => callFrame.url));
  const areaOfNode = areasOf(nodes, root);
  const areas = new Map<string, number>();
  const functions = new Map<string, { readonly name: string; readonly place: string; selfMs: number }>();
  for (const { id, callFrame } of nodes) {
    const ms = selfMs.get(id) ?? 0;
    const area = areaOfNode.get(id) ?? '';
    areas.set(area, (areas.get(area) ?? 0) + ms);
    if (area === idle) continue;
    const name = callFrame.functionName === '' ? '(anonymous)' : callFrame.functionName;
    const place = placeOf(callFrame, root);
    const known = functions.get(`${name} ${place}`) ?? { name, place, selfMs: 0 };
    known.selfMs += ms;
    functions.set(`${name} ${place}`, known);
  }
  const totalMs = [...areas.values()].reduce((sum, ms) => sum + ms, 0);
  const idleMs = areas.get(idle) ?? 0;
  areas.delete(idle);
  const shareOf = (ms: number): number => ms / (totalMs - idleMs);
  return {
    totalMs,
    idleMs,
    areas: largestFirst([...areas].map(([name, ms]) => ({ name, selfMs: ms, share: shareOf(ms) }))),
    functions: largestFirst([...functions.values()].map(row => ({ ...row, share: shareOf(row.selfMs) }))),
  };
}

/** Returns the area of each node. A node without an area belongs to the area of its caller. */
function areasOf(nodes: readonly ProfileNode[], root: string): ReadonlyMap<number, string> {
  const callers = new Map(nodes.flatMap(({ id, children = [] }) => children.map(child => [child, id])));
  const byId = new Map(nodes.map(node => [node.id, node]));
  const areaFrom = (id: number | undefined): string => {
    const node = id === undefined ? undefined : byId.get(id);
    if (node === undefined) return 'outside JavaScript';
    return areaOf(node.callFrame, root) ?? areaFrom(callers.get(node.id));
  };
  return new Map(nodes.map(({ id }) => [id, areaFrom(id)]));
}

const placeOf = ({ url, lineNumber }: Frame, root: string): string =>
  url === '' ? '' : `${url.startsWith('file:') ? url.slice(root.length) : url}:${lineNumber + 1}`;

const largestFirst = <R extends Row>(rows: readonly R[]): readonly R[] =>
  rows.toSorted((a, b) => b.selfMs - a.selfMs);
