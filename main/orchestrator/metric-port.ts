import type { AttemptId, JobId } from '../../protocol/ids.ts';
import type { Bucket } from './series.ts';

export type { Bucket } from './series.ts';

/** How far the points of an attempt have come. */
export interface MetricRun {
  readonly attemptId: AttemptId;
  readonly jobId: JobId;
  /** The number that the next point has, or a higher one. */
  readonly next: number;
  /** The highest that there was. */
  readonly lastStep: number | null;
  /** No later point is earlier than this. */
  readonly lastMs: number;
}

/** What of a curve is written when a value comes. */
export interface SeriesTail {
  /** Of its pages, from 0. */
  readonly page: number;
  readonly buckets: readonly Bucket[];
  /** How many values a bucket takes. */
  readonly width: number;
}

/** What a store knows of curves. */
export interface MetricReads {
  metricRun(attempt: AttemptId): MetricRun | null;
  /** Of a job, each once, in the order in which they came. */
  metricKeys(job: JobId): readonly string[];
  /** Of an attempt, in the same order. */
  seriesKeys(attempt: AttemptId): readonly string[];
  /** Null when there is no such curve. */
  seriesTail(attempt: AttemptId, key: string): SeriesTail | null;
  /** All of a curve, oldest first. */
  series(attempt: AttemptId, key: string): readonly Bucket[];
}

export interface MetricWrites {
  putMetricRun(run: MetricRun): void;
  /** Puts these pages from that one on; there are none after them. */
  putSeries(
    run: Pick<MetricRun, 'attemptId' | 'jobId'>,
    key: string,
    from: { readonly page: number; readonly width: number },
    pages: readonly (readonly Bucket[])[],
  ): void;
}
