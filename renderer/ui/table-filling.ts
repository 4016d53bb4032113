/** When the rows that come into sight get their cells. */
export interface Filling {
  /** Runs it in one of the next frames; the answer takes it back. */
  ask(fill: () => void): () => void;
}

/** A row takes about a millisecond, and so many come into sight with one turn of a wheel that does not hurry. */
const rowsPerFrame = 6;

/**
 * Cells come a moment after their rows, few in a frame: a whole screen of them at once would hold up whoever scrolls. Those
 * of the first screen come together, because nobody scrolls yet.
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
    const most = isFirst ? waiting.size : rowsPerFrame;
    isFirst = false;
    isPlanned = false;
    for (const fill of [...waiting].slice(0, most)) {
      waiting.delete(fill);
      fill();
    }
    plan();
  };
  return {
    ask(fill) {
      waiting.add(fill);
      plan();
      return () => void waiting.delete(fill);
    },
  };
}
