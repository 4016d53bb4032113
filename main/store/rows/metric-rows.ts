import type { Database } from 'better-sqlite3';
import type { MetricRun, Tx, Bucket } from '../../orchestrator/ports/index.ts';

/** A bucket (a summary of consecutive values of a curve) is stored as ten little-endian doubles; NaN represents a null step. */
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
const bucketBytes = fields.length * 8;

function encodeBuckets(buckets: readonly Bucket[]): Buffer {
  const bytes = Buffer.allocUnsafe(buckets.length * bucketBytes);
  let at = 0;
  for (const bucket of buckets) {
    for (const field of fields) at = bytes.writeDoubleLE(bucket[field] ?? Number.NaN, at);
  }
  return bytes;
}

function decodeBuckets(bytes: Buffer): readonly Bucket[] {
  return Array.from({ length: Math.floor(bytes.length / bucketBytes) }, (_, n) => {
    const number = (field: number): number => bytes.readDoubleLE(n * bucketBytes + field * 8);
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

type MetricCalls = Pick<
  Tx,
  'metricRun' | 'metricKeys' | 'seriesKeys' | 'seriesTail' | 'series' | 'putMetricRun' | 'putSeries'
>;

/** Stores each curve as one row plus its pages (docs/adr/0020). A new value rewrites only the last page. */
export const createMetricRows = (db: Database): MetricCalls => ({ ...metricReads(db), ...metricWrites(db) });

function metricReads(db: Database) {
  const run = db.prepare<[string], MetricRun>(
    `SELECT attempt_id AS attemptId, job_id AS jobId, next, last_step AS lastStep, last_ms AS lastMs
     FROM metric_runs WHERE attempt_id = ?`,
  );
  const keysOfJob = db
    .prepare<[string], string>('SELECT key FROM metric_series WHERE job_id = ? GROUP BY key ORDER BY min(id)')
    .pluck();
  const keysOfAttempt = db
    .prepare<[string], string>('SELECT key FROM metric_series WHERE attempt_id = ? ORDER BY id')
    .pluck();
  const tail = db.prepare<
    [string, string],
    { readonly page: number; readonly width: number; readonly buckets: Buffer }
  >(
    `SELECT p.page, s.width, p.buckets FROM metric_series s JOIN metric_pages p ON p.series_id = s.id
     WHERE s.attempt_id = ? AND s.key = ? ORDER BY p.page DESC LIMIT 1`,
  );
  const pages = db
    .prepare<[string, string], Buffer>(
      `SELECT p.buckets FROM metric_series s JOIN metric_pages p ON p.series_id = s.id
       WHERE s.attempt_id = ? AND s.key = ? ORDER BY p.page`,
    )
    .pluck();
  return {
    metricRun: (attempt: string) => run.get(attempt) ?? null,
    metricKeys: (job: string) => keysOfJob.all(job),
    seriesKeys: (attempt: string) => keysOfAttempt.all(attempt),
    seriesTail(attempt: string, key: string) {
      const row = tail.get(attempt, key);
      return row === undefined ? null : { ...row, buckets: decodeBuckets(row.buckets) };
    },
    series: (attempt: string, key: string) => pages.all(attempt, key).flatMap(decodeBuckets),
  };
}

function metricWrites(db: Database) {
  const putRun = db.prepare(
    `INSERT INTO metric_runs (attempt_id, job_id, next, last_step, last_ms)
     VALUES (@attemptId, @jobId, @next, @lastStep, @lastMs)
     ON CONFLICT (attempt_id) DO UPDATE SET next = @next, last_step = @lastStep, last_ms = @lastMs`,
  );
  const putOne = db
    .prepare<[string, string, string, number], number>(
      `INSERT INTO metric_series (job_id, attempt_id, key, width) VALUES (?, ?, ?, ?)
       ON CONFLICT (attempt_id, key) DO UPDATE SET width = excluded.width RETURNING id`,
    )
    .pluck();
  const putPage = db.prepare(
    `INSERT INTO metric_pages (series_id, page, buckets) VALUES (?, ?, ?)
     ON CONFLICT (series_id, page) DO UPDATE SET buckets = excluded.buckets`,
  );
  const cut = db.prepare('DELETE FROM metric_pages WHERE series_id = ? AND page >= ?');
  const writes: Pick<Tx, 'putMetricRun' | 'putSeries'> = {
    putMetricRun: run => void putRun.run(run),
    putSeries({ jobId, attemptId }, key, { page, width }, contents) {
      const id = putOne.get(jobId, attemptId, key, width) ?? 0;
      contents.forEach((buckets, at) => putPage.run(id, page + at, encodeBuckets(buckets)));
      cut.run(id, page + contents.length);
    },
  };
  return writes;
}
