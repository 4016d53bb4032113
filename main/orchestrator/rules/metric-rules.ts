import type { AttemptId, WorkerId } from '../../../protocol/ids.ts';
import { metricKeyOf, type MetricPoint } from '../../../protocol/metrics-api.ts';
import { type Refusal, refuse } from '../../../protocol/problem.ts';
import type { Progress } from '../../../protocol/progress.ts';
import type { Attempt, Job } from '../model.ts';
import type { MetricRun } from '../ports/index.ts';
import type { Sample } from './series.ts';

/**
 * Why a worker may not send points of an attempt; null when it may. The attempt must be the worker's own. An ended
 * attempt may still send its last points, because they affect only its own curve. An attempt that was taken from the
 * worker may not, once a newer attempt exists.
 */
export function metricsRefusal(
  job: Job,
  attempts: readonly Attempt[],
  worker: WorkerId,
  attemptId: AttemptId,
): Refusal | null {
  const meant = attempts.find(({ id }) => id === attemptId);
  if (meant?.workerId !== worker)
    return refuse('not_your_job', `This attempt of job ${job.id} was not given to this worker`, 'stop')
      .refusal;
  const outcome = meant.end?.outcome;
  const wasTaken = outcome === 'given_up' || outcome === 'withdrawn';
  if (!wasTaken || job.attempt?.id === meant.id) return null;
  const why = `A newer attempt of job ${job.id} has started: stop the trainer of the older one`;
  return refuse('attempt_superseded', why, 'stop').refusal;
}

/** Returns the points that are new, in order. Of two points with the same number, the first counts. */
export function newPoints(points: readonly MetricPoint[], next: number): readonly MetricPoint[] {
  const fresh: MetricPoint[] = [];
  let due = next;
  for (const point of points.toSorted((a, b) => a.n - b.n)) {
    if (point.n < due) continue;
    fresh.push(point);
    due = point.n + 1;
  }
  return fresh;
}

/** Groups the values by key. Times never decrease, even if a rig reports earlier ones. */
export function samplesByKey(
  points: readonly MetricPoint[],
  lastMs: number,
): ReadonlyMap<string, readonly Sample[]> {
  const samples = new Map<string, Sample[]>();
  let now = lastMs;
  for (const { elapsed_ms: elapsed, step = null, epoch, values } of points) {
    now = Math.max(now, elapsed);
    const all = epoch === undefined ? values : { epoch, ...values };
    for (const [key, value] of Object.entries(all)) {
      const known = samples.get(key);
      if (known === undefined) samples.set(key, [{ step, ms: now, value }]);
      else known.push({ step, ms: now, value });
    }
  }
  return samples;
}

/**
 * Converts a progress report to a point. Agents of protocol 1 send no points, but repeat their progress in every
 * heartbeat, so a repeat of the last step is ignored. Returns null when there is no new value.
 */
export function pointOf(
  progress: Progress,
  { next, lastStep }: Pick<MetricRun, 'next' | 'lastStep'>,
  elapsedMs: number,
): MetricPoint | null {
  const { step, epoch, metrics = {} } = progress;
  if (step !== undefined && step === lastStep) return null;
  const { loss, learning_rate, steps_per_second } = progress;
  const given = { loss, learning_rate, steps_per_second, ...metrics };
  const values = Object.entries(given).flatMap(([name, value]) => {
    const key = metricKeyOf(name);
    return key === null || value === undefined ? [] : [[key, value] as const];
  });
  if (values.length === 0) return null;
  return { n: next, elapsed_ms: Math.max(0, elapsedMs), step, epoch, values: Object.fromEntries(values) };
}
