import { bySpare, byTurn, type Idle, type Shape, type Waiting } from './shapes.ts';

/** Says whether enough workers of the fleet would fit a shape for several workers, counting those that are busy now. */
export type CanGather = (shape: Pick<Shape, 'key' | 'nodes' | 'matcher'>) => boolean;

/**
 * The idle workers that fit a shape, the one to take first in front. Omits workers that are kept for a job of the shape `keptShape`. A scan,
 * for shapes that need several workers and while workers are kept for such a shape; other placements use the rankings.
 */
export const idleFor = (
  idle: Iterable<Idle>,
  shape: Shape,
  { avoided, keptShape }: { readonly avoided: Idle | undefined; readonly keptShape: Shape | null },
): readonly Idle[] =>
  [...idle]
    .filter(({ group }) => group.fits.has(shape) && (keptShape === null || !group.fits.has(keptShape)))
    .toSorted(
      (a, b) =>
        Number(a === avoided) - Number(b === avoided) || bySpare(a.group, b.group) || a.order - b.order,
    );

/**
 * The workers for a job that trains on several machines: one worker that has them all, else workers with one machine each, if
 * possible of the same kind. Empty when there are too few.
 */
export function groupOf(shape: Shape, fitting: readonly Idle[]): readonly Idle[] {
  const whole = fitting.find(({ group }) => group.offering.nodes === shape.nodes);
  if (whole !== undefined) return [whole];
  const kinds = [...Map.groupBy(fitting, ({ group }) => group).values()];
  const enough = kinds.find(({ length }) => length >= shape.nodes) ?? fitting;
  return enough.length < shape.nodes ? [] : enough.slice(0, shape.nodes);
}

/**
 * The shape whose first job keeps idle workers from jobs behind it: it needs several workers, too few are idle, and enough exist.
 * Otherwise jobs that need one worker would take each worker that becomes idle, and it would never start.
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
