import { z } from 'zod';
import { call } from './call.ts';
import { AttemptId, JobId, WorkerId } from './ids.ts';

/** Limits per request and for storage. Requests above a limit are refused, or the excess is not stored. */
export const metricBounds = {
  /** For all attempts of a job together. */
  keysOfJob: 64,
  keyLength: 64,
  pointsOfCall: 500,
} as const;

/** Excludes commas, because they separate keys in queries. */
const everyOddChar = /[\s,\p{C}]+/gu;

/**
 * Converts a trainer's name for a metric to a key: shortens it and replaces invalid characters by `_`. Returns null when the
 * result is not a valid key.
 */
export function metricKeyOf(name: string): string | null {
  const key = name.trim().slice(0, metricBounds.keyLength).replaceAll(everyOddChar, '_');
  return isKey(key) ? key : null;
}

/** Excludes `__proto__`, because copying an object by assignment loses or misuses that key. */
const isKey = (key: string): boolean => /^[^\s,\p{C}]{1,64}$/u.test(key) && key !== '__proto__';

const MetricKey = z.string().refine(isKey, 'expected 1 to 64 characters without blanks and commas');

/**
 * Milliseconds since the start of the attempt, by the rig's clock. It is never compared with the orchestrator's clock.
 */
const ElapsedMs = z.number().min(0).max(1e12);
const Step = z.number().min(0).max(1e12);

const MetricPoint = z.object({
  /** Increases within an attempt; numbers may be skipped. */
  n: z.number().int().min(0).max(1e12),
  elapsed_ms: ElapsedMs,
  step: Step.optional(),
  epoch: Step.optional(),
  /** Null for a value that is not a finite number: a loss of NaN shows as a gap. */
  values: z
    .record(MetricKey, z.number().nullable())
    .refine(values => Object.keys(values).length <= metricBounds.keysOfJob, 'at most 64 keys'),
});
export type MetricPoint = z.output<typeof MetricPoint>;

const MetricsReply = z.object({
  success: z.literal(true),
  /** All points with a lower `n` were received or are no longer needed. */
  next: z.number(),
  /** Highest step received and its time; null before the first. */
  last_step: z.number().nullable(),
  last_elapsed_ms: z.number(),
});
export type MetricsReply = z.output<typeof MetricsReply>;

/** A section of a curve: one point or several adjacent ones. */
const MetricBucket = z.object({
  /** Step and time at the end of the section. */
  step: z.number().nullable(),
  elapsed_ms: z.number(),
  /** Null when the section contains only gaps. */
  mean: z.number().nullable(),
  min: z.number().nullable(),
  max: z.number().nullable(),
  last: z.number().nullable(),
  count: z.number(),
  /** Number of values that were not finite numbers. */
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
  /**
   * Milliseconds from the start of the job's first attempt with points to the start of this one. It puts all attempts on one time
   * axis.
   */
  offset_ms: z.number(),
  series: z.array(MetricSeries),
});

const MetricLatest = z.object({
  key: z.string(),
  /** Newest finite value; null when there is none. */
  value: z.number().nullable(),
  step: z.number().nullable(),
  elapsed_ms: z.number(),
  attempt: z.number(),
});
export type MetricLatest = z.output<typeof MetricLatest>;

/** Comma-separated keys. */
const Keys = z
  .string()
  .transform(text => text.split(','))
  .pipe(z.array(MetricKey).min(1).max(metricBounds.keysOfJob));

const Whole = z.coerce.number().int().min(0).max(1e12);

const sieve = {
  /** Number of one attempt; defaults to all attempts. */
  attempt: z.coerce.number().int().min(1).max(1e9).optional(),
  keys: Keys.optional(),
};

const byJob = z.object({ id: JobId });

/** Training metrics: reported by workers, read by people and scripts. */
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
      /** Maximum number of points per curve. */
      points: z.coerce.number().int().min(1).max(5_000).default(500),
    }),
    reply: z.object({
      job_id: JobId,
      /** All keys of the job, each with its newest value. */
      keys: z.array(MetricLatest),
      /** Oldest first. In sequence they form one curve with gaps between the attempts. */
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
