import type { Requirements } from '../../../protocol/job.ts';
import { classOf, type Offering, shapeOf } from '../matching.ts';
import { createClass, createShape, type Shape, type WorkerClass } from './shape.ts';

/** Which class fits which shape is worked out once a pair (docs/internals/semantics.md, section 7). */
export interface Pairs {
  readonly shapes: () => Iterable<Shape>;
  /** The shape for jobs of this team that want this. */
  shapeFor(needs: Requirements, team: string | null): Shape;
  /** The class for workers that offer this, open to the shapes that it fits: somebody is about to join it. */
  classFor(offering: Offering): WorkerClass;
  /** Forgets a shape in time, if nobody waits in it. */
  leaveShape(shape: Shape): void;
  /** Closes a class, if nobody is idle in it. */
  leaveClass(group: WorkerClass): void;
}

/** Matching is dear: what nobody waits for, and what nobody idle offers, is remembered for the next one, up to so many. */
const spareShapes = 64;
const spareClasses = 4096;

export function createPairs(): Pairs {
  const shapes = new Map<string, Shape>();
  const classes = new Map<string, WorkerClass>();
  /** Shapes without a job, and classes with nobody idle: first the one that has been so for longest. */
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

/** Answers with what there is too much of then, if anything. */
function setAside<T>(spare: Set<T>, item: T, most: number): T | null {
  spare.add(item);
  if (spare.size <= most) return null;
  const [oldest = item] = spare;
  spare.delete(oldest);
  return oldest;
}
