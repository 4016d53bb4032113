import { z } from 'zod';
import { call } from './call.ts';
import { AttemptId, JobId, WorkerId } from './ids.ts';

/** Limits of requests and of the storage. Requests above a limit are refused, or the excess is not stored. */
export const metricBounds = {
  /** Maximum number of curves of a job, over all its attempts. */
  keysOfJob: 64,
  /** Maximum length of a key in characters. */
  keyLength: 64,
  /** Maximum number of points in one request. */
  pointsOfCall: 500,
} as const;

/** Characters that are invalid in keys. Commas are invalid because they separate keys in queries. */
const invalidChars = /[\s,\p{C}]+/gu;

/**
 * Converts a trainer's name for a metric to a key: shortens it and replaces invalid characters by `_`. Returns null when the
 * result is not a valid key.
 */
export function metricKeyOf(name: string): string | null {
  const key = name.trim().slice(0, metricBounds.keyLength).replaceAll(invalidChars, '_');
  return isKey(key) ? key : null;
}

/** Whether a key is valid. `__proto__` is invalid, because assigning it would set the prototype of an object. */
const isKey = (key: string): boolean => /^[^\s,\p{C}]{1,64}$/u.test(key) && key !== '__proto__';

const MetricKey = z.string().refine(isKey, 'expected 1 to 64 characters without blanks and commas');

const ElapsedMs = z
  .number()
  .min(0)
  .max(1e12)
  .describe("Milliseconds since the start of the attempt, by the rig's clock.");
const Step = z.number().min(0).max(1e12);

const MetricPoint = z.object({
  n: z
    .number()
    .int()
    .min(0)
    .max(1e12)
    .describe('Number of the point. Increases within an attempt; numbers may be skipped.'),
  elapsed_ms: ElapsedMs,
  step: Step.optional().describe('Step of the training.'),
  epoch: Step.optional().describe('Epoch of the training.'),
  values: z
    .record(MetricKey, z.number().nullable())
    .refine(values => Object.keys(values).length <= metricBounds.keysOfJob, 'at most 64 keys')
    .describe('Values by key. Null for a value that is not a finite number: a loss of NaN shows as a gap.'),
});
export type MetricPoint = z.output<typeof MetricPoint>;

const MetricsReply = z.object({
  success: z.literal(true).describe('Always true.'),
  next: z.number().describe('All points with a lower `n` were received or are no longer needed.'),
  last_step: z.number().nullable().describe('Highest step received; null before the first.'),
  last_elapsed_ms: z
    .number()
    .describe('Time of the last point in milliseconds since the start of the attempt.'),
});
export type MetricsReply = z.output<typeof MetricsReply>;

/** A section of a curve: the statistics of one point, or of several adjacent points. */
const MetricBucket = z.object({
  step: z.number().nullable().describe('Step at the end of the section; null when unknown.'),
  elapsed_ms: z.number().describe('Milliseconds from the start of the attempt to the end of the section.'),
  mean: z.number().nullable().describe('Mean value; null when the section contains only gaps.'),
  min: z.number().nullable().describe('Lowest value; null when the section contains only gaps.'),
  max: z.number().nullable().describe('Highest value; null when the section contains only gaps.'),
  last: z.number().nullable().describe('Newest value; null when the section contains only gaps.'),
  count: z.number().describe('Number of values.'),
  gaps: z.number().describe('Number of values that were not finite numbers.'),
});
export type MetricBucket = z.output<typeof MetricBucket>;

const MetricSeries = z.object({
  key: z.string().describe('Key of the metric.'),
  points: z.array(MetricBucket).describe('Sections of the curve, oldest first.'),
});

const AttemptMetrics = z.object({
  attempt: z.number().describe('Number of the attempt, starting at 1.'),
  attempt_id: AttemptId,
  worker_id: WorkerId,
  started_at: z.string().nullable().describe('When the trainer started; null when it has not.'),
  ended_at: z.string().nullable().describe('When the attempt ended; null while it is active.'),
  offset_ms: z
    .number()
    .describe(
      "Milliseconds from the start of the job's first attempt with points to the start of this one. It puts all attempts on one time axis.",
    ),
  series: z.array(MetricSeries).describe('Curves of the attempt, one per key.'),
});

const MetricLatest = z.object({
  key: z.string().describe('Key of the metric.'),
  value: z.number().nullable().describe('Newest finite value; null when there is none.'),
  step: z.number().nullable().describe('Step of that value; null when unknown.'),
  elapsed_ms: z.number().describe('Milliseconds from the start of the attempt to that value.'),
  attempt: z.number().describe('Number of the attempt with that value.'),
});
export type MetricLatest = z.output<typeof MetricLatest>;

/** Comma-separated keys. */
const Keys = z
  .string()
  .transform(text => text.split(','))
  .pipe(z.array(MetricKey).min(1).max(metricBounds.keysOfJob));

const Whole = z.coerce.number().int().min(0).max(1e12);

const filter = {
  attempt: z.coerce
    .number()
    .int()
    .min(1)
    .max(1e9)
    .optional()
    .describe('Number of one attempt; defaults to all attempts.'),
  keys: Keys.optional().describe('Comma-separated keys; defaults to all keys.'),
};

const byJob = z.object({ id: JobId });

/** Training metrics: reported by workers, read by people and scripts. */
export const metricsApi = {
  bring: call({
    method: 'POST',
    path: '/api/workers/job/:id/metrics',
    authority: 'worker',
    summary: 'Upload points of the training curves',
    params: byJob,
    body: z.object({
      attempt_id: AttemptId,
      points: z
        .array(MetricPoint)
        .max(metricBounds.pointsOfCall)
        .default([])
        .describe('Next points of the attempt. Without points, the response says where to continue.'),
    }),
    reply: MetricsReply,
  }),
  read: call({
    method: 'GET',
    path: '/api/queue/:id/metrics',
    authority: 'queue.view',
    own: 'job',
    summary: 'Show the training curves of a job',
    params: byJob,
    query: z.object({
      ...filter,
      from_step: Whole.optional().describe('First step to return.'),
      to_step: Whole.optional().describe('Last step to return.'),
      from_ms: Whole.optional().describe(
        'Start of the range, in milliseconds since the start of the attempt.',
      ),
      to_ms: Whole.optional().describe('End of the range, in milliseconds since the start of the attempt.'),
      points: z.coerce
        .number()
        .int()
        .min(1)
        .max(5_000)
        .default(500)
        .describe('Maximum number of points per curve.'),
    }),
    reply: z.object({
      job_id: JobId,
      keys: z.array(MetricLatest).describe('All keys of the job, each with its newest value.'),
      attempts: z
        .array(AttemptMetrics)
        .describe(
          'Curves by attempt, oldest first. In sequence they form one curve with gaps between the attempts.',
        ),
    }),
  }),
  download: call({
    method: 'GET',
    path: '/api/queue/:id/metrics/csv',
    authority: 'queue.view',
    own: 'job',
    summary: 'Download the training curves of a job as CSV',
    params: byJob,
    query: z.object(filter),
    reply: z.string(),
    stream: 'text/csv',
  }),
};
