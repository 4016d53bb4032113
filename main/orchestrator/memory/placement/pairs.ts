import type { Requirements } from '../../../../protocol/job.ts';
import { classOf, shapeOf } from '../../rules/matching.ts';
import type { Offering } from '../../model.ts';
import { createClass, createShape, type Shape, type WorkerClass } from './shape.ts';

/** Matches worker classes to job shapes, once per pair (docs/internals/semantics.md, section 7). */
export interface Pairs {
  readonly shapes: () => Iterable<Shape>;
  /** The shape for this team's jobs with these requirements. */
  shapeFor(needs: Requirements, team: string | null): Shape;
  /** The class for workers with this offering. Opens it for the shapes that it fits, because the caller then adds a worker. */
  classFor(offering: Offering): WorkerClass;
  /** If no job waits in the shape, lets it expire. */
  leaveShape(shape: Shape): void;
  /** If the class has no idle worker, closes it and lets it expire. */
  leaveClass(group: WorkerClass): void;
}

/** Matching is expensive, so this many unused shapes and classes stay cached. */
const spareShapes = 64;
const spareClasses = 4096;

export function createPairs(): Pairs {
  const shapes = new Map<string, Shape>();
  const classes = new Map<string, WorkerClass>();
  /** Shapes without a job, and classes without an idle worker, the longest unused first. */
  const unwanted = new Set<Shape>();
  const vacant = new Set<WorkerClass>();

  const newShape = (key: string, needs: Requirements, team: string | null): Shape => {
    const shape = createShape(key, needs, team);
    shapes.set(key, shape);
    for (const group of classes.values()) pair(shape, group);
    return shape;
  };
  const newClass = (key: string, offering: Offering): WorkerClass => {
    const group = createClass(key, offering);
    classes.set(key, group);
    for (const shape of shapes.values()) pair(shape, group);
    return group;
  };

  return {
    shapes: () => shapes.values(),
    shapeFor(needs, team) {
      const needed = shapeOf(needs);
      const key = team === null ? needed : `${needed} ${team}`;
      const shape = shapes.get(key) ?? newShape(key, needs, team);
      unwanted.delete(shape);
      return shape;
    },
    classFor(offering) {
      const key = classOf(offering);
      const group = classes.get(key) ?? newClass(key, offering);
      vacant.delete(group);
      if (group.idle.size === 0) for (const shape of group.fits.keys()) open(shape, group);
      return group;
    },
    leaveShape(shape) {
      if (shape.filled > 0) return;
      const surplus = setAside(unwanted, shape, spareShapes);
      if (surplus === null) return;
      shapes.delete(surplus.key);
      for (const group of classes.values()) group.fits.delete(surplus);
    },
    leaveClass(group) {
      if (group.idle.size > 0) return;
      for (const [shape, place] of group.fits) shape.open.drop(place);
      const surplus = setAside(vacant, group, spareClasses);
      if (surplus !== null) classes.delete(surplus.key);
    },
  };
}

function pair(shape: Shape, group: WorkerClass): void {
  if (shape.matcher(group.offering).length > 0) return;
  if (group.idle.size > 0) open(shape, group);
  else group.fits.set(shape, { group, isLive: false });
}

function open(shape: Shape, group: WorkerClass): void {
  const place = { group, isLive: true };
  group.fits.set(shape, place);
  shape.open.add(place);
}

/** Returns the oldest item if there are now too many, otherwise null. */
function setAside<T>(spare: Set<T>, item: T, most: number): T | null {
  spare.add(item);
  if (spare.size <= most) return null;
  const [oldest = item] = spare;
  spare.delete(oldest);
  return oldest;
}
