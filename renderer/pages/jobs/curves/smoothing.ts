/** Beyond this a curve would hardly move at all. */
export const mostSmoothing = 0.99;

/**
 * An exponential mean: `weight`, from 0 to `mostSmoothing`, is how much of what was counts beside what comes. The beginning is
 * not drawn towards 0 (the bias of Adam's moments, and its correction: Kingma and Ba 2015, section 3). Gaps stay gaps, and what
 * was before them counts after them.
 */
export function smoothed(values: readonly (number | null)[], weight: number): readonly (number | null)[] {
  const share = Math.min(mostSmoothing, Math.max(0, weight));
  if (share === 0) return values;
  let mean = 0;
  let counted = 0;
  return values.map(value => {
    if (value === null) return null;
    mean = share * mean + (1 - share) * value;
    counted += 1;
    return mean / (1 - share ** counted);
  });
}
