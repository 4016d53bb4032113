import type { JobId, WorkerId } from '../../../protocol/ids.ts';
import { isQueued, unmetOf } from '../rules/dependencies.ts';
import { barredWorker, blockersOf } from '../rules/queue-rules.ts';
import type { Job, MonoMs, PendingJob } from '../model.ts';
import { createAgenda } from './placement/ranking.ts';
import {
  createPlacementIndex,
  type Placement,
  type PlacementIndex,
  type QueuedJob,
} from './placement/placement-index.ts';
import { createLoads } from './placement/loads.ts';
import type { CanGather } from './placement/groups.ts';
import { isPassing } from '../rules/worker-rules.ts';
import { withBatchedReads } from './store-wrappers.ts';
import type { Read } from '../ports/index.ts';
import { candidacyOf, isFree, offeringIn, type EligibilityContext } from './eligibility.ts';
import type { PendingCandidate } from '../ports/jobs.ts';

/**
 * The job queue: pending jobs and idle workers. It is updated incrementally, so that dispatch examines only changes. The
 * `note` methods only record that a job or worker has changed. `next`, `takerFor` and `waiting` then evaluate the changes.
 */
export interface JobQueue {
  /** Adds a pending job at the orchestrator's start. */
  addPending(context: EligibilityContext, job: PendingCandidate): void;
  /** Updates the queue with the current state of a job. */
  updateJob(context: EligibilityContext, job: Job): void;
  noteJob(id: JobId): void;
  noteWorker(id: WorkerId): void;
  /** Notes that the queue settings have changed. */
  noteQueue(): void;
  /** Returns the next placement. Null when there is none, or when the queue is paused or at its limit. */
  next(context: EligibilityContext, read: Read): Placement | null;
  /** Returns the worker that would get this job if it were queued now; null for none. Exact only after `next` returned null. */
  takerFor(context: EligibilityContext, read: Read, job: PendingJob): WorkerId | null;
  /**
   * Returns jobs that only wait for a worker, in dispatch order. A shape is a group of jobs with the same team and
   * requirements: at most `limit` jobs of each shape are returned. Empty while the queue is paused or at its limit.
   */
  waiting(context: EligibilityContext, read: Read, limit: number): readonly QueuedJob[];
}

/** Interval in ms between checks of workers that can become available without a notification. */
const lookAgainMs = 1_000;

export function createJobQueue(): JobQueue {
  const index = createPlacementIndex();
  const loads = createLoads(index);
  const jobs = createAgenda<JobId>();
  const workers = createAgenda<WorkerId>();
  /**
   * Jobs whose only fitting worker lost their last attempt, so that the backoff bars this worker. The jobs wait for another
   * worker, or for the end of the backoff.
   */
  const barred = new Set<JobId>();
  const addPending = (context: EligibilityContext, job: PendingCandidate): void => {
    if (job.team !== null) loads.noteTeam(job.team);
    const ready = readyAt(context, job.id);
    if (blockersOf(job, ready, context.clock.mono()).length === 0) return index.addJob(job);
    // Check again at the end of the backoff. The end of any other blocker causes a notification.
    if (job.approval !== 'wanted' && job.unmet === 0) jobs.addAt(job.id, ready);
    index.removeJob(job.id);
  };
  const updateJob = (context: EligibilityContext, job: Job): void => {
    barred.delete(job.id);
    loads.note(job);
    if (job.status === 'pending') addPending(context, toCandidate(job));
    else index.removeJob(job.id);
  };
  const evaluateJob = (context: EligibilityContext, read: Read, id: JobId): void => {
    const job = read.job(id);
    if (job !== null) return updateJob(context, job);
    barred.delete(id);
    loads.drop(id);
    index.removeJob(id);
  };
  const evaluateWorker = (context: EligibilityContext, read: Read, id: WorkerId): void => {
    const againAt = placeWorker(context, read, id, index);
    if (againAt !== null) workers.addAt(id, againAt);
  };
  /** Evaluates the noted changes. Returns false while the queue is paused or at its limit. */
  const evaluateChanges = (context: EligibilityContext, read: Read): boolean => {
    const now = context.clock.mono();
    const changed = [...workers.take(now)];
    for (const id of changed) evaluateWorker(context, read, id);
    if (changed.length > 0) for (const id of barred) jobs.add(id);
    for (const id of jobs.take(now)) evaluateJob(context, read, id);
    return loads.takesJobs(read);
  };
  const canGather = createGathering();
  return {
    addPending,
    updateJob,
    noteJob: jobs.add,
    noteWorker: workers.add,
    noteQueue: loads.forgetSettings,
    next(context, read) {
      while (evaluateChanges(context, read)) {
        const placement = index.next(canGather(context, read));
        if (placement === null || !isBarred(context, read, placement)) return placement;
        index.removeJob(placement.jobId);
        barred.add(placement.jobId);
        jobs.addAt(placement.jobId, readyAt(context, placement.jobId));
      }
      return null;
    },
    takerFor(context, read, job) {
      if (!isQueued(job)) return null;
      while (evaluateChanges(context, read)) {
        const worker = index.wouldPlace(toCandidate(job), canGather(context, read));
        if (worker === null || isFree(context, read, worker)) return worker;
        // Time has passed since the queue evaluated this worker, so evaluate it again.
        workers.add(worker);
      }
      return null;
    },
    waiting: (context, read, limit) => (evaluateChanges(context, read) ? index.waiting(limit) : []),
  };
}

const readyAt = ({ deadlines }: EligibilityContext, id: JobId): MonoMs => deadlines.backoff.get(id) ?? 0;

function isBarred(context: EligibilityContext, read: Read, { jobId, workerId, others }: Placement): boolean {
  const job = read.job(jobId);
  if (job?.status !== 'pending') return false;
  const barred = barredWorker(toCandidate(job), readyAt(context, jobId), context.clock.mono());
  return barred !== null && [workerId, ...others].includes(barred);
}

/**
 * Returns a function that decides whether the idle and busy workers would be enough for a job on several workers. It
 * evaluates every worker, so its results are cached for `lookAgainMs`.
 */
function createGathering() {
  const results = new Map<string, { readonly at: MonoMs; readonly isEnough: boolean }>();
  return (context: EligibilityContext, read: Read): CanGather =>
    ({ key, nodes, matcher }) => {
      const now = context.clock.mono();
      const last = results.get(key);
      if (last !== undefined && now - last.at < lookAgainMs) return last.isEnough;
      for (const [otherKey, { at }] of results) if (now - at >= lookAgainMs) results.delete(otherKey);
      const all = withBatchedReads(read);
      const fitting = all.workers().filter(worker => {
        const offering = offeringIn(all, worker);
        if (!offering.isMultiNode || matcher(offering).length > 0) return false;
        return candidacyOf(context, all, worker).ineligibilityReasons.every(isPassing);
      });
      results.set(key, { at: now, isEnough: fitting.length >= nodes });
      return fitting.length >= nodes;
    };
}

/** Returns the fields of a pending job that placement needs. */
export const toCandidate = (job: PendingJob): PendingCandidate => ({
  id: job.id,
  requirements: job.spec.requirements,
  user: job.user,
  team: job.team,
  level: job.rank.level,
  order: job.rank.turn,
  avoid: job.attempt?.workerId ?? null,
  approval: job.approval,
  unmet: unmetOf(job.dependencies),
  notBefore: job.notBefore,
  lastCause: job.attempt?.end?.cause ?? null,
  retriesUsed: job.retriesUsed,
});

/**
 * Adds the worker to the index if it is available. Otherwise returns when to evaluate the worker again. Returns null if the
 * worker was added, or if the end of its ineligibility will notify the queue.
 */
function placeWorker(
  context: EligibilityContext,
  read: Read,
  id: WorkerId,
  index: PlacementIndex,
): number | null {
  const worker = read.worker(id);
  index.removeWorker(id);
  if (worker === null) return null;
  const { status, reason, ineligibilityReasons, trialAt } = candidacyOf(context, read, worker);
  if (ineligibilityReasons.length === 0) {
    index.addWorker({
      id,
      offering: offeringIn(read, worker),
      datasets: worker.agent?.datasets ?? [],
      order: worker.createdAt,
    });
    return null;
  }
  // If the trial time is over, another reason blocks the worker. The end of that reason notifies the queue.
  if (status === 'idle') return trialAt !== null && trialAt > context.clock.mono() ? trialAt : null;
  if (reason === 'settling') return context.connections.of(id)?.settledAt ?? null;
  return reason === 'silent' ? context.clock.mono() + lookAgainMs : null;
}
