import type { AttemptId, JobId } from '../../../protocol/ids.ts';

/** A section of one curve. */
export interface Bucket {
  /** Null if the trainer has counted no steps. */
  readonly firstStep: number | null;
  readonly lastStep: number | null;
  /** In milliseconds since the attempt started. */
  readonly firstMs: number;
  readonly lastMs: number;
  /** How many of its values are numbers. If none is, this and the next four fields are 0. */
  readonly count: number;
  readonly min: number;
  readonly max: number;
  readonly mean: number;
  readonly last: number;
  /** How many of its values are not numbers. */
  readonly gaps: number;
}

/** Progress of an attempt's points. */
export interface MetricRun {
  readonly attemptId: AttemptId;
  readonly jobId: JobId;
  /** The number of the next point is at least this. */
  readonly next: number;
  /** The highest step so far. */
  readonly lastStep: number | null;
  /** Later points are not earlier than this, in ms since the attempt started. */
  readonly lastMs: number;
}

/** The last page of a curve, the only one that is rewritten when a value arrives. */
export interface SeriesTail {
  /** The page number, from 0. */
  readonly page: number;
  readonly buckets: readonly Bucket[];
  /** The number of values per bucket. */
  readonly width: number;
}

export interface MetricReads {
  metricRun(attempt: AttemptId): MetricRun | null;
  /** Distinct keys of a job, in order of arrival. */
  metricKeys(job: JobId): readonly string[];
  /** Keys of an attempt, in order of arrival. */
  seriesKeys(attempt: AttemptId): readonly string[];
  /** Null when there is no such curve. */
  seriesTail(attempt: AttemptId, key: string): SeriesTail | null;
  /** All buckets of a curve, oldest first. */
  series(attempt: AttemptId, key: string): readonly Bucket[];
}

export interface MetricWrites {
  putMetricRun(run: MetricRun): void;
  /** Replaces all pages from `from.page` on with `pages`. */
  putSeries(
    run: Pick<MetricRun, 'attemptId' | 'jobId'>,
    key: string,
    from: { readonly page: number; readonly width: number },
    pages: readonly (readonly Bucket[])[],
  ): void;
}
