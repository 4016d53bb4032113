import type { JobUsage } from '../../../protocol/job.ts';
import type { UsageDay } from '../../../protocol/usage-api.ts';
import type { Core } from '../core.ts';
import type { Attempt, Job } from '../model.ts';
import { gpusFor } from '../model.ts';
import { addSpan, dayMs, dayOf, sumCosts, toGpuHours, toKwh } from '../rules/energy.ts';

const hourMs = 3_600_000;
/** Time in ms for which figures are cached, because their computation reads many ended attempts. */
const keptMs = 30_000;

const round = (value: number): number => Math.round(value * 1_000) / 1_000;
const roundOrNull = (value: number | null): number | null => (value === null ? null : round(value));

/** Computes GPU-hours, energy and cost of the fleet. */
export function createUsage(core: Core) {
  let last: { readonly key: string; readonly at: number; readonly days: readonly UsageDay[] } | null = null;
  return {
    /** Returns the figures of the last `count` days, today last. */
    usageByDay(count: number): { readonly days: readonly UsageDay[]; readonly currency: string | null } {
      const today = dayOf(core.time.now());
      const electricity = core.electricity();
      const key = JSON.stringify([today, count, electricity]);
      const at = core.clock.mono();
      if (last?.key !== key || at - last.at > keptMs)
        last = { key, at, days: computeDays(core, today - count + 1, today) };
      return { days: last.days, currency: electricity.currency };
    },
  };
}

function computeDays(core: Core, first: number, last: number): readonly UsageDay[] {
  const now = core.time.now();
  const gpuMs = new Map<number, number>();
  for (const span of core.store.gpuSpans(first * dayMs, now)) addSpan(gpuMs, span, first, last);
  const energy = energyByDay(core, first);
  const poolCosts = poolCostsByDay(core, first, last);
  const { price_per_kwh: price } = core.electricity();
  return Array.from({ length: last - first + 1 }, (_, at) => {
    const day = first + at;
    const used = energy.get(day);
    const electricityCost =
      used === undefined || used.own === 0 || price === null ? null : toKwh(used.own) * price;
    return {
      day: core.clock.iso(day * dayMs).slice(0, 10),
      gpu_hours: toGpuHours(gpuMs.get(day) ?? 0),
      energy_kwh: used === undefined ? null : round(toKwh(used.joules)),
      cost: roundOrNull(sumCosts([electricityCost, poolCosts.get(day) ?? null])),
    };
  });
}

/** Returns the joules of each day, including energy that is not stored yet. `own`: without workers of pools. */
function energyByDay({ store, energy }: Core, first: number) {
  const days = new Map<number, { joules: number; own: number }>();
  const add = (day: number, joules: number, ownJoules: number): void => {
    const total = days.get(day) ?? { joules: 0, own: 0 };
    days.set(day, { joules: total.joules + joules, own: total.own + ownJoules });
  };
  for (const { day, joules, own } of store.energyByDay(first)) add(day, joules, own);
  for (const { day, joules, isOwn } of energy.waiting().workers) add(day, joules, isOwn ? joules : 0);
  return days;
}

/** Returns the cost of each day on which a pool with a price had machines. */
function poolCostsByDay({ store, time }: Core, first: number, last: number): ReadonlyMap<number, number> {
  const costs = new Map<number, number>();
  const prices = new Map(store.pools().map(({ id, settings }) => [id, settings.price_per_gpu_hour]));
  for (const { poolId, ...span } of store.launchSpans(first * dayMs, time.now())) {
    const price = prices.get(poolId) ?? null;
    if (price !== null) addSpan(costs, { ...span, gpus: (span.gpus * price) / hourMs }, first, last);
  }
  return costs;
}

/** Returns the total usage of a job's attempts; null before the first attempt starts. */
export function usageOfJob(core: Core, job: Job, attempts: readonly Attempt[]): JobUsage | null {
  const started = attempts.filter(({ startedAt }) => startedAt !== null);
  if (started.length === 0) return null;
  const stored = core.store.energyOfAttempts(job.id);
  const waiting = new Map(
    core.energy.waiting().attempts.map(({ attemptId, joules }) => [attemptId, joules] as const),
  );
  const gpus = gpusFor(job.spec).length * (job.spec.requirements.nodes ?? 1);
  const usages = started.map(attempt => {
    const energy = sumCosts([stored.get(attempt.id) ?? null, waiting.get(attempt.id) ?? null]);
    const hours = (gpus * runMs(core, attempt)) / hourMs;
    return { hours, energy, cost: costOf(core, attempt, hours, energy) };
  });
  const energy = sumCosts(usages.map(part => part.energy));
  return {
    gpu_hours: round(usages.reduce((sum, { hours }) => sum + hours, 0)),
    energy_kwh: energy === null ? null : round(toKwh(energy)),
    cost: roundOrNull(sumCosts(usages.map(({ cost }) => cost))),
    currency: core.electricity().currency,
  };
}

const runMs = ({ clock }: Core, { startedAt, end }: Attempt): number =>
  startedAt === null ? 0 : Math.max(0, (end?.at ?? clock.wall()) - startedAt);

/** Returns the cost of an attempt; null when its price is unknown. */
function costOf(core: Core, { workerId }: Attempt, hours: number, joules: number | null): number | null {
  const launch = core.store.launchOfWorker(workerId);
  if (launch !== null) {
    const price = core.store.pool(launch.poolId)?.settings.price_per_gpu_hour ?? null;
    return price === null ? null : hours * price;
  }
  const { price_per_kwh: price } = core.electricity();
  return price === null || joules === null ? null : toKwh(joules) * price;
}
