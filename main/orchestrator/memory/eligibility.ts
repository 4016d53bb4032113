import type { WorkerId, JobId } from '../../../protocol/ids.ts';
import type { HoldingBack } from '../../../protocol/worker.ts';
import {
  isLive,
  type LiveJob,
  type Offering,
  type MonoMs,
  offeringOf,
  type QueueSettings,
  type Worker,
  type WallMs,
} from '../model.ts';
import type { Clock, Read, TrustedTime } from '../ports/index.ts';
import type { ConnectionRegistry } from './connection-registry.ts';
import type { AttemptNode } from '../node-model.ts';
import type { LaunchBook } from './launch-book.ts';
import type { Times } from '../rules/times.ts';
import {
  type DerivedStatus,
  type IneligibilityReason,
  ineligibilityReasonsOf,
  type WorkerFacts,
  workerStatus,
} from '../rules/worker-rules.ts';
import { silenceLimitOf } from '../v1-agent.ts';

/** Deadlines on the monotonic clock. The matching stored times are for display and for the next start. */
interface Deadlines {
  /** Time before which a job is not dispatched again. */
  readonly backoff: Map<JobId, MonoMs>;
  /** When the job's attempt started. Also set for an attempt that was given up, because it may still run. */
  readonly attemptStart: Map<JobId, MonoMs>;
  /** Time after which a user may stop waiting for an unconfirmed stop. */
  readonly unconfirmed: Map<JobId, MonoMs>;
  /** When the job of a draining worker is stopped. */
  readonly drain: Map<WorkerId, MonoMs>;
  /** When a quarantined worker gets a trial job. */
  readonly trial: Map<WorkerId, MonoMs>;
  /** Time until which a worker that never registered counts as connecting. */
  readonly firstContact: Map<WorkerId, MonoMs>;
  /** When an offline ephemeral worker is removed. */
  readonly removal: Map<WorkerId, MonoMs>;
}

/**
 * Returns the elapsed part of a span that started before this process, so that only its wall-clock time is known. The result
 * is between 0 and `spanMs`, even if the wall clock was set since the start of the span.
 */
export const elapsedPart = (since: WallMs, spanMs: number, wall: WallMs): number =>
  Math.min(Math.max(wall - since, 0), spanMs);

export const createDeadlines = (): Deadlines => ({
  backoff: new Map(),
  attemptStart: new Map(),
  unconfirmed: new Map(),
  drain: new Map(),
  trial: new Map(),
  firstContact: new Map(),
  removal: new Map(),
});

/** The facts that determine a worker's status, in addition to the stored facts. */
export interface EligibilityContext {
  /** The steady clock. It stops while this process is paused. */
  readonly clock: Clock;
  readonly times: Times;
  /** Current time for spans that outlive the process. */
  readonly time: TrustedTime;
  readonly connections: ConnectionRegistry;
  readonly deadlines: Deadlines;
  /** Open launches of pools, by their workers. */
  readonly launches: LaunchBook;
  /** Returns which GPU troubles keep jobs from a worker. Users can change this setting at runtime. */
  readonly holdingBack: () => HoldingBack;
}

/** Returns the silence in ms after which a worker is offline, and after which another worker takes over its job. */
export function patienceOf(
  { times }: EligibilityContext,
  worker: Worker,
): { readonly offlineMs: number; readonly takeoverMs: number } {
  const offlineMs = silenceLimitOf(worker, times);
  return { offlineMs, takeoverMs: offlineMs + times.takeoverMs - times.offlineAfterMs };
}

/** Returns the job that the worker trains, alone or as one of several workers; null for none. */
export const jobIdAt = (read: Pick<Read, 'liveJobOf' | 'heldNodeOf'>, worker: WorkerId): JobId | null =>
  read.liveJobOf(worker)?.id ?? read.heldNodeOf(worker)?.jobId ?? null;

/** Returns the live job that the worker trains, alone or as one of several workers; null for none. */
export function liveJobAt(
  read: Pick<Read, 'liveJobOf' | 'heldNodeOf' | 'job'>,
  worker: WorkerId,
): LiveJob | null {
  const node = read.heldNodeOf(worker);
  return node === null ? read.liveJobOf(worker) : liveJobOfNode(read, node);
}

/** Returns the job of a node; null when the node's attempt has ended. */
export function liveJobOfNode(read: Pick<Read, 'job'>, node: AttemptNode): LiveJob | null {
  const job = read.job(node.jobId);
  return job !== null && isLive(job) && job.attempt.id === node.attemptId ? job : null;
}

/** Whether the worker trains a job, or may still run the trainer of an ended attempt on several workers. */
export const workerIsHeld = (read: Pick<Read, 'liveJobOf' | 'heldNodeOf'>, worker: WorkerId): boolean =>
  jobIdAt(read, worker) !== null;

function factsOf(context: EligibilityContext, read: Read, worker: Worker, now: MonoMs): WorkerFacts {
  const holdsBack = context.holdingBack();
  return {
    worker,
    presence: context.connections.of(worker.id),
    jobId: jobIdAt(read, worker.id),
    awaited:
      (context.deadlines.firstContact.get(worker.id) ?? now) > now || context.launches.isAwaited(worker.id),
    offlineAfterMs: patienceOf(context, worker).offlineMs,
    trialAt: context.deadlines.trial.get(worker.id) ?? null,
    isAtLocalLimit: worker.local && settingsOf(read).maxLocalJobs === 0,
    rigClosedReason:
      context.launches.noticeFor(worker.id, context.time.now())?.reason ??
      worker.agent?.closed?.detail ??
      null,
    troubles: worker.agent?.gpuTroubles.filter(({ kind }) => holdsBack[kind]) ?? [],
  };
}

/** Returns the current status of a worker, with its reason. */
export function statusOf(context: EligibilityContext, read: Read, worker: Worker): DerivedStatus {
  const now = context.clock.mono();
  return workerStatus(factsOf(context, read, worker, now), now);
}

interface Candidacy extends DerivedStatus {
  /** Why the worker cannot take a job now; empty if it can. An idle worker may still have such reasons. */
  readonly ineligibilityReasons: readonly IneligibilityReason[];
  /** When a quarantined worker gets a trial job. */
  readonly trialAt: MonoMs | null;
}

/** Returns the current status of a worker, with all reasons why the worker cannot take a job. */
export function candidacyOf(context: EligibilityContext, read: Read, worker: Worker): Candidacy {
  const now = context.clock.mono();
  const facts = factsOf(context, read, worker, now);
  return {
    ...workerStatus(facts, now),
    ineligibilityReasons: ineligibilityReasonsOf(facts, now),
    trialAt: facts.trialAt,
  };
}

/** Returns the properties of a worker that jobs are matched against. Reads the settings only for the local worker. */
export const offeringIn = (read: Read, worker: Worker): Offering =>
  offeringOf(worker, worker.local ? settingsOf(read) : defaultQueueSettings);

const canTakeJob = (context: EligibilityContext, read: Read, worker: Worker): boolean =>
  candidacyOf(context, read, worker).ineligibilityReasons.length === 0;

/** Whether the worker exists and can take a job now. */
export function isFree(context: EligibilityContext, read: Read, id: WorkerId): boolean {
  const worker = read.worker(id);
  return worker !== null && canTakeJob(context, read, worker);
}

const defaultQueueSettings: QueueSettings = {
  pause: null,
  maxRunning: null,
  maxRunningPerUser: null,
  maxRunningPerTeam: null,
  teamLimits: {},
  fairShare: true,
  approvalFor: [],
  maxLocalGpus: null,
  maxLocalJobs: 1,
};

/** Returns the settings of the queue. Adds defaults for settings that an earlier version did not store. */
export const settingsOf = (read: Read): QueueSettings => ({
  ...defaultQueueSettings,
  ...read.queueSettings(),
});
