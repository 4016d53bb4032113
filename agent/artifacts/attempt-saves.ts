import type { AttemptId } from '../../protocol/ids.ts';
import type { Output } from './outputs.ts';

/**
 * The completely uploaded checkpoints of an attempt. `newer`: at least one was written after the request to save and
 * stop (`hasten`). `earlier`: all were written before that request. `none`: the attempt has no uploaded checkpoint.
 */
export type Saved = 'newer' | 'earlier' | 'none';

/** Tracks which checkpoints of the running attempt are completely uploaded, and how long saving takes. */
export interface AttemptSaves {
  /**
   * Call when the uploads of an attempt start. `startedAt`: when its trainer started, in ms since 1970. Returns a
   * function to call for each checkpoint that is completely uploaded.
   */
  begin(attemptId: AttemptId, startedAt: number): (checkpoint: Output) => void;
  /**
   * Call when the trainer is asked to save and stop. Only checkpoints written after the first call count as `newer`.
   */
  hasten(attemptId: AttemptId): void;
  /** `stored`: the checkpoints whose current content is completely on the server. */
  saved(attemptId: AttemptId, stored: readonly Output[]): Saved;
  /**
   * Returns how long it takes to write and upload a checkpoint, in ms: the maximum of the recent saves; null before the
   * first save.
   */
  saveMs(): number | null;
}

/**
 * A checkpoint counts as complete when it has not changed for this many ms. A trainer may pause between two files, so the
 * time is longer for a folder.
 */
const minUnchangedMs = { file: 5_000, folder: 10_000 } as const;
/** The tolerance for modification times in ms, because some file systems round them to whole seconds. */
const timestampToleranceMs = 2_000;
/** The number of recent saves whose duration counts. */
const maxSaveTimes = 3;

const lastChange = ({ files }: Output): number => Math.max(...files.map(([, { changedAt }]) => changedAt));
const firstChange = ({ files }: Output): number => Math.min(...files.map(([, { changedAt }]) => changedAt));

/** `wall` returns ms since 1970. */
export function createAttemptSaves(wall: () => number): AttemptSaves {
  // These collections stay small, because only one trainer runs at a time.
  const withCheckpoint = new Set<AttemptId>();
  const hastened = new Map<AttemptId, number>();
  let saveTimesMs: readonly number[] = [];

  return {
    begin(attemptId, startedAt) {
      const beganAt = wall();
      return checkpoint => {
        // The folder may have checkpoints of an earlier attempt.
        if (lastChange(checkpoint) >= startedAt - timestampToleranceMs) withCheckpoint.add(attemptId);
        const first = firstChange(checkpoint);
        if (first >= beganAt)
          saveTimesMs = [...saveTimesMs, Math.max(0, wall() - first)].slice(-maxSaveTimes);
      };
    },
    hasten(attemptId) {
      if (!hastened.has(attemptId)) hastened.set(attemptId, wall());
    },
    saved(attemptId, stored) {
      if (!withCheckpoint.has(attemptId)) return 'none';
      const since = (hastened.get(attemptId) ?? Number.POSITIVE_INFINITY) - timestampToleranceMs;
      const isNewer = (output: Output): boolean => {
        const changedAt = lastChange(output);
        return (
          changedAt >= since && wall() - changedAt >= minUnchangedMs[output.isFolder ? 'folder' : 'file']
        );
      };
      return stored.some(isNewer) ? 'newer' : 'earlier';
    },
    saveMs: () => (saveTimesMs.length === 0 ? null : Math.max(...saveTimesMs)),
  };
}
