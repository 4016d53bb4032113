import type { JobId, WorkerId } from '../../../../protocol/ids.ts';
import type { Requirements } from '../../../../protocol/job.ts';
import { compileMatcher, type Matcher, classOf, shapeOf } from '../../rules/matching.ts';
import type { Offering } from '../../model.ts';
import { createRanking, type Rankable, type Ranking } from './ranking.ts';

/** Pending jobs of one team with the same requirements. */
export interface Shape {
  readonly key: string;
  /** Null for jobs without a team. */
  readonly team: string | null;
  /** Number of machines that train a job together. */
  readonly nodes: number;
  readonly matcher: Matcher;
  /** One queue per user. Empty queues stay, because a map becomes slow when keys are added and deleted repeatedly. */
  readonly queues: Map<string, UserQueue>;
  /** Number of queues that are not empty. */
  filled: number;
  /** The first job of each queue that is not parked (see `UserQueue.parkedIn`). */
  readonly heads: Ranking<Head>;
  /** Fitting classes with an idle worker, in the order of `bySpare`. */
  readonly open: Ranking<OpenClass>;
}

/** One user's jobs of a shape. */
export interface UserQueue {
  readonly shape: Shape;
  readonly user: string;
  readonly jobs: Ranking<Waiting>;
  /** The queue's entry in `heads`; undefined while the queue is parked or empty. */
  head: Head | undefined;
  /** The set of parked queues that contains this queue. A queue is parked when it is next, but its user is at the limit. */
  parkedIn: Set<UserQueue> | undefined;
}

/** A pending job in its user's queue. It has only the fields that placement needs, because there may be very many. */
export interface Waiting extends Rankable {
  readonly id: JobId;
  readonly level: number;
  readonly order: number;
  readonly avoid: WorkerId | null;
  /** Dataset versions that the job needs. */
  readonly data: readonly string[];
  readonly queue: UserQueue;
}

interface Head extends Rankable {
  readonly job: Waiting;
}

/** Workers with the same offering. */
export interface WorkerClass {
  readonly key: string;
  readonly offering: Offering;
  readonly idle: Ranking<Idle>;
  /** The entries of this class in `shape.open` of each fitting shape. An entry is live while the class has an idle worker. */
  readonly fits: Map<Shape, OpenClass>;
}

export interface OpenClass extends Rankable {
  readonly workerClass: WorkerClass;
}

export interface Idle extends Rankable {
  readonly id: WorkerId;
  /** Dataset versions on the worker's rig. */
  readonly datasets: readonly string[];
  readonly order: number;
  readonly workerClass: WorkerClass;
}

type Turn = Pick<Waiting, 'level' | 'order'>;

/** Compares jobs in dispatch order. */
export const byTurn = (a: Turn, b: Turn): number => b.level - a.level || a.order - b.order;

/** Compares classes by preference: remote before local workers, then fewer GPUs, then less GPU memory. */
export const bySpare = (
  { offering: a }: Pick<WorkerClass, 'offering'>,
  { offering: b }: Pick<WorkerClass, 'offering'>,
): number => Number(a.local) - Number(b.local) || a.gpuCount - b.gpuCount || a.vramGb - b.vramGb;

const createShape = (key: string, needs: Requirements, team: string | null): Shape => ({
  key,
  team,
  nodes: needs.nodes ?? 1,
  matcher: compileMatcher(needs),
  queues: new Map(),
  filled: 0,
  heads: createRanking<Head>((a, b) => byTurn(a.job, b.job)),
  open: createRanking<OpenClass>((a, b) => bySpare(a.workerClass, b.workerClass)),
});

const createClass = (key: string, offering: Offering): WorkerClass => ({
  key,
  offering,
  idle: createRanking((a, b) => a.order - b.order),
  fits: new Map(),
});

/** Stores which worker classes fit which job shapes. Matches each pair once (docs/internals/semantics.md, section 7). */
export interface MatchIndex {
  readonly shapes: () => Iterable<Shape>;
  /** Returns the shape for this team's jobs with these requirements. */
  shapeFor(needs: Requirements, team: string | null): Shape;
  /** Returns the class for this offering, and adds it to `open` of each fitting shape. The caller must add an idle worker. */
  classFor(offering: Offering): WorkerClass;
  /** Marks the shape as unused if it has no pending job. Removes the oldest unused shape if there are too many. */
  markShapeIfUnused(shape: Shape): void;
  /** If the class has no idle worker, removes it from `open` of all shapes and marks it as unused. Limits unused classes. */
  markClassIfUnused(workerClass: WorkerClass): void;
}

/** Maximum number of unused shapes and classes. They are cached, because matching is expensive. */
const spareShapes = 64;
const spareClasses = 4096;

export function createMatchIndex(): MatchIndex {
  const shapes = new Map<string, Shape>();
  const classes = new Map<string, WorkerClass>();
  /** Shapes without jobs, and classes without idle workers. The longest unused is first. */
  const unusedShapes = new Set<Shape>();
  const unusedClasses = new Set<WorkerClass>();

  const newShape = (key: string, needs: Requirements, team: string | null): Shape => {
    const shape = createShape(key, needs, team);
    shapes.set(key, shape);
    for (const workerClass of classes.values()) match(shape, workerClass);
    return shape;
  };
  const newClass = (key: string, offering: Offering): WorkerClass => {
    const workerClass = createClass(key, offering);
    classes.set(key, workerClass);
    for (const shape of shapes.values()) match(shape, workerClass);
    return workerClass;
  };

  return {
    shapes: () => shapes.values(),
    shapeFor(needs, team) {
      const needed = shapeOf(needs);
      const key = team === null ? needed : `${needed} ${team}`;
      const shape = shapes.get(key) ?? newShape(key, needs, team);
      unusedShapes.delete(shape);
      return shape;
    },
    classFor(offering) {
      const key = classOf(offering);
      const workerClass = classes.get(key) ?? newClass(key, offering);
      unusedClasses.delete(workerClass);
      if (workerClass.idle.size === 0) for (const shape of workerClass.fits.keys()) open(shape, workerClass);
      return workerClass;
    },
    markShapeIfUnused(shape) {
      if (shape.filled > 0) return;
      const surplus = addUnused(unusedShapes, shape, spareShapes);
      if (surplus === null) return;
      shapes.delete(surplus.key);
      for (const workerClass of classes.values()) workerClass.fits.delete(surplus);
    },
    markClassIfUnused(workerClass) {
      if (workerClass.idle.size > 0) return;
      for (const [shape, entry] of workerClass.fits) shape.open.drop(entry);
      const surplus = addUnused(unusedClasses, workerClass, spareClasses);
      if (surplus !== null) classes.delete(surplus.key);
    },
  };
}

function match(shape: Shape, workerClass: WorkerClass): void {
  if (shape.matcher(workerClass.offering).length > 0) return;
  if (workerClass.idle.size > 0) open(shape, workerClass);
  else workerClass.fits.set(shape, { workerClass, isLive: false });
}

function open(shape: Shape, workerClass: WorkerClass): void {
  const entry = { workerClass, isLive: true };
  workerClass.fits.set(shape, entry);
  shape.open.add(entry);
}

/** Adds an item. If there are now too many, removes and returns the oldest item; otherwise returns null. */
function addUnused<T>(unused: Set<T>, item: T, max: number): T | null {
  unused.add(item);
  if (unused.size <= max) return null;
  const [oldest = item] = unused;
  unused.delete(oldest);
  return oldest;
}
