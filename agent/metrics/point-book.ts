import { metricKeyOf, type MetricPoint, type MetricsReply } from '../../protocol/metrics-api.ts';
import type { Progress } from '../../protocol/reports.ts';
import { createFilePointList, mergeByTime, type Recorded } from './file-points.ts';
import { type BarePoint, createPointList, type PointList } from './point-list.ts';

/** The figures that a trainer has printed. */
export interface Figures {
  readonly progress: Progress;
  /** Names of figures whose value was NaN or Infinity. */
  readonly gaps: readonly string[];
}

type Values = BarePoint['values'];

/** The unsent points of one attempt, in order. Their number is limited, and each has a sequence number. */
export interface PointBook {
  /** Adds printed figures. `isOld`: they were printed at an unknown time, before this process started to read. */
  note(figures: Figures, atMs: number, isOld: boolean): void;
  /** Adds figures that the trainer has written to files. They take precedence over printed figures with the same key. */
  record(figures: Recorded): void;
  /**
   * Adds values that are not from the trainer, such as GPU metrics, at the last closed step. At the open step, the
   * trainer's own values, which are sent later, would look like a repetition of that step.
   */
  add(values: Values, atMs: number): void;
  /** Closes the current step, so that it can be sent. */
  closeStep(): void;
  isEmpty(): boolean;
  /** Whether the sequence number of the first point is known. If not, ask the orchestrator and call `number`. */
  isNumbered(): boolean;
  /** Sets the sequence number of the first point, and drops the points that the orchestrator already has. */
  number(reply: MetricsReply): void;
  /** Returns the first points with their sequence numbers. The points stay in the book until `taken` is called. */
  batch(): readonly MetricPoint[];
  /**
   * Removes the points with numbers below `next`, which the orchestrator does not need. Returns false if there were
   * none.
   */
  taken(next: number): boolean;
}

/** Maximum number of unsent points. At one point per second, they cover more than an hour without contact. */
const maxWaiting = 4_096;
/** Maximum number of new points between two batches. If a trainer logs faster, points are merged. */
const maxFresh = 128;
/** Points per call: usually a few KB, at most a few hundred KB. */
export const maxBatchPoints = 150;
/**
 * Maximum number of the trainer's figures per point. The remaining curves of a job are reserved for its GPUs
 * (gpu/figures).
 */
export const maxKeysOfPoint = 28;

export function createPointBook({
  isAdopted,
  adoptedMs,
}: {
  readonly isAdopted: boolean;
  readonly adoptedMs: number;
}): PointBook {
  const waiting = createPointList(maxWaiting);
  const fresh = createPointList(maxFresh);
  const old = createPointList(maxWaiting);
  const filePoints = createFilePointList(maxWaiting);
  const steps = gatherSteps();
  /** Sequence number of the first unsent point; null until the orchestrator has been asked. */
  let first = isAdopted ? null : 0;

  const gather = (): void => {
    // Before the orchestrator has answered, it is unknown which points from files it already has.
    const recorded = first === null ? [] : filePoints.take();
    for (const point of mergeByTime(fresh.items(), recorded)) waiting.add(point);
    fresh.drop(fresh.items().length);
  };

  return {
    note({ progress, gaps }, atMs, isOld) {
      const { step, epoch } = progress;
      const point = { elapsed_ms: atMs, step, epoch, values: valuesOf(progress, gaps) };
      const rest = filePoints.printed(point);
      steps.note(rest ?? { ...point, epoch: undefined, values: {} }, isOld ? old : fresh);
    },
    record({ live, late }) {
      steps.closeStep();
      filePoints.record({ live, late }, [fresh, old, waiting]);
    },
    add(values, atMs) {
      if (Object.keys(values).length > 0) fresh.add({ elapsed_ms: atMs, step: steps.closed(), values });
    },
    closeStep: steps.closeStep,
    isEmpty() {
      gather();
      return filePoints.isEmpty() && [waiting, old].every(list => list.items().length === 0);
    },
    isNumbered: () => first !== null,
    number({ next, last_step: lastStep, last_elapsed_ms: lastMs }) {
      gather();
      first = next;
      filePoints.skipTo(lastStep ?? -1);
      const missed = old
        .items()
        .filter(({ step }) => step !== undefined && (lastStep === null || step > lastStep));
      const since = waiting.items();
      old.drop(old.items().length);
      waiting.drop(waiting.items().length);
      // Spread the missed points evenly over the time between the orchestrator's last point and the adoption.
      const spacingMs = Math.max(0, adoptedMs - lastMs) / (missed.length + 1);
      missed.forEach((point, at) =>
        waiting.add({ ...point, elapsed_ms: Math.round(lastMs + spacingMs * (at + 1)) }),
      );
      for (const point of since) waiting.add(point);
    },
    batch() {
      gather();
      const points = waiting.items().slice(0, maxBatchPoints);
      waiting.freeze(points.length);
      for (const point of points) filePoints.sent(point);
      return points.map((point, at) => ({ ...point, n: (first ?? 0) + at }));
    },
    taken(next) {
      const count = Math.max(0, Math.min(waiting.items().length, next - (first ?? 0)));
      waiting.drop(count);
      waiting.freeze(0);
      first = Math.max(next, first ?? 0);
      return count > 0;
    },
  };
}

/** Combines all figures that are printed for one step into one point. */
function gatherSteps() {
  let open: BarePoint | null = null;
  let target: PointList | null = null;
  let step: number | undefined;
  /** Keys that have been recorded for this step, sent or not. */
  let recorded = new Set<string>();
  let closed: number | undefined;
  const closeStep = (): void => {
    if (open === null) return;
    target?.add(open);
    closed = open.step;
    open = null;
  };
  return {
    closeStep,
    closed: () => closed,
    note(point: BarePoint, into: PointList): void {
      if (target !== into) closeStep();
      target = into;
      if (point.step !== undefined && point.step !== step) {
        closeStep();
        recorded = new Set();
        step = point.step;
      }
      // A bar is redrawn many times. After its step is closed, do not send the same keys again.
      const isNew = (key: string): boolean => step === undefined || open !== null || !recorded.has(key);
      const newValues = Object.entries(point.values).filter(([key]) => isNew(key));
      if (newValues.length === 0) return;
      for (const [key] of newValues) recorded.add(key);
      const { epoch = open?.epoch, elapsed_ms } = point;
      open = { elapsed_ms, step, epoch, values: { ...open?.values, ...Object.fromEntries(newValues) } };
      if (step === undefined) closeStep();
    },
  };
}

function valuesOf(progress: Progress, gaps: readonly string[]): Values {
  const { loss, learning_rate, steps_per_second, metrics = {} } = progress;
  const reported: readonly (readonly [string, number | null | undefined])[] = [
    ['loss', loss],
    ['learning_rate', learning_rate],
    ['steps_per_second', steps_per_second],
    ...gaps.map(name => [name, null] as const),
    ...Object.entries(metrics),
  ];
  const values = new Map<string, number | null>();
  for (const [name, value] of reported) {
    const key = metricKeyOf(name);
    if (key === null || value === undefined || values.size >= maxKeysOfPoint || values.has(key)) continue;
    values.set(key, value);
  }
  return Object.fromEntries(values);
}
