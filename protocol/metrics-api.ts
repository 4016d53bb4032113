import { z } from 'zod';
import { call } from './call.ts';
import { AttemptId, JobId, WorkerId } from './ids.ts';

/** Bounds of what one call may bring, and of what is kept: who sends more is refused, or is not kept with it. */
export const metricBounds = {
  /** Of all that a job's attempts have brought. */
  keysOfJob: 64,
  keyLength: 64,
  pointsOfCall: 500,
} as const;

/** No comma, because keys are asked for with commas between them. */
const everyOddChar = /[\s,\p{C}]+/gu;

/** A trainer's own name for a figure as a key: shortened, with `_` for what a key can't have. Null when nothing is left. */
export function metricKeyOf(name: string): string | null {
  const key = name.trim().slice(0, metricBounds.keyLength).replaceAll(everyOddChar, '_');
  return isKey(key) ? key : null;
}

/** `__proto__`, because whoever copies an object by assignment loses or misuses it. */
const isKey = (key: string): boolean => /^[^\s,\p{C}]{1,64}$/u.test(key) && key !== '__proto__';

const MetricKey = z.string().refine(isKey, 'expected 1 to 64 characters without blanks and commas');

/** ms since the attempt began, by the rig's own clock: no clock of the orchestrator's is ever compared with it. */
const ElapsedMs = z.number().min(0).max(1e12);
const Step = z.number().min(0).max(1e12);

const MetricPoint = z.object({
  /** Rises from point to point of an attempt; numbers may be left out. */
  n: z.number().int().min(0).max(1e12),
  elapsed_ms: ElapsedMs,
  step: Step.optional(),
  epoch: Step.optional(),
  /** Null for a value that is no number: a loss of NaN is a gap that is seen. */
  values: z
    .record(MetricKey, z.number().nullable())
    .refine(values => Object.keys(values).length <= metricBounds.keysOfJob, 'at most 64 keys'),
});
export type MetricPoint = z.output<typeof MetricPoint>;

const MetricsReply = z.object({
  success: z.literal(true),
  /** Every point with a lower `n` has come, or is not wanted any more. */
  next: z.number(),
  /** The highest step that has come, and when; null before the first. */
  last_step: z.number().nullable(),
  last_elapsed_ms: z.number(),
});
export type MetricsReply = z.output<typeof MetricsReply>;

/** A stretch of a curve: one point, or several that lie next to each other. */
const MetricBucket = z.object({
  /** Where it ends, and when. */
  step: z.number().nullable(),
  elapsed_ms: z.number(),
  /** Null when all of it are gaps. */
  mean: z.number().nullable(),
  min: z.number().nullable(),
  max: z.number().nullable(),
  last: z.number().nullable(),
  count: z.number(),
  /** Values in it that were no numbers. */
  gaps: z.number(),
});
export type MetricBucket = z.output<typeof MetricBucket>;

const MetricSeries = z.object({
  key: z.string(),
  /** Oldest first. */
  points: z.array(MetricBucket),
});

const AttemptMetrics = z.object({
  attempt: z.number(),
  attempt_id: AttemptId,
  worker_id: WorkerId,
  started_at: z.string().nullable(),
  ended_at: z.string().nullable(),
  /** From the start of the job's first attempt with points to that of this one: what puts all of them on one axis of time. */
  offset_ms: z.number(),
  series: z.array(MetricSeries),
});

const MetricLatest = z.object({
  key: z.string(),
  /** The newest value that was a number; null when none was. */
  value: z.number().nullable(),
  step: z.number().nullable(),
  elapsed_ms: z.number(),
  attempt: z.number(),
});
export type MetricLatest = z.output<typeof MetricLatest>;

/** Keys with commas between them. */
const Keys = z
  .string()
  .transform(text => text.split(','))
  .pipe(z.array(MetricKey).min(1).max(metricBounds.keysOfJob));

const Whole = z.coerce.number().int().min(0).max(1e12);

const sieve = {
  /** The number of one; all of them, when it is left out. */
  attempt: z.coerce.number().int().min(1).max(1e9).optional(),
  keys: Keys.optional(),
};

const byJob = z.object({ id: JobId });

/** The figures of trainings: brought by workers, read by people and scripts. */
export const metricsApi = {
  bring: call({
    method: 'POST',
    path: '/api/workers/job/:id/metrics',
    authority: 'worker',
    summary:
      'Bring points of a training; what has come before is known by its number. None asks where to go on',
    params: byJob,
    body: z.object({
      attempt_id: AttemptId,
      points: z.array(MetricPoint).max(metricBounds.pointsOfCall).default([]),
    }),
    reply: MetricsReply,
  }),
  read: call({
    method: 'GET',
    path: '/api/queue/:id/metrics',
    authority: 'queue.view',
    own: 'job',
    summary: 'Show the curves of a job, an attempt each, as finely as asked for; peaks stay to be seen',
    params: byJob,
    query: z.object({
      ...sieve,
      from_step: Whole.optional(),
      to_step: Whole.optional(),
      from_ms: Whole.optional(),
      to_ms: Whole.optional(),
      /** Of each curve at most. */
      points: z.coerce.number().int().min(1).max(5_000).default(500),
    }),
    reply: z.object({
      job_id: JobId,
      /** All that there are, with the newest value of each. */
      keys: z.array(MetricLatest),
      /** Oldest first; one after the other they are one curve, with a break between. */
      attempts: z.array(AttemptMetrics),
    }),
  }),
  download: call({
    method: 'GET',
    path: '/api/queue/:id/metrics/csv',
    authority: 'queue.view',
    own: 'job',
    summary: 'Download the curves of a job as they are kept, as comma-separated values',
    params: byJob,
    query: z.object(sieve),
    reply: z.string(),
    stream: 'text/csv',
  }),
};
