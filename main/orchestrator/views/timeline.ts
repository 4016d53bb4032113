import { accept, type Outcome } from '../../../protocol/problem.ts';
import type { JobId, WorkerId } from '../../../protocol/ids.ts';
import type { ValueOf } from '../../../protocol/client.ts';
import {
  maxPredictions,
  maxTimelineBars,
  type TimelineBar,
  type TimelineJob,
  type TimelinePrediction,
  type timelineApi,
} from '../../../protocol/timeline-api.ts';
import type { Core } from '../core.ts';
import { isLive, type Job, type PendingJob } from '../model.ts';
import type { TimelineAttempt, TimelineFilter } from '../ports/index.ts';
import { timelineRange } from '../rules/timeline-range.ts';
import { createExplainer } from './explain.ts';
import { measuredLeft, type PredictedStart } from './forecast.ts';
import { workerNameOf } from './job-views.ts';
import { shownStatus } from './shown-status.ts';
import { isoOrNull } from './worker-views.ts';

type Timeline = Omit<ValueOf<typeof timelineApi.read>, 'as_of_seq'>;
type TimelineRange = Omit<TimelineFilter, 'limit'>;
/** If `from` or `to` is null, the default applies. */
type TimelineRequest = Omit<TimelineRange, 'from' | 'to'> & Parameters<typeof timelineRange>[0];

/** Creates the timeline: which worker ran which job in a time range, and where pending jobs are predicted to start. */
export function createTimeline(core: Core) {
  const predictionsOf = createPredictions(core);
  return ({ from, to, ...request }: TimelineRequest): Outcome<Timeline> => {
    const times = timelineRange({ from, to }, core.clock.wall());
    return times.ok ? accept(timelineWithin(core, predictionsOf, { ...request, ...times.value })) : times;
  };
}

function timelineWithin(
  core: Core,
  predictionsOf: ReturnType<typeof createPredictions>,
  range: TimelineRange,
): Timeline {
  const { store } = core;
  const attempts = store.attemptsWithin({ ...range, limit: maxTimelineBars + 1 });
  const shown = attempts.slice(0, maxTimelineBars);
  const bars = shown.flatMap(each => barsOf(core, each, range.workerId));
  const predicted = predictionsOf(range);
  const jobs = [
    ...shown.map(({ job }) => jobOf(job)),
    ...predicted.map(({ job }) =>
      jobOf({ ...job, name: job.spec.about.name, configName: job.spec.configName }),
    ),
  ];
  const predictions = predicted.map(each => predictionOf(core, each));
  const workerIds = new Set<WorkerId>([
    ...bars.map(({ worker_id: id }) => id),
    ...predictions.flatMap(({ worker_ids: ids }) => ids),
  ]);
  return {
    bars,
    predictions,
    jobs: [...new Map(jobs.map(job => [job.id, job])).values()],
    workers: [...workerIds].map(id => {
      const { worker_name: name, worker_deleted: deleted } = workerNameOf(store, id);
      return { id, name, deleted };
    }),
    is_cut: attempts.length > shown.length,
    now: core.clock.iso(core.clock.wall()),
  };
}

const jobOf = ({ id, name, configName, user, ...job }: TimelineAttempt['job']): TimelineJob => ({
  id,
  name,
  config_name: configName,
  status: shownStatus(job),
  user,
});

/** Returns the bars of an attempt, one for each of its workers. `only`: returns only the bar of this worker; null for all. */
function barsOf(
  core: Core,
  { attempt, isShared }: TimelineAttempt,
  only: WorkerId | null,
): readonly TimelineBar[] {
  const { store, clock } = core;
  const leftMs = attempt.end === null ? leftMsOf(core, attempt.jobId) : null;
  const bar = {
    attempt_id: attempt.id,
    job_id: attempt.jobId,
    attempt: attempt.n,
    worker_id: attempt.workerId,
    rank: null,
    offered_at: clock.iso(attempt.offeredAt),
    started_at: isoOrNull(core, attempt.startedAt),
    ended_at: isoOrNull(core, attempt.end?.at ?? null),
    outcome: attempt.end?.outcome ?? null,
    expected_end_at: leftMs === null ? null : clock.iso(clock.wall() + leftMs),
  };
  const nodes = isShared ? store.nodesOf(attempt.id) : [];
  const bars =
    nodes.length === 0
      ? [bar]
      : nodes.map(({ rank, workerId, end }) => ({
          ...bar,
          rank,
          worker_id: workerId,
          ended_at: isoOrNull(core, end?.at ?? attempt.end?.at ?? null),
        }));
  return only === null ? bars : bars.filter(({ worker_id: id }) => id === only);
}

function leftMsOf(core: Core, id: Job['id']): number | null {
  const job = core.store.job(id);
  return job !== null && isLive(job) ? measuredLeft(core, job) : null;
}

/**
 * Returns the pending jobs whose start to predict. `jobId`: only this job. With null, the first jobs of the queue, then jobs
 * that wait for other jobs, up to `maxPredictions`.
 */
function predictable({ store }: Core, jobId: JobId | null): readonly PendingJob[] {
  const firstJobs = (): readonly JobId[] => {
    const queued = store.queuedJobs(maxPredictions);
    return [...queued, ...store.dependentJobs(maxPredictions - queued.length)];
  };
  const ids = jobId === null ? firstJobs() : [jobId];
  return ids.flatMap(id => {
    const job = store.job(id);
    return job?.status === 'pending' ? [job] : [];
  });
}

interface Predicted {
  readonly job: PendingJob;
  readonly start: PredictedStart;
  /** In ms since 1970. */
  readonly at: number;
}

/** Time for which predictions of a large fleet are shared, in ms. */
const sharedMs = 10_000;

/** Maximum number of evaluations (one per job and worker) for predictions that are not shared. More take several milliseconds. */
const maxFreshEvaluations = 3_000;

/**
 * Predicts where pending jobs start. Each open panel requests these predictions repeatedly. So in a large fleet, all panels
 * share them for `sharedMs`.
 */
function createPredictions(core: Core) {
  let shared: { readonly madeAt: number; readonly predicted: readonly Predicted[] } | null = null;

  const predict = (jobs: readonly PendingJob[]): readonly Predicted[] => {
    const now = core.clock.wall();
    const explainer = createExplainer(core, core.store);
    return jobs.flatMap(job => {
      const start = explainer.predict(job);
      return start === null ? [] : [{ job, start, at: now + start.inMs }];
    });
  };

  const predictFirst = (): readonly Predicted[] => {
    const mono = core.clock.mono();
    if (shared !== null && mono - shared.madeAt < sharedMs) return shared.predicted;
    const jobs = predictable(core, null);
    const predicted = predict(jobs);
    const isCostly = core.store.workers().length * jobs.length > maxFreshEvaluations;
    shared = isCostly ? { madeAt: mono, predicted } : null;
    return predicted;
  };

  return (range: TimelineRange): readonly Predicted[] => {
    const now = core.clock.wall();
    // Skip the costly predictions for a range in the past, because nothing can start there.
    if (range.to <= now) return [];
    const predicted = range.jobId === null ? predictFirst() : predict(predictable(core, range.jobId));
    return predicted.flatMap(({ job, start, at }) => {
      // A shared prediction may be outdated: its job has started, or its predicted time is over.
      const startsAt = Math.max(at, now);
      const isPending = core.store.job(job.id)?.status === 'pending';
      const isOwn = range.user === null || job.user === range.user;
      const isElsewhere = range.workerId !== null && !start.workers.includes(range.workerId);
      const isWithin = startsAt >= range.from && startsAt < range.to;
      return isPending && isOwn && isWithin && !isElsewhere ? [{ job, start, at: startsAt }] : [];
    });
  };
}

const predictionOf = (core: Core, { job, start, at }: Predicted): TimelinePrediction => ({
  job_id: job.id,
  starts_at: core.clock.iso(at),
  ends_at: start.runMs === null ? null : core.clock.iso(at + start.runMs),
  worker_ids: [...start.workers],
  basis: start.basis,
});
