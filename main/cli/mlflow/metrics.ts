import type { ReplyOf } from '../../../protocol/call.ts';
import type { metricsApi } from '../../../protocol/metrics-api.ts';
import type { JobDetail } from '../../../protocol/job.ts';
import { toMlflowNames } from './limits.ts';

export type Curves = ReplyOf<typeof metricsApi.read>['attempts'];

/** A value of a metric, as MLflow stores it. */
export interface Metric {
  readonly key: string;
  readonly value: number;
  /** ms since 1970. */
  readonly timestamp: number;
  readonly step: number;
}

/**
 * Converts the curves of all attempts to values, oldest first. Each point of a curve becomes one value, its mean; a gap has no
 * value. Curves without steps, such as GPU load, use the index of the value as its step.
 */
export function toMetrics(
  { attempts: jobAttempts }: Pick<JobDetail, 'attempts'>,
  attempts: Curves,
): readonly Metric[] {
  const names = toMlflowNames([...new Set(attempts.flatMap(({ series }) => series.map(({ key }) => key)))]);
  const counts = new Map<string, number>();
  const metrics: Metric[] = [];
  for (const { attempt, started_at: startedAt, series } of attempts) {
    const offeredAt = jobAttempts.find(each => each.attempt === attempt)?.offered_at ?? null;
    const start = Date.parse(startedAt ?? offeredAt ?? '');
    for (const { key, points } of series) {
      for (const { step, elapsed_ms: elapsedMs, mean } of points) {
        const count = counts.get(key) ?? 0;
        counts.set(key, count + 1);
        if (mean === null || !Number.isFinite(start)) continue;
        const timestamp = Math.round(start + elapsedMs);
        metrics.push({ key: names.get(key) ?? key, value: mean, timestamp, step: Math.round(step ?? count) });
      }
    }
  }
  return metrics.toSorted((a, b) => a.timestamp - b.timestamp || a.step - b.step);
}

/** The time and step of a value. The values of a metric are sent in the order of time, then step. */
export type Moment = Pick<Metric, 'timestamp' | 'step'>;

export const isLater = (a: Moment, b: Moment): boolean =>
  a.timestamp > b.timestamp || (a.timestamp === b.timestamp && a.step > b.step);

/** Returns the values that are later than the last value of their metric in `newest`. */
export const laterThan = (
  metrics: readonly Metric[],
  newest: ReadonlyMap<string, Moment>,
): readonly Metric[] =>
  metrics.filter(metric => {
    const last = newest.get(metric.key);
    return last === undefined || isLater(metric, last);
  });
