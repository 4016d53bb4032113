import { type RefObject, useCallback, useRef, useState } from 'react';
import type { JobId } from '../../../protocol/ids.ts';
import type { JobView } from '../../../protocol/job.ts';
import type { TableControl } from '../../ui/table.tsx';
import {
  allowedGap,
  lineAt,
  type Plan,
  planMove,
  positionAt,
  type Step,
  stepFrom,
  type Target,
} from './moves.ts';
import { type QueueRow, waitsForJobs } from './order.ts';

/** A job that the user is moving. */
export interface Moving {
  readonly job: JobView;
  readonly by: 'pointer' | 'keys';
  /** The line at the gap that the user points to. */
  readonly line: Target | null;
  readonly plan: Plan;
  /** Position of the job after the drop, counted from 1. */
  readonly position: number;
  /** The refused plan beyond a boundary that stopped the last key press; null if no boundary stopped it. */
  readonly stopped: Plan | null;
}

/** The end of a move, which the page announces. */
export interface Ended {
  readonly job: JobView;
  readonly kind: 'moved' | 'stayed' | 'gone';
  readonly by: Moving['by'];
  readonly position: number;
}

interface MovingDeps {
  readonly table: RefObject<TableControl<QueueRow> | null>;
  /** Sends the move to the server. Returns false if the server refused the move. */
  readonly send: (id: JobId, target: Target) => Promise<boolean>;
}

/** Manages the move of one job within the table, by pointer or keyboard. */
export function useMoving({ table, send }: MovingDeps) {
  const [moving, setMoving] = useState<Moving | null>(null);
  const [ended, setEnded] = useState<Ended | null>(null);
  const [sentId, setSentId] = useState<JobId | null>(null);
  /** A copy of the state, for handlers that run before the next render. */
  const current = useRef<Moving | null>(null);
  const put = useCallback((next: Moving | null): void => {
    current.current = next;
    setMoving(next);
  }, []);
  /** Returns the movable rows. Jobs that wait for other jobs are not movable and at the end of the table. */
  const rows = (): readonly QueueRow[] => (table.current?.rows ?? []).filter(({ job }) => !waitsForJobs(job));
  const indexOf = (id: JobId): number => rows().findIndex(({ job }) => job.id === id);

  const point = (job: JobView, by: Moving['by'], gap: number, stopped: Plan | null = null): void => {
    const all = rows();
    const plan = planMove(all, job, gap);
    const at = indexOf(job.id);
    const position = plan.kind === 'move' ? positionAt(at, gap) : at + 1;
    put({ job, by, line: lineAt(all, gap), plan, position, stopped });
  };
  const end = ({ job, by }: Moving, kind: Ended['kind'], position: number): void => {
    put(null);
    setEnded({ job, by, kind, position });
  };
  const gapOf = ({ job, line }: Moving): number => {
    const at = indexOf(line?.id ?? job.id);
    return line?.side === 'after' ? at + 1 : at;
  };

  return {
    moving,
    ended,
    /** Returns the current kind of move; null if no job is being moved. */
    movedBy: (): Moving['by'] | null => current.current?.by ?? null,
    /** The job that moves or has moved. The table always renders its row, so that its grip keeps the focus. */
    keptId: moving?.job.id ?? sentId,
    start(job: JobView, by: Moving['by']): void {
      setEnded(null);
      setSentId(null);
      table.current?.unfreeze();
      point(job, by, indexOf(job.id));
    },
    /** Sets the target to a gap, by its index in the table. */
    pointTo(gap: number): void {
      const move = current.current;
      const to = Math.max(0, Math.min(gap, rows().length));
      // Skip pointer movements that stay within one gap.
      if (move !== null && to !== gapOf(move)) point(move.job, move.by, to);
    },
    step(step: Step): void {
      const move = current.current;
      if (move === null) return;
      const from = indexOf(move.job.id);
      const gap = gapOf(move);
      const to = stepFrom(gap, { step, from, count: rows().length });
      const allowed = allowedGap(rows(), move.job, { from: gap, to });
      const beyond = allowed === to ? null : planMove(rows(), move.job, allowed + Math.sign(to - gap));
      point(move.job, 'keys', allowed, beyond?.kind === 'refused' ? beyond : null);
      table.current?.scrollTo(Math.min(allowed, rows().length - 1));
    },
    cancel(): void {
      const move = current.current;
      if (move !== null) end(move, 'stayed', indexOf(move.job.id) + 1);
    },
    async drop(): Promise<void> {
      const move = current.current;
      if (move === null) return;
      const index = indexOf(move.job.id);
      if (index < 0) return end(move, 'gone', 0);
      const plan = planMove(rows(), move.job, gapOf(move));
      if (plan.kind === 'refused' && move.by === 'keys') return point(move.job, 'keys', gapOf(move));
      if (plan.kind !== 'move') return end(move, 'stayed', index + 1);
      const position = positionAt(index, gapOf(move));
      put(null);
      setSentId(move.job.id);
      const isMoved = await send(move.job.id, plan.target);
      // The drop let the pointer enter the table again, so the table has frozen the positions of its rows.
      table.current?.unfreeze();
      end(move, isMoved ? 'moved' : 'stayed', isMoved ? position : index + 1);
      if (isMoved) table.current?.scrollTo(position - 1);
    },
  };
}

export type MoveControl = ReturnType<typeof useMoving>;
