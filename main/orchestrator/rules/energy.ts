/** Energy and GPU time of the fleet, from power readings and spans of time. */
import type { MonoMs, WallMs } from '../model.ts';
import type { GpuSpan } from '../ports/index.ts';

export const dayMs = 86_400_000;

/** The power draw of a worker's GPUs at one moment: watts by GPU number. */
export interface PowerReading {
  readonly at: MonoMs;
  readonly watts: ReadonlyMap<number, number>;
}

/**
 * Returns the joules that each GPU used between two readings. Includes only the GPUs in both readings. Returns an empty
 * map if the readings are more than `maxGapMs` apart, because the power between them is unknown.
 */
export function energyBetween(
  before: PowerReading | null,
  now: PowerReading,
  maxGapMs: number,
): ReadonlyMap<number, number> {
  const joules = new Map<number, number>();
  const ms = before === null ? 0 : now.at - before.at;
  if (before === null || ms <= 0 || ms > maxGapMs) return joules;
  for (const [gpu, watts] of now.watts) {
    const earlier = before.watts.get(gpu);
    if (earlier !== undefined) joules.set(gpu, ((earlier + watts) / 2) * (ms / 1_000));
  }
  return joules;
}

/** Returns the UTC day of a time, as a number of days since 1970-01-01. */
export const dayOf = (at: WallMs): number => Math.floor(at / dayMs);

/** Adds the GPU-milliseconds of a span to each day that it covers, from day `first` to day `last`. */
export function addSpan(
  days: Map<number, number>,
  { startedAt, endedAt, gpus }: GpuSpan,
  first: number,
  last: number,
): void {
  const from = Math.max(first, dayOf(startedAt));
  const to = Math.min(last, dayOf(endedAt));
  for (let day = from; day <= to; day += 1) {
    const ms = Math.min(endedAt, (day + 1) * dayMs) - Math.max(startedAt, day * dayMs);
    if (ms > 0) days.set(day, (days.get(day) ?? 0) + ms * gpus);
  }
}

const hourMs = 3_600_000;

/** Converts GPU-milliseconds to GPU-hours. Rounds to three decimals, so that all views show the same figure. */
export const toGpuHours = (gpuMs: number): number => Math.round((gpuMs / hourMs) * 1_000) / 1_000;

const joulesPerKwh = 3_600_000;

export const toKwh = (joules: number): number => joules / joulesPerKwh;

/** Returns the sum of the known costs; null if none is known. A cost is null when its price is unknown. */
export function sumCosts(costs: readonly (number | null)[]): number | null {
  const knownCosts = costs.filter(cost => cost !== null);
  return knownCosts.length === 0 ? null : knownCosts.reduce((sum, cost) => sum + cost, 0);
}
