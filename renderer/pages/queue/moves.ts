import type { JobId } from '../../../protocol/ids.ts';
import type { JobView } from '../../../protocol/job.ts';
import { effectivePriority, type QueueRow } from './order.ts';

/** The position to which a job moves: directly before or after the job `id`. */
export interface Target {
  readonly id: JobId;
  readonly side: 'before' | 'after';
}

/** Why a job cannot move next to another job: only one of them is at the top of the queue, or their priorities differ. */
type Refusal = 'targetIsTop' | 'jobIsTop' | 'priority';

/** The result of dropping a job into a gap between two rows. */
export type Plan =
  | { readonly kind: 'stay' }
  | { readonly kind: 'move'; readonly target: Target }
  | { readonly kind: 'refused'; readonly why: Refusal; readonly beside: JobView };

/** Returns why the server would refuse to move the job next to the target; null if the server would accept the move. */
function refusalOf(job: JobView, target: JobView): Refusal | null {
  if (target.is_top) return job.is_top ? null : 'targetIsTop';
  if (job.is_top) return 'jobIsTop';
  return effectivePriority(job) === effectivePriority(target) ? null : 'priority';
}

/** Plans the drop of a job into the gap above the row with this index. */
export function planMove(rows: readonly QueueRow[], job: JobView, gap: number): Plan {
  const above = rows[gap - 1]?.job;
  const below = rows[gap]?.job;
  if (above?.id === job.id || below?.id === job.id) return { kind: 'stay' };
  if (below !== undefined && refusalOf(job, below) === null)
    return { kind: 'move', target: { id: below.id, side: 'before' } };
  if (above !== undefined && refusalOf(job, above) === null)
    return { kind: 'move', target: { id: above.id, side: 'after' } };
  const beside = below ?? above;
  if (beside === undefined) return { kind: 'stay' };
  const why = refusalOf(job, beside);
  return why === null ? { kind: 'stay' } : { kind: 'refused', why, beside };
}

/** Returns the row and side for the line that marks the gap: the row below the gap, or else the last row. */
export function lineAt(rows: readonly QueueRow[], gap: number): Target | null {
  const below = rows[gap]?.job;
  if (below !== undefined) return { id: below.id, side: 'before' };
  const above = rows[gap - 1]?.job;
  return above === undefined ? null : { id: above.id, side: 'after' };
}

/** Returns the position in the table, counted from 1, after a drop into the gap. `from` is the current index of the row. */
export const positionAt = (from: number, gap: number): number => (gap > from ? gap : gap + 1);

export type Step = 'up' | 'down' | 'pageUp' | 'pageDown' | 'first' | 'last';

/** Number of rows that Page Up and Page Down move a job. */
const pageRows = 10;

/** Returns the gap after a key press. The two gaps next to the job's own row count as one. */
export function stepFrom(gap: number, { step, from, count }: StepInput): number {
  const others = count - 1;
  // Count without the job's own row, so that the two gaps next to this row are one position.
  const ownRow = gap > from ? gap - 1 : gap;
  const row = {
    up: ownRow - 1,
    down: ownRow + 1,
    pageUp: ownRow - pageRows,
    pageDown: ownRow + pageRows,
    first: 0,
    last: others,
  }[step];
  const to = Math.max(0, Math.min(others, row));
  return to > from ? to + 1 : to;
}

interface StepInput {
  readonly step: Step;
  /** Index of the job's row. */
  readonly from: number;
  readonly count: number;
}

/** Returns the last gap between `from` and `to` where the job may be dropped, so that keys stop at a boundary. */
export function allowedGap(
  rows: readonly QueueRow[],
  job: JobView,
  { from, to }: { readonly from: number; readonly to: number },
): number {
  const direction = to < from ? -1 : 1;
  const gaps = Array.from({ length: Math.abs(to - from) + 1 }, (_, step) => from + step * direction);
  return gaps.findLast(gap => planMove(rows, job, gap).kind !== 'refused') ?? from;
}
