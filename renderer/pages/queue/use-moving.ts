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
  /** Position after the drop. */
  readonly position: number;
  /** The step of the keyboard that a boundary stopped. */
  readonly stopped: Plan | null;
}

/** The end of a move, to be announced. */
export interface Ended {
  readonly job: JobView;
  readonly kind: 'moved' | 'stayed' | 'gone';
  readonly by: Moving['by'];
  readonly position: number;
}

interface MovingDeps {
  readonly table: RefObject<TableControl<QueueRow> | null>;
  /** Sends the move. Returns false when the server refused it. */
  readonly send: (id: JobId, target: Target) => Promise<boolean>;
}

/** The state of moving one job within the table, by pointer or keyboard. */
export function useMoving({ table, send }: MovingDeps) {
  const [moving, setMoving] = useState<Moving | null>(null);
  const [ended, setEnded] = useState<Ended | null>(null);
  const [sentId, setSentId] = useState<JobId | null>(null);
  /** The same as the state, for handlers that run before the next render. */
  const current = useRef<Moving | null>(null);
  const put = useCallback((next: Moving | null): void => {
    current.current = next;
    setMoving(next);
  }, []);
  /** Jobs that wait for other jobs are at the end of the table. */
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
    /** Returns how a job is being moved at this moment; null when none is. */
    movedBy: (): Moving['by'] | null => current.current?.by ?? null,
    /** The job that moves or has moved. Its row stays in the page, so that it keeps the focus. */
    keptId: moving?.job.id ?? sentId,
    start(job: JobView, by: Moving['by']): void {
      setEnded(null);
      setSentId(null);
      table.current?.unfreeze();
      point(job, by, indexOf(job.id));
    },
    /** Points to a gap of the table as it is shown. */
    pointTo(gap: number): void {
      const move = current.current;
      const to = Math.max(0, Math.min(gap, rows().length));
      // Most movements of the pointer stay within one gap.
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
      // The pointer has entered the table again with the drop.
      table.current?.unfreeze();
      end(move, isMoved ? 'moved' : 'stayed', isMoved ? position : index + 1);
      if (isMoved) table.current?.scrollTo(position - 1);
    },
  };
}

export type MoveControl = ReturnType<typeof useMoving>;
