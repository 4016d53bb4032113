/** How a curve of any length is kept in a bounded space: as stretches that grow where there are too many of them. */

/** A stretch of one curve. */
export interface Bucket {
  /** Null where the trainer has counted no steps. */
  readonly firstStep: number | null;
  readonly lastStep: number | null;
  /** Since the attempt began. */
  readonly firstMs: number;
  readonly lastMs: number;
  /** Of numbers; 0, and the four after it too, when all values in it are gaps. */
  readonly count: number;
  readonly min: number;
  readonly max: number;
  readonly mean: number;
  readonly last: number;
  /** Values that were no numbers. */
  readonly gaps: number;
}

export interface Sample {
  readonly step: number | null;
  readonly ms: number;
  /** Null for a gap. */
  readonly value: number | null;
}

/** Of one curve; after the merging that follows there are half as many. */
export const mostBuckets = 2_048;
/** Merging a curve takes a moment, and many of a training are full at once: so many more may wait for their turn. */
export const sparedBuckets = 512;
/** They are stored by the page, and only the last one is written when a value comes. */
export const bucketsOfPage = 64;

function bucketOf({ step, ms, value }: Sample): Bucket {
  const figure = value ?? 0;
  const [count, gaps] = value === null ? [0, 1] : [1, 0];
  const place = { firstStep: step, lastStep: step, firstMs: ms, lastMs: ms };
  return { ...place, count, min: figure, max: figure, mean: figure, last: figure, gaps };
}

function merge(a: Bucket, b: Bucket): Bucket {
  const place = {
    firstStep: a.firstStep ?? b.firstStep,
    lastStep: b.lastStep ?? a.lastStep,
    firstMs: a.firstMs,
    lastMs: b.lastMs,
  };
  const gaps = a.gaps + b.gaps;
  if (a.count === 0 || b.count === 0) return { ...(a.count === 0 ? b : a), ...place, gaps };
  const count = a.count + b.count;
  const [min, max] = [Math.min(a.min, b.min), Math.max(a.max, b.max)];
  // Each share by itself: the sum of two values may be more than there are numbers for.
  const mean = a.mean * (a.count / count) + b.mean * (b.count / count);
  // What is rounded may be beyond what it is the mean of.
  return { ...place, count, min, max, mean: Math.min(max, Math.max(min, mean)), last: b.last, gaps };
}

/** `width` is how many values a bucket takes before the next one is begun. */
export function grow(buckets: readonly Bucket[], samples: readonly Sample[], width: number): Bucket[] {
  const grown = [...buckets];
  for (const sample of samples) {
    const last = grown.at(-1);
    if (last === undefined || last.count + last.gaps >= width) grown.push(bucketOf(sample));
    else grown[grown.length - 1] = merge(last, bucketOf(sample));
  }
  return grown;
}

/** Neighbours as one, until there are few enough; each is as many times as wide then as `widened` says. */
export function halve(
  buckets: readonly Bucket[],
  most = mostBuckets,
): { readonly buckets: readonly Bucket[]; readonly widened: number } {
  if (buckets.length <= most) return { buckets, widened: 1 };
  const pairs = groups(buckets, Math.ceil(buckets.length / 2), at => at * 2);
  const { buckets: fewer, widened } = halve(pairs, most);
  return { buckets: fewer, widened: 2 * widened };
}

/** At most `most` of them, neighbours being merged evenly: the lowest and the highest value of each stay. */
export const thin = (buckets: readonly Bucket[], most: number): readonly Bucket[] =>
  buckets.length <= most ? buckets : groups(buckets, most, at => Math.floor((at * buckets.length) / most));

/** None of them may be empty. */
const groups = (
  buckets: readonly Bucket[],
  count: number,
  beginOf: (group: number) => number,
): readonly Bucket[] =>
  Array.from({ length: count }, (_, at) => buckets.slice(beginOf(at), beginOf(at + 1)).reduce(merge));

export const pagesOf = (buckets: readonly Bucket[]): readonly (readonly Bucket[])[] =>
  Array.from({ length: Math.ceil(buckets.length / bucketsOfPage) }, (_, page) =>
    buckets.slice(page * bucketsOfPage, (page + 1) * bucketsOfPage),
  );

/** All limits included; null for none. */
export interface Range {
  readonly fromStep: number | null;
  readonly toStep: number | null;
  readonly fromMs: number | null;
  readonly toMs: number | null;
}

/** Those that reach into the range; where steps are asked for, those without a step are not meant. */
export function within(
  buckets: readonly Bucket[],
  { fromStep, toStep, fromMs, toMs }: Range,
): readonly Bucket[] {
  const reaches = (first: number | null, last: number | null, from: number | null, to: number | null) =>
    (from === null || (last !== null && last >= from)) && (to === null || (first !== null && first <= to));
  return buckets.filter(
    ({ firstStep, lastStep, firstMs, lastMs }) =>
      reaches(firstStep, lastStep, fromStep, toStep) && reaches(firstMs, lastMs, fromMs, toMs),
  );
}
