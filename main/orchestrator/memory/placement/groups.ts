import { bySpare, byTurn, type Idle, type Shape, type Waiting } from './shapes.ts';

/**
 * Returns whether the fleet has enough workers for a shape that needs several workers. Idle and busy workers count. A shape
 * is a group of pending jobs with the same team and requirements.
 */
export type CanGather = (shape: Pick<Shape, 'key' | 'nodes' | 'matcher'>) => boolean;

/**
 * Returns the idle workers that fit a shape, best first and `avoided` last. Omits workers that fit `keptShape`, because they
 * are kept for a job of that shape. Scans all idle workers, so callers use it only if the shape needs several workers, or
 * while workers are kept. Other placements use the rankings.
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
 * Chooses the workers for a job on several machines: one worker with all machines, or else workers with one machine each.
 * Prefers workers of the same class. Empty when there are too few.
 */
export function groupOf(shape: Shape, fitting: readonly Idle[]): readonly Idle[] {
  const single = fitting.find(({ workerClass }) => workerClass.offering.nodes === shape.nodes);
  if (single !== undefined) return [single];
  const classes = [...Map.groupBy(fitting, ({ workerClass }) => workerClass).values()];
  const enough = classes.find(({ length }) => length >= shape.nodes) ?? fitting;
  return enough.length < shape.nodes ? [] : enough.slice(0, shape.nodes);
}

/**
 * Returns the job for which idle workers are kept; null for none. The job needs several workers. Enough workers fit the job,
 * but too few of them are idle. Without keeping idle workers, small jobs would take them, and the large job would never
 * start. `heads`: the first job of each shape that needs several workers.
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
