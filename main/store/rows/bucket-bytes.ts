import type { Bucket } from '../../orchestrator/ports/index.ts';

/** A bucket is ten little-endian doubles; NaN represents a null step. */
const fields = [
  'firstStep',
  'lastStep',
  'firstMs',
  'lastMs',
  'count',
  'min',
  'max',
  'mean',
  'last',
  'gaps',
] as const;
const bytesOfBucket = fields.length * 8;

export function bytesOf(buckets: readonly Bucket[]): Buffer {
  const bytes = Buffer.allocUnsafe(buckets.length * bytesOfBucket);
  let at = 0;
  for (const bucket of buckets) {
    for (const field of fields) at = bytes.writeDoubleLE(bucket[field] ?? Number.NaN, at);
  }
  return bytes;
}

export function bucketsOf(bytes: Buffer): readonly Bucket[] {
  return Array.from({ length: Math.floor(bytes.length / bytesOfBucket) }, (_, n) => {
    const number = (field: number): number => bytes.readDoubleLE(n * bytesOfBucket + field * 8);
    const step = (field: number): number | null => (Number.isNaN(number(field)) ? null : number(field));
    return {
      firstStep: step(0),
      lastStep: step(1),
      firstMs: number(2),
      lastMs: number(3),
      count: number(4),
      min: number(5),
      max: number(6),
      mean: number(7),
      last: number(8),
      gaps: number(9),
    };
  });
}
