import { metricKeyOf } from '../../protocol/metrics-api.ts';
import type { FilePoint } from './metrics-files/index.ts';
import { type BarePoint, createPointList, type PointList } from './point-list.ts';

/** Decides whether a value is taken from a metrics file or from printed output. Files take precedence. */
export interface Precedence {
  /** Returns a printed point without the values that files provide; null when nothing is left. */
  printed(point: BarePoint): BarePoint | null;
  /** Records that a live file, which grows with each value, provides these keys. Returns the keys that are new. */
  own(point: BarePoint): ReadonlySet<string>;
  /** Records that a point is sent, so that a file does not send its printed values again. */
  sent(point: BarePoint): void;
  /** Returns a point of a live file without values that were already sent as printed values; null when nothing is left. */
  live(point: BarePoint): BarePoint | null;
  /**
   * Splits a point of a late file, whose values are written long after the trainer knows them. `fresh` has the values
   * that are new; `known` has those that another file or the printed output already provided.
   */
  late(point: BarePoint): { readonly fresh: BarePoint | null; readonly known: BarePoint | null };
}

/** The maximum number of sent steps to remember for each key. Files lag behind by fewer steps. */
const maxSentSteps = 4_096;
const epochKey = 'epoch';
const keysOf = ({ values, epoch }: BarePoint): readonly string[] => [
  ...Object.keys(values),
  ...(epoch === undefined ? [] : [epochKey]),
];

function createPrecedence(): Precedence {
  /** The keys that live files provide. */
  const owned = new Set<string>();
  /** The highest step for which a late file has provided a key. */
  const lateUpTo = new Map<string, number>();
  /** The newest steps for which the printed value of a key was sent. */
  const sentSteps = new Map<string, Set<number>>();
  /** The highest step with a printed or a late value of a key. */
  const highest = new Map<string, number>();

  const recordStep = (point: BarePoint): void => {
    if (point.step === undefined) return;
    for (const key of keysOf(point)) highest.set(key, Math.max(point.step, highest.get(key) ?? -1));
  };

  return {
    printed(point) {
      const { step } = point;
      const rest = pickKeys(
        point,
        key => !owned.has(key) && (step === undefined || step > (lateUpTo.get(key) ?? -1)),
      );
      if (rest === null || Object.keys(rest.values).length === 0) return null;
      recordStep(rest);
      return rest;
    },
    own(point) {
      const fresh = new Set(keysOf(point).filter(key => !owned.has(key)));
      for (const key of fresh) owned.add(key);
      return fresh;
    },
    sent(point) {
      if (point.step === undefined) return;
      for (const key of keysOf(point).filter(each => !owned.has(each))) {
        const steps = sentSteps.get(key) ?? new Set();
        sentSteps.set(key, steps.add(point.step));
        for (const oldest of steps) if (steps.size > maxSentSteps) steps.delete(oldest);
      }
    },
    live: point => pickKeys(point, key => !sentSteps.get(key)?.has(point.step ?? -1)),
    late(point) {
      const { step = 0 } = point;
      const notOwned = pickKeys(point, key => !owned.has(key));
      const isBeyond = (key: string): boolean => step > (highest.get(key) ?? -1);
      const fresh = notOwned && pickKeys(notOwned, isBeyond);
      const repeated = notOwned && pickKeys(notOwned, key => !isBeyond(key));
      for (const key of notOwned === null ? [] : keysOf(notOwned))
        lateUpTo.set(key, Math.max(step, lateUpTo.get(key) ?? -1));
      if (fresh !== null) recordStep(fresh);
      return { fresh, known: repeated };
    },
  };
}

/** Keeps the keys of a point that `isWanted` accepts; null when none is left. */
function pickKeys(point: BarePoint, isWanted: (key: string) => boolean): BarePoint | null {
  const values = Object.entries(point.values).filter(([key]) => isWanted(key));
  const epoch = point.epoch !== undefined && isWanted(epochKey) ? point.epoch : undefined;
  if (values.length === 0 && epoch === undefined) return null;
  return { ...point, epoch, values: Object.fromEntries(values) };
}

/**
 * Converts the values of a step in a file to a point with at most `maxKeys` values. Returns null when no name is a valid
 * key and there is no epoch.
 */
export function toBarePoint(
  { step, epoch, values }: FilePoint,
  atMs: number,
  maxKeys: number,
): BarePoint | null {
  const entries = Object.entries(values).flatMap(([name, value]) => {
    const key = metricKeyOf(name);
    return key === null || key === epochKey ? [] : [[key, value] as const];
  });
  if (entries.length === 0 && epoch === undefined) return null;
  return { elapsed_ms: atMs, step, epoch, values: Object.fromEntries(entries.slice(0, maxKeys)) };
}

/** Points from metrics files; see `FileFigures`. */
export interface Recorded {
  readonly live: readonly BarePoint[];
  readonly late: readonly BarePoint[];
}

/** The unsent points from files. They replace or correct printed points. */
interface FilePointList extends Pick<Precedence, 'printed' | 'sent'> {
  /** Adds points from files. Removes or corrects the values in the `printed` lists that these files also provide. */
  record(figures: Recorded, printed: readonly PointList[]): void;
  /** Drops the points up to this step, because an earlier process of the agent has sent them. */
  skipTo(step: number): void;
  isEmpty(): boolean;
  /** Removes and returns all points. */
  take(): readonly BarePoint[];
}

export function createFilePointList(maxPoints: number): FilePointList {
  const filePoints = createPointList(maxPoints);
  const precedence = createPrecedence();
  let sentUpTo = -1;

  const add = (point: BarePoint | null): void => {
    if (point !== null && (point.step ?? 0) > sentUpTo) addFilePoint(filePoints, point);
  };

  return {
    printed: precedence.printed,
    sent: precedence.sent,
    record({ live, late }, printed) {
      for (const point of live) {
        const keys = precedence.own(point);
        if (keys.size > 0) for (const list of printed) list.change(each => omitKeys(each, keys));
      }
      const corrections = new Map<number | undefined, BarePoint>();
      for (const point of late) {
        const { fresh, known } = precedence.late(point);
        if (known !== null) corrections.set(point.step, known);
        add(fresh);
      }
      if (corrections.size > 0)
        for (const list of printed) list.change(each => correctPoint(each, corrections.get(each.step)));
      for (const point of live) add(precedence.live(point));
    },
    skipTo(step) {
      sentUpTo = step;
      filePoints.change(point => ((point.step ?? 0) > step ? point : null));
    },
    isEmpty: () => filePoints.items().length === 0,
    take() {
      const points = filePoints.items();
      filePoints.drop(points.length);
      return points;
    },
  };
}

/** Merges two lists by time, and keeps the order within each. */
export function mergeByTime(
  printed: readonly BarePoint[],
  recorded: readonly BarePoint[],
): readonly BarePoint[] {
  const all: BarePoint[] = [];
  let next = 0;
  for (const point of printed) {
    const from = next;
    while ((recorded[next]?.elapsed_ms ?? Infinity) < point.elapsed_ms) next += 1;
    all.push(...recorded.slice(from, next), point);
  }
  return [...all, ...recorded.slice(next)];
}

/**
 * Adds a point, or merges it into the unsent point of the same step. When two files repeat a step, the later file
 * counts.
 */
function addFilePoint(filePoints: PointList, point: BarePoint): void {
  let isMerged = false;
  if (filePoints.items().some(({ step }) => step === point.step))
    filePoints.change(each => {
      if (isMerged || each.step !== point.step) return each;
      isMerged = true;
      return { ...each, epoch: point.epoch ?? each.epoch, values: { ...each.values, ...point.values } };
    });
  if (!isMerged) filePoints.add(point);
}

const omitKeys = (point: BarePoint, keys: ReadonlySet<string>): BarePoint | null =>
  Object.keys(point.values).some(key => keys.has(key)) || keys.has('epoch')
    ? pickKeys(point, key => !keys.has(key))
    : point;

/** Replaces the printed values of a point by the values of a file for the same step. */
function correctPoint(point: BarePoint, fromFile: BarePoint | undefined): BarePoint {
  if (fromFile === undefined) return point;
  const values = Object.entries(fromFile.values).filter(([key]) => Object.hasOwn(point.values, key));
  return { ...point, values: { ...point.values, ...Object.fromEntries(values) } };
}
