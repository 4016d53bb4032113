import { metricKeyOf, type MetricPoint, type MetricsReply } from '../protocol/metrics-api.ts';
import type { Progress } from '../protocol/progress.ts';
import { createFiledList, mergeByTime, type Recorded } from './filed-list.ts';
import { type BarePoint, createPointList, type PointList } from './point-list.ts';

/** What a trainer has printed, as it is sent. */
export interface Figures {
  readonly progress: Progress;
  /** Names of figures that were no numbers: NaN, Infinity. */
  readonly gaps: readonly string[];
}

type Values = BarePoint['values'];

/** The points of one attempt that the orchestrator does not have yet: bounded, numbered, in their order. */
export interface PointBook {
  /** `isOld`: printed before this process of the agent looked; nobody knows when. */
  note(figures: Figures, atMs: number, isOld: boolean): void;
  /** Figures that the trainer has written into files: they count more than printed ones of the same key. */
  record(figures: Recorded): void;
  /** Values that are not the trainer's, at the last step of which all has been said: the orchestrator must not take a later one for known. */
  add(values: Values, atMs: number): void;
  /** Nothing is going to be added to the step that is under way: it is to be sent, too. */
  settle(): void;
  isEmpty(): boolean;
  /** Whether it is known where the numbers begin; else the orchestrator is to be asked. */
  isNumbered(): boolean;
  number(reply: MetricsReply): void;
  /** The first of them, numbered; they stay until they are taken. */
  batch(): readonly MetricPoint[];
  /** All with lower numbers are there, or are not wanted. False when that is none of those that wait. */
  taken(next: number): boolean;
}

/** Of what waits while nobody answers: an hour and more, a point a second. */
const mostWaiting = 4_096;
/** Of what comes between two sendings: a trainer that is faster is thinned out. */
const mostFresh = 128;
/** Of one call: a few hundred KB at most, and some KB mostly. */
export const maxBatchPoints = 150;
/** Of the keys of a job the figures of its GPUs need some, too (gpu-figures). */
export const maxKeysOfPoint = 28;

export function createPointBook({
  isAdopted,
  adoptedMs,
}: {
  readonly isAdopted: boolean;
  readonly adoptedMs: number;
}): PointBook {
  const waiting = createPointList(mostWaiting);
  const fresh = createPointList(mostFresh);
  const old = createPointList(mostWaiting);
  const filed = createFiledList(mostWaiting);
  const steps = gatherSteps();
  /** The number of the first that waits. */
  let first = isAdopted ? null : 0;

  const gather = (): void => {
    // Where the orchestrator stands is not known yet, and with it what of the files it has.
    const recorded = first === null ? [] : filed.take();
    for (const point of mergeByTime(fresh.items(), recorded)) waiting.add(point);
    fresh.drop(fresh.items().length);
  };

  return {
    note({ progress, gaps }, atMs, isOld) {
      const { step, epoch } = progress;
      const point = { elapsed_ms: atMs, step, epoch, values: valuesOf(progress, gaps) };
      const rest = filed.printed(point);
      steps.note(rest ?? { ...point, epoch: undefined, values: {} }, isOld ? old : fresh);
    },
    record({ live, late }) {
      steps.settle();
      filed.record({ live, late }, [fresh, old, waiting]);
    },
    add(values, atMs) {
      if (Object.keys(values).length > 0) fresh.add({ elapsed_ms: atMs, step: steps.closed(), values });
    },
    settle: steps.settle,
    isEmpty() {
      gather();
      return filed.isEmpty() && [waiting, old].every(list => list.items().length === 0);
    },
    isNumbered: () => first !== null,
    number({ next, last_step: lastStep, last_elapsed_ms: lastMs }) {
      gather();
      first = next;
      filed.skipTo(lastStep ?? -1);
      const missed = old
        .items()
        .filter(({ step }) => step !== undefined && (lastStep === null || step > lastStep));
      const since = waiting.items();
      old.drop(old.items().length);
      waiting.drop(waiting.items().length);
      // Nobody knows when they were printed, but that it was after what is there, and before the first look.
      const apartMs = Math.max(0, adoptedMs - lastMs) / (missed.length + 1);
      missed.forEach((point, at) =>
        waiting.add({ ...point, elapsed_ms: Math.round(lastMs + apartMs * (at + 1)) }),
      );
      for (const point of since) waiting.add(point);
    },
    batch() {
      gather();
      const points = waiting.items().slice(0, maxBatchPoints);
      waiting.hold(points.length);
      for (const point of points) filed.sent(point);
      return points.map((point, at) => ({ ...point, n: (first ?? 0) + at }));
    },
    taken(next) {
      const count = Math.max(0, Math.min(waiting.items().length, next - (first ?? 0)));
      waiting.drop(count);
      waiting.hold(0);
      first = Math.max(next, first ?? 0);
      return count > 0;
    },
  };
}

/** Makes one point of all that is printed of a step. */
function gatherSteps() {
  let open: BarePoint | null = null;
  let target: PointList | null = null;
  let step: number | undefined;
  /** What has been said of this step, sent or not. */
  let told = new Set<string>();
  let closed: number | undefined;
  const settle = (): void => {
    if (open === null) return;
    target?.add(open);
    closed = open.step;
    open = null;
  };
  return {
    settle,
    closed: () => closed,
    note(point: BarePoint, into: PointList): void {
      if (target !== into) settle();
      target = into;
      if (point.step !== undefined && point.step !== step) {
        settle();
        told = new Set();
        step = point.step;
      }
      // A bar is drawn again and again: what was sent of a step is not sent twice.
      const isNews = (key: string): boolean => step === undefined || open !== null || !told.has(key);
      const news = Object.entries(point.values).filter(([key]) => isNews(key));
      if (news.length === 0) return;
      for (const [key] of news) told.add(key);
      const { epoch = open?.epoch, elapsed_ms } = point;
      open = { elapsed_ms, step, epoch, values: { ...open?.values, ...Object.fromEntries(news) } };
      if (step === undefined) settle();
    },
  };
}

function valuesOf(progress: Progress, gaps: readonly string[]): Values {
  const { loss, learning_rate, steps_per_second, metrics = {} } = progress;
  const given: readonly (readonly [string, number | null | undefined])[] = [
    ['loss', loss],
    ['learning_rate', learning_rate],
    ['steps_per_second', steps_per_second],
    ...gaps.map(name => [name, null] as const),
    ...Object.entries(metrics),
  ];
  const values = new Map<string, number | null>();
  for (const [name, value] of given) {
    const key = metricKeyOf(name);
    if (key === null || value === undefined || values.size >= maxKeysOfPoint || values.has(key)) continue;
    values.set(key, value);
  }
  return Object.fromEntries(values);
}
