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
import { measuredLeft } from './forecast.ts';
import { workerNameOf } from './job-views.ts';
import { shownStatus } from './shown-status.ts';
import { isoOrNull } from './worker-views.ts';

type Timeline = Omit<ValueOf<typeof timelineApi.read>, 'as_of_seq'>;
type TimelineRange = Omit<TimelineFilter, 'limit'>;
/** Null for the default of `from` and `to`. */
type TimelineRequest = Omit<TimelineRange, 'from' | 'to'> & Parameters<typeof timelineRange>[0];

/** Which worker ran which job within a range of time, and where pending jobs may start. */
export function createTimeline(core: Core) {
  return ({ from, to, ...request }: TimelineRequest): Outcome<Timeline> => {
    const times = timelineRange({ from, to }, core.clock.wall());
    return times.ok ? accept(timelineWithin(core, { ...request, ...times.value })) : times;
  };
}

function timelineWithin(core: Core, range: TimelineRange): Timeline {
  const { store } = core;
  const found = store.attemptsWithin({ ...range, limit: maxTimelineBars + 1 });
  const shown = found.slice(0, maxTimelineBars);
  const bars = shown.flatMap(each => barsOf(core, each, range.workerId));
  const predicted = predictionsOf(core, range);
  const jobs = [
    ...shown.map(({ job }) => jobOf(job)),
    ...predicted.map(({ job }) =>
      jobOf({ ...job, name: job.spec.about.name, configName: job.spec.configName }),
    ),
  ];
  const predictions = predicted.map(({ prediction }) => prediction);
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
    is_cut: found.length > shown.length,
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

/** One bar, or for an attempt on several workers one for each of them. */
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
 * The pending jobs whose start can be predicted in a short time: the first ones of the queue, then those that wait for other jobs, or the
 * job that was asked for.
 */
function predictable({ store }: Core, { user, jobId }: TimelineRange): readonly PendingJob[] {
  const firstJobs = (): readonly JobId[] => {
    const queued = store.queuedJobs(maxPredictions);
    return [...queued, ...store.dependentJobs(maxPredictions - queued.length)];
  };
  const ids = jobId === null ? firstJobs() : [jobId];
  return ids.flatMap(id => {
    const job = store.job(id);
    return job?.status === 'pending' && (user === null || job.user === user) ? [job] : [];
  });
}

interface Predicted {
  readonly job: PendingJob;
  readonly prediction: TimelinePrediction;
}

function predictionsOf(core: Core, range: TimelineRange): readonly Predicted[] {
  const now = core.clock.wall();
  // Nothing starts in the past, and predictions take most of the time of a read.
  if (range.to <= now) return [];
  const explainer = createExplainer(core, core.store);
  return predictable(core, range).flatMap(job => {
    const start = explainer.predict(job);
    if (start === null) return [];
    const at = now + start.inMs;
    const isElsewhere = range.workerId !== null && !start.workers.includes(range.workerId);
    if (at < range.from || at >= range.to || isElsewhere) return [];
    const prediction = {
      job_id: job.id,
      starts_at: core.clock.iso(at),
      ends_at: start.runMs === null ? null : core.clock.iso(at + start.runMs),
      worker_ids: [...start.workers],
      basis: start.basis,
    };
    return [{ job, prediction }];
  });
}
