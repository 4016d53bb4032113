import { bySpare, byTurn, type Idle, type Shape, type Waiting } from './shapes.ts';

/** Returns whether the fleet has enough workers for a shape that needs several. Busy workers count. */
export type CanGather = (shape: Pick<Shape, 'key' | 'nodes' | 'matcher'>) => boolean;

/**
 * Returns the idle workers that fit a shape, best first. `avoided` comes last. Omits workers that are kept for a job of the
 * shape `keptShape`. It scans all idle workers, so it is used only if the shape needs several workers, or while workers are
 * kept for such a shape. Other placements use the rankings.
 */
export const idleFor = (
  idle: Iterable<Idle>,
  shape: Shape,
  { avoided, keptShape }: { readonly avoided: Idle | undefined; readonly keptShape: Shape | null },
): readonly Idle[] =>
  [...idle]
    .filter(
      ({ workerClass }) =>
        workerClass.fits.has(shape) && (keptShape === null || !workerClass.fits.has(keptShape)),
    )
    .toSorted(
      (a, b) =>
        Number(a === avoided) - Number(b === avoided) ||
        bySpare(a.workerClass, b.workerClass) ||
        a.order - b.order,
    );

/**
 * The workers for a job that trains on several machines: one worker that has them all, else workers with one machine
 * each, if possible of the same class. Empty when there are too few.
 */
export function groupOf(shape: Shape, fitting: readonly Idle[]): readonly Idle[] {
  const whole = fitting.find(({ workerClass }) => workerClass.offering.nodes === shape.nodes);
  if (whole !== undefined) return [whole];
  const classes = [...Map.groupBy(fitting, ({ workerClass }) => workerClass).values()];
  const enough = classes.find(({ length }) => length >= shape.nodes) ?? fitting;
  return enough.length < shape.nodes ? [] : enough.slice(0, shape.nodes);
}

/**
 * The job for which idle workers are kept back. It needs several workers, too few are idle, but enough exist. Without
 * this, single-worker jobs would take each idle worker and this job would never start.
 */
export function keptFor(
  heads: readonly Waiting[],
  groupFor: (head: Waiting) => readonly Idle[],
  canGather: CanGather,
): Waiting | null {
  if (heads.length === 0) return null;
  const blocked = heads.filter(head => groupFor(head).length === 0).toSorted(byTurn);
  return blocked.find(({ queue: { shape } }) => canGather(shape)) ?? null;
}
