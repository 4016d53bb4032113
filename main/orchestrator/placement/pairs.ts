import type { JobId, WorkerId } from '../../../protocol/ids.ts';
import type { Requirements } from '../../../protocol/job.ts';
import { classOf, compileMatcher, type Matcher, type Offering, shapeOf } from '../matching.ts';
import type { IdleWorker, WaitingJob } from './candidates.ts';
import { createRanking, type Ranking } from './ranking.ts';

/** Jobs that want the same. */
export interface Shape {
  readonly key: string;
  readonly matcher: Matcher;
  /** Each user's, in the order in which they are taken. */
  readonly lines: Map<string, Ranking<JobId, WaitingJob>>;
  /** Those that fit and have somebody idle: first the one with least to spare. */
  readonly open: Ranking<string, WorkerClass>;
}

/** Workers that offer the same. */
export interface WorkerClass {
  readonly key: string;
  readonly offering: Offering;
  readonly idle: Ranking<WorkerId, IdleWorker>;
  readonly fits: Set<Shape>;
}

/** Which class fits which shape is worked out once a pair (SEMANTICS.md, section 7). */
export interface Pairs {
  readonly shapes: () => Iterable<Shape>;
  /** The shape for jobs that want this; somebody is about to join it. */
  shapeFor(needs: Requirements): Shape;
  /** The class for workers that offer this; somebody is about to join it. */
  classFor(offering: Offering): WorkerClass;
  /** Nobody waits in this shape any more. */
  leaveShape(shape: Shape): void;
  /** Nobody is idle in this class any more. */
  leaveClass(group: WorkerClass): void;
}

/** Matching is dear: what nobody waits for, and what nobody idle offers, is remembered for the next one, up to so many. */
const spareShapes = 64;
const spareClasses = 4096;

const byOrder = (a: IdleWorker, b: IdleWorker): number => a.order - b.order;
const bySpare = (a: WorkerClass, b: WorkerClass): number =>
  a.offering.gpuCount - b.offering.gpuCount || a.offering.vramGb - b.offering.vramGb;

export function createPairs(): Pairs {
  const shapes = new Map<string, Shape>();
  const classes = new Map<string, WorkerClass>();
  /** Shapes without a job, and classes with nobody idle: first the one that has been so for longest. */
  const unwanted = new Set<Shape>();
  const vacant = new Set<WorkerClass>();

  const newShape = (key: string, needs: Requirements): Shape => {
    const shape = { key, matcher: compileMatcher(needs), lines: new Map(), open: createRanking(bySpare) };
    shapes.set(key, shape);
    for (const group of classes.values()) pair(shape, group);
    return shape;
  };
  const newClass = (key: string, offering: Offering): WorkerClass => {
    const group = { key, offering, idle: createRanking(byOrder), fits: new Set<Shape>() };
    classes.set(key, group);
    for (const shape of shapes.values()) pair(shape, group);
    return group;
  };

  return {
    shapes: () => shapes.values(),
    shapeFor(needs) {
      const key = shapeOf(needs);
      const shape = shapes.get(key) ?? newShape(key, needs);
      unwanted.delete(shape);
      return shape;
    },
    classFor(offering) {
      const key = classOf(offering);
      const group = classes.get(key) ?? newClass(key, offering);
      vacant.delete(group);
      return group;
    },
    leaveShape(shape) {
      const surplus = setAside(unwanted, shape, spareShapes);
      if (surplus === null) return;
      shapes.delete(surplus.key);
      for (const group of classes.values()) group.fits.delete(surplus);
    },
    leaveClass(group) {
      const surplus = setAside(vacant, group, spareClasses);
      if (surplus !== null) classes.delete(surplus.key);
    },
  };
}

function pair(shape: Shape, group: WorkerClass): void {
  if (shape.matcher(group.offering).length > 0) return;
  group.fits.add(shape);
  if (group.idle.size > 0) shape.open.set(group.key, group);
}

/** Answers with what there is too much of then, if anything. */
function setAside<T>(spare: Set<T>, item: T, most: number): T | null {
  spare.add(item);
  if (spare.size <= most) return null;
  const [oldest = item] = spare;
  spare.delete(oldest);
  return oldest;
}
