import { AttemptId, JobId, WorkerId } from '../../../protocol/ids.ts';
import type { MetricBucket } from '../../../protocol/metrics-api.ts';
import type { Curves, Dot, Line } from '../../../renderer/pages/jobs/curves/lines.ts';

/** Returns a point of a curve. By default, each step takes one second. A null value is a gap. */
export const bucket = (
  step: number | null,
  value: number | null,
  overrides: Partial<MetricBucket> = {},
): MetricBucket => ({
  step,
  elapsed_ms: (step ?? 0) * 1_000,
  mean: value,
  min: value,
  max: value,
  last: value,
  count: value === null ? 0 : 1,
  gaps: value === null ? 1 : 0,
  ...overrides,
});

/** Returns the curves of several attempts. Each attempt has the offset of its start and its points by metric. */
export const curvesOf = (
  ...attempts: readonly (readonly [offsetMs: number, Readonly<Record<string, MetricBucket[]>>])[]
): Curves => ({
  job_id: JobId.parse('j_1'),
  keys: [],
  attempts: attempts.map(([offset_ms, series], index) => ({
    attempt: index + 1,
    attempt_id: AttemptId.parse(`at_${index + 1}`),
    worker_id: WorkerId.parse(`w_${index + 1}`),
    started_at: null,
    ended_at: null,
    offset_ms,
    series: Object.entries(series).map(([key, points]) => ({ key, points })),
  })),
});

export const dot = (x: number, value: number | null, overrides: Partial<Dot> = {}): Dot => ({
  x,
  step: x,
  ms: x * 1_000,
  mean: value,
  min: value,
  max: value,
  last: value,
  count: value === null ? 0 : 1,
  ...overrides,
});

export const lineOf = (dots: readonly Dot[], overrides: Partial<Line> = {}): Line => ({
  id: '1/loss',
  job: null,
  attempt: 1,
  gpu: null,
  style: 0,
  withoutStep: 0,
  dots,
  ...overrides,
});
