/**
 * Decides from observations whether a person uses the machine. Short use does not close the rig, and a short break does
 * not open it again.
 *
 *     free --use seen twice, `minUseMs` apart--> in use --no use for `minUnusedMs`--> free
 */
export interface UseFilter {
  /**
   * Records an observation, and returns whether the machine is in use. `usedAt`: when the machine was last used; null for never.
   * All times are in ms on one clock.
   */
  note(usedAt: number | null, now: number): boolean;
}

/** After more than this time without input, the next input starts a new period of use. */
const recentMs = 5 * 60_000;
const minUseMs = 60_000;
const minUnusedMs = 10 * 60_000;

export function createUseFilter(): UseFilter {
  let isInUse = false;
  let firstUsedAt: number | null = null;
  let lastUsedAt = Number.NEGATIVE_INFINITY;
  return {
    note(usedAt, now) {
      if (usedAt !== null && usedAt > lastUsedAt) lastUsedAt = Math.min(usedAt, now);
      if (isInUse) {
        isInUse = now - lastUsedAt < minUnusedMs;
        if (!isInUse) firstUsedAt = null;
        return isInUse;
      }
      if (now - lastUsedAt >= recentMs) firstUsedAt = null;
      else firstUsedAt ??= lastUsedAt;
      isInUse = firstUsedAt !== null && lastUsedAt - firstUsedAt >= minUseMs;
      return isInUse;
    },
  };
}
