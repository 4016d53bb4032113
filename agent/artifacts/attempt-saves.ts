import type { AttemptId } from '../../protocol/ids.ts';
import type { Output } from './outputs.ts';

/** `newer`: one that was written since `hasten`. `earlier`: only others of this attempt. `none`: no checkpoint of this attempt. */
export type Saved = 'newer' | 'earlier' | 'none';

/** Which checkpoints of the attempt at work are completely uploaded, and how long saving takes. */
export interface AttemptSaves {
  /**
   * The uploads of an attempt begin. `startedAt`: when its trainer started, in ms since 1970. Returns a function to call for
   * each checkpoint that is completely uploaded.
   */
  begin(attemptId: AttemptId, startedAt: number): (checkpoint: Output) => void;
  /** Only checkpoints that are written from now on count as `newer`. */
  hasten(attemptId: AttemptId): void;
  /** `stored`: the checkpoints that are uploaded as they are on the disk now. */
  saved(attemptId: AttemptId, stored: readonly Output[]): Saved;
  /** The longest of the last times from a checkpoint's first file to its upload, in ms; null before the first one. */
  saveMs(): number | null;
}

/** A trainer may pause between two files of a checkpoint, so a folder must be unchanged for longer than a file. In ms. */
const settledMs = { file: 5_000, folder: 10_000 } as const;
/** Some file systems store whole seconds. */
const coarseMs = 2_000;
const maxTimes = 3;

const lastChange = ({ files }: Output): number => Math.max(...files.map(([, { changedAt }]) => changedAt));
const firstChange = ({ files }: Output): number => Math.min(...files.map(([, { changedAt }]) => changedAt));

/** `wall` returns ms since 1970. */
export function createAttemptSaves(wall: () => number): AttemptSaves {
  /** The attempts with a checkpoint of their own, and when each was hastened. Few, because there is one trainer at a time. */
  const withCheckpoint = new Set<AttemptId>();
  const hastened = new Map<AttemptId, number>();
  let times: readonly number[] = [];

  return {
    begin(attemptId, startedAt) {
      const beganAt = wall();
      return checkpoint => {
        // The folder may have checkpoints of an earlier attempt.
        if (lastChange(checkpoint) >= startedAt - coarseMs) withCheckpoint.add(attemptId);
        const first = firstChange(checkpoint);
        if (first >= beganAt) times = [...times, Math.max(0, wall() - first)].slice(-maxTimes);
      };
    },
    hasten(attemptId) {
      if (!hastened.has(attemptId)) hastened.set(attemptId, wall());
    },
    saved(attemptId, stored) {
      if (!withCheckpoint.has(attemptId)) return 'none';
      const since = (hastened.get(attemptId) ?? Number.POSITIVE_INFINITY) - coarseMs;
      const isNewer = (output: Output): boolean => {
        const changedAt = lastChange(output);
        return changedAt >= since && wall() - changedAt >= settledMs[output.isFolder ? 'folder' : 'file'];
      };
      return stored.some(isNewer) ? 'newer' : 'earlier';
    },
    saveMs: () => (times.length === 0 ? null : Math.max(...times)),
  };
}
