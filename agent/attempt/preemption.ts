import type { Progress } from '../../protocol/reports.ts';

/** Announces that the machine will be taken away, or that its owner needs it. */
export interface Announcement {
  /** A sentence without the full stop. */
  readonly reason: string;
  /** Deadline for stopping the trainer and reporting its end, in ms of the monotonic clock. */
  readonly endsAt: number;
  /**
   * Whether a trainer that cannot save on request continues until the deadline. It might save by itself before then.
   */
  readonly mayWait: boolean;
}

/** The announcements for a running attempt, combined. */
export interface Preemption extends Announcement {
  /** When the first announcement arrived, in ms of the monotonic clock. */
  readonly startedAt: number;
}

/** Combines announcements for the same attempt: the earliest deadline counts. */
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

/** The maximum time that is reserved for the report of the attempt's end. */
const maxReportMs = 5_000;
const reportMs = (preemption: Preemption): number => Math.min(maxReportMs, totalMs(preemption) / 6);

/**
 * Returns the latest time to stop the trainer, in ms of the monotonic clock. Stopping gets at most a third of the notice,
 * and reporting at most a sixth. At least half of the notice is left for saving.
 */
export const latestStop = (preemption: Preemption, graceMs: number): number =>
  preemption.endsAt - reportMs(preemption) - Math.min(graceMs, totalMs(preemption) / 3);

/** The minimum time from SIGTERM to SIGKILL, even when the deadline is closer. */
const minGraceMs = 1_000;

/** Returns the time for uploads in ms, if the trainer ends now. */
export const uploadMs = (preemption: Preemption, now: number): number =>
  Math.max(0, preemption.endsAt - reportMs(preemption) - now);

/** Returns the time from SIGTERM to SIGKILL in ms, if the trainer is stopped now. Leaves time to report the end. */
export const graceUntilEnd = (preemption: Preemption, graceMs: number, now: number): number =>
  Math.max(minGraceMs, Math.min(graceMs, uploadMs(preemption, now)));

/** Whether the reported progress is before the last step. False for unknown progress. */
export const isUnfinished = (progress: Progress | null): boolean =>
  progress?.step !== undefined && progress.total_steps !== undefined && progress.step < progress.total_steps;
