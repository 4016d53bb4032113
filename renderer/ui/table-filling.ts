/** Schedules when rows that scroll into view get their cells. */
export interface Filling {
  /** Runs `fill` in one of the next frames; the returned function cancels it. */
  schedule(fill: () => void): () => void;
}

/** Rendering a row takes about a millisecond. A slow turn of the mouse wheel brings about this many rows into view. */
const rowsPerFrame = 6;

/**
 * Fills the cells of new rows a few per frame, because a full screen at once would block scrolling. The first screen is filled at once,
 * because nothing scrolls yet.
 */
export function createFilling(inNextFrame: (run: () => void) => void): Filling {
  const waiting = new Set<() => void>();
  let isFirst = true;
  let isPlanned = false;
  const plan = (): void => {
    if (isPlanned || waiting.size === 0) return;
    isPlanned = true;
    inNextFrame(nextFrame);
  };
  const nextFrame = (): void => {
    const count = isFirst ? waiting.size : rowsPerFrame;
    isFirst = false;
    isPlanned = false;
    for (const fill of [...waiting].slice(0, count)) {
      waiting.delete(fill);
      fill();
    }
    plan();
  };
  return {
    schedule(fill) {
      waiting.add(fill);
      plan();
      return () => void waiting.delete(fill);
    },
  };
}
