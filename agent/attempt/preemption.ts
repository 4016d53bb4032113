import type { Progress } from '../../protocol/reports.ts';

/** Announces that the machine will be taken away, or that its owner needs it. */
export interface Announcement {
  /** A sentence without the full stop. */
  readonly reason: string;
  /** When the trainer must have ended and its end must be reported, in ms of the monotonic clock. */
  readonly endsAt: number;
  /** Whether the trainer may run on until then if it cannot be asked to save: it may write a checkpoint by itself. */
  readonly mayWait: boolean;
}

/** The announcements for a running attempt, combined. */
export interface Preemption extends Announcement {
  /** When it was announced, in ms of the monotonic clock. */
  readonly startedAt: number;
}

/** Combines announcements for the same attempt: the earliest end counts. */
export function combine(earlier: Preemption | null, later: Announcement, now: number): Preemption {
  if (earlier === null) return { ...later, startedAt: now };
  const { reason } = later.endsAt < earlier.endsAt ? later : earlier;
  return {
    reason,
    endsAt: Math.min(earlier.endsAt, later.endsAt),
    mayWait: earlier.mayWait && later.mayWait,
    startedAt: earlier.startedAt,
  };
}

const totalMs = ({ endsAt, startedAt }: Preemption): number => Math.max(0, endsAt - startedAt);

/** The time to report the end of the attempt. */
const maxReportMs = 5_000;
const reportMs = (preemption: Preemption): number => Math.min(maxReportMs, totalMs(preemption) / 6);

/**
 * When to stop the trainer at the latest, in ms of the monotonic clock. A short notice is divided: the trainer gets at most a third
 * of it to stop, so that it has half of it to save.
 */
export const latestStop = (preemption: Preemption, graceMs: number): number =>
  preemption.endsAt - reportMs(preemption) - Math.min(graceMs, totalMs(preemption) / 3);

/** A trainer that ignores SIGTERM is killed while there is time to report that. */
const minGraceMs = 1_000;

/** The time for uploads, once the trainer has ended. */
export const uploadMs = (preemption: Preemption, now: number): number =>
  Math.max(0, preemption.endsAt - reportMs(preemption) - now);

/** The time from SIGTERM to SIGKILL, when the trainer is stopped now. */
export const graceUntilEnd = (preemption: Preemption, graceMs: number, now: number): number =>
  Math.max(minGraceMs, Math.min(graceMs, uploadMs(preemption, now)));

/** Whether the reported progress is before the last step. False for unknown progress. */
export const isHalfway = (progress: Progress | null): boolean =>
  progress?.step !== undefined && progress.total_steps !== undefined && progress.step < progress.total_steps;
