/** Above this, a curve would hardly move. */
export const maxSmoothing = 0.99;

/**
 * Exponential moving average. `weight`, from 0 to `maxSmoothing`, is the weight of earlier values. It corrects the bias towards 0 at the
 * start (as for Adam's moments: Kingma and Ba 2015, section 3). Gaps stay gaps, and values before a gap count after it.
 */
export function smoothed(values: readonly (number | null)[], weight: number): readonly (number | null)[] {
  const share = Math.min(maxSmoothing, Math.max(0, weight));
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
