import type { AttemptId, JobId, WorkerId } from '../../../../protocol/ids.ts';
import {
  metricBounds,
  type MetricBucket,
  type MetricLatest,
  type MetricPoint,
  type MetricsReply,
} from '../../../../protocol/metrics-api.ts';
import { accept, type Outcome, refuse } from '../../../../protocol/problem.ts';
import type { Progress } from '../../../../protocol/reports.ts';
import { type Core, noteRefusedReport } from '../../core.ts';
import { notify } from '../../memory/outbox.ts';
import { isBestLossDue } from '../../rules/best-loss.ts';
import { hasNanLoss, nanNotification } from '../../rules/notification-rules.ts';
import {
  metricsRefusal,
  newPoints,
  pointOf,
  samplesByKey,
  bucketsOfPage,
  grow,
  halve,
  maxBuckets,
  pagesOf,
  type Range,
  type Sample,
  extraBuckets,
  thin,
  within,
} from '../../rules/metric-rules.ts';
import { type Attempt, isLive, type LiveJob } from '../../model.ts';
import type { MetricRun, Read, SeriesTail, Tx } from '../../ports/index.ts';
import { sendsOutputs } from '../../v1-agent.ts';
import { noteBestLoss } from './best-loss.ts';
import type { Bucket } from '../../ports/outputs.ts';

/** The curves of one attempt. `offsetMs`: the time from the start of the first attempt with points to this attempt's start. */
interface AttemptCurves {
  readonly attempt: Attempt;
  /** RFC 3339, like `endedAt`. */
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  readonly offsetMs: number;
  readonly keys: readonly string[];
}

export interface JobCurves {
  readonly latest: readonly MetricLatest[];
  /** Only attempts with points, oldest first. */
  readonly attempts: readonly AttemptCurves[];
}

/** Calls about metrics of trainings. Metrics do not affect jobs, workers or dispatch. */
export const createMetricCalls = (core: Core) => ({
  /** Stores the points that are not stored yet. Resolves when the points are on disk. */
  async reportMetrics(
    worker: WorkerId,
    jobId: JobId,
    attemptId: AttemptId,
    points: readonly MetricPoint[],
  ): Promise<Outcome<MetricsReply>> {
    const refusal = refusalOf(core.store, worker, jobId, attemptId);
    if (refusal === null && newPoints(points, runOf(core.store, jobId, attemptId).next).length === 0)
      return accept(replyOf(runOf(core.store, jobId, attemptId)));
    return core.store.write((tx): Outcome<MetricsReply> => {
      // Checked again in the transaction, because the job may have been deleted since the first check.
      const refused = refusalOf(tx, worker, jobId, attemptId);
      if (refused === null) return accept(replyOf(addPoints(core, tx, runOf(tx, jobId, attemptId), points)));
      if (refused.code === 'not_your_job')
        noteRefusedReport(core, tx, jobId, worker, { status: 'metrics', code: refused.code, attemptId });
      return { ok: false, refusal: refused };
    });
  },

  /** Returns the curves of a job without their points. `attempt`: limits `attempts` to one attempt; null for all. */
  jobCurves(jobId: JobId, attempt: number | null): Outcome<JobCurves> {
    const { store } = core;
    if (store.job(jobId) === null) return refuse('job_not_found', `There is no job ${jobId}`);
    const all = store
      .attempts(jobId)
      .map(each => ({ attempt: each, keys: store.seriesKeys(each.id) }))
      .filter(({ keys }) => keys.length > 0);
    const start = all[0] === undefined ? 0 : startOf(all[0].attempt);
    return accept({
      latest: store.metricKeys(jobId).flatMap(key => latestOf(store, all, key) ?? []),
      attempts: all
        .filter(each => attempt === null || each.attempt.n === attempt)
        .map(each => ({
          ...each,
          startedAt: isoOf(core, each.attempt.startedAt),
          endedAt: isoOf(core, each.attempt.end?.at ?? null),
          offsetMs: Math.max(0, startOf(each.attempt) - start),
        })),
    });
  },

  /** Returns one curve of one attempt, merged to at most `points` buckets (groups of neighbouring points). */
  curve: (attempt: AttemptId, key: string, range: Range, points: number): MetricBucket[] =>
    thin(within(core.store.series(attempt, key), range), points).map(viewOf),
});

/**
 * Adds a point from a job's progress, if its agent sends no metrics. The orchestrator's clock determines the time of the
 * point. Called in the transaction that stores the progress, which runs at most a few times per second.
 */
export function noteProgressPoint(core: Core, tx: Tx, job: LiveJob, progress: Progress): void {
  const { attempt } = job;
  if (sendsOutputs(tx.worker(attempt.workerId))) return;
  const run = runOf(tx, job.id, attempt.id);
  const point = pointOf(progress, run, core.queueTime() - startOf(attempt));
  if (point !== null) addPoints(core, tx, run, [point]);
}

const isoOf = ({ clock }: Core, at: number | null): string | null => (at === null ? null : clock.iso(at));
const startOf = ({ startedAt, offeredAt }: Attempt): number => startedAt ?? offeredAt;

function refusalOf(read: Read, worker: WorkerId, jobId: JobId, attemptId: AttemptId) {
  const job = read.job(jobId);
  if (job === null) return refuse('job_not_found', `There is no job ${jobId}`, 'stop').refusal;
  return metricsRefusal(job, read.attempts(jobId), worker, attemptId);
}

const runOf = (read: Read, jobId: JobId, attemptId: AttemptId): MetricRun =>
  read.metricRun(attemptId) ?? { attemptId, jobId, next: 0, lastStep: null, lastMs: 0 };

const replyOf = ({ next, lastStep, lastMs }: MetricRun): MetricsReply => ({
  success: true,
  next,
  last_step: lastStep,
  last_elapsed_ms: lastMs,
});

function addPoints(core: Core, tx: Tx, run: MetricRun, points: readonly MetricPoint[]): MetricRun {
  const added = newPoints(points, run.next);
  const samples = samplesByKey(added, run.lastMs);
  const knownKeys = new Set(tx.metricKeys(run.jobId));
  if (hasNanLoss(samples)) noteNanLoss(core, tx, run);
  let halved = 0;
  for (const [key, values] of samples) {
    // Values of new keys beyond the limit are dropped. Known keys continue.
    if (!knownKeys.has(key) && knownKeys.size >= metricBounds.keysOfJob) continue;
    knownKeys.add(key);
    if (addToSeries(tx, run, key, values, halved < maxHalved)) halved += 1;
  }
  const next = runAfter(run, added);
  tx.putMetricRun(next);
  if (isBestLossDue(samples.keys(), run.next, next.next) || hasEnded(tx, run))
    noteBestLoss(core, tx, run.jobId);
  return next;
}

/** Whether the job has ended. Then the added points may be its last ones, so the best loss must be computed now. */
function hasEnded(tx: Tx, { jobId }: MetricRun): boolean {
  const job = tx.job(jobId);
  return job !== null && !isLive(job);
}

function runAfter(run: MetricRun, added: readonly MetricPoint[]): MetricRun {
  let { next, lastStep, lastMs } = run;
  for (const { n, step, elapsed_ms: elapsedMs } of added) {
    next = n + 1;
    if (step !== undefined) lastStep = Math.max(step, lastStep ?? step);
    lastMs = Math.max(elapsedMs, lastMs);
  }
  return { ...run, next, lastStep, lastMs };
}

/** Notifies the channels about a loss that is not a number, once for each attempt. */
function noteNanLoss(core: Core, tx: Tx, { jobId, attemptId }: MetricRun): void {
  const job = tx.job(jobId);
  if (job === null) return;
  const worker = job.attempt === null ? null : (tx.worker(job.attempt.workerId)?.name ?? null);
  notify(core, tx, nanNotification(job, worker), `loss_nan:${attemptId}`);
}

const emptyTail: SeriesTail = { page: 0, buckets: [], width: 1 };

/**
 * Maximum number of full curves that one call halves. Halving merges neighbouring buckets and writes the whole curve again.
 * Other commands must wait during that time.
 */
const maxHalved = 2;

/** Adds values to a curve. Returns whether the curve was halved. If `mayHalve` is false, a full curve can still grow a little. */
function addToSeries(
  tx: Tx,
  run: MetricRun,
  key: string,
  samples: readonly Sample[],
  mayHalve: boolean,
): boolean {
  const { page, buckets, width } = tx.seriesTail(run.attemptId, key) ?? emptyTail;
  const grown = grow(buckets, samples, width);
  const count = page * bucketsOfPage + grown.length;
  if (count <= maxBuckets || (!mayHalve && count <= maxBuckets + extraBuckets)) {
    tx.putSeries(run, key, { page, width }, pagesOf(grown));
    return false;
  }
  const before = tx.series(run.attemptId, key).slice(0, page * bucketsOfPage);
  const { buckets: fewer, widened } = halve([...before, ...grown]);
  tx.putSeries(run, key, { page: 0, width: width * widened }, pagesOf(fewer));
  return true;
}

function latestOf(
  read: Read,
  attempts: readonly { readonly attempt: Attempt; readonly keys: readonly string[] }[],
  key: string,
): MetricLatest | null {
  const newest = attempts.findLast(({ keys }) => keys.includes(key))?.attempt;
  if (newest === undefined) return null;
  const { buckets } = read.seriesTail(newest.id, key) ?? emptyTail;
  const bucket = buckets.findLast(({ count }) => count > 0) ?? buckets.at(-1);
  if (bucket === undefined) return null;
  const { last, step, elapsed_ms } = viewOf(bucket);
  return { key, value: last, step, elapsed_ms, attempt: newest.n };
}

function viewOf({ lastStep, lastMs, count, min, max, mean, last, gaps }: Bucket): MetricBucket {
  const figures = count === 0 ? { mean: null, min: null, max: null, last: null } : { mean, min, max, last };
  return { step: lastStep, elapsed_ms: lastMs, ...figures, count, gaps };
}
