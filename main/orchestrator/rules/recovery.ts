import type { JobId, WorkerId } from '../../../protocol/ids.ts';
import type { LiveStatus } from '../../../protocol/job.ts';
import type { MonoMs, StopOrder } from '../model.ts';

export interface RecoveryTimes {
  /** Times at which an offer is repeated, in milliseconds after it was first sent. */
  readonly repeatOfferMs: readonly number[];
}

/** A worker with all of its deadlines. */
export interface WatchedWorker {
  readonly id: WorkerId;
  /** Whether the worker is already recorded as offline. */
  readonly gone: boolean;
  /** When the worker is offline if it stays silent, and when another worker takes over its job. */
  readonly offlineAt: MonoMs;
  readonly takeoverAt: MonoMs;
  /** When the worker is removed, unless it has an attempt; null for never. */
  readonly removeAt: MonoMs | null;
  readonly attempt: WatchedAttempt | null;
}

export interface WatchedAttempt {
  readonly jobId: JobId;
  readonly status: LiveStatus;
  readonly offer: WatchedOffer | null;
  /** Deadlines that stop the attempt before its trainer ends; null for none. */
  readonly timeoutAt: MonoMs | null;
  readonly drainAt: MonoMs | null;
}

export interface WatchedOffer {
  readonly firstSentAt: MonoMs;
  /** Number of times that the offer was sent; 0 while it could not be sent. */
  readonly sent: number;
  readonly giveUpAt: MonoMs;
}

export type RecoveryAction =
  | { readonly kind: 'offline'; readonly workerId: WorkerId }
  | { readonly kind: 'remove'; readonly workerId: WorkerId }
  | {
      readonly kind: 'takeover' | 'repeat_offer' | 'withdraw_offer';
      readonly workerId: WorkerId;
      readonly jobId: JobId;
    }
  | {
      readonly kind: 'stop';
      readonly workerId: WorkerId;
      readonly jobId: JobId;
      readonly why: Extract<StopOrder['why'], 'timeout' | 'drain'>;
    };

export interface RecoveryPlan {
  readonly actions: readonly RecoveryAction[];
  /** When to check again; null when there is no further deadline. */
  readonly nextAt: MonoMs | null;
}

interface Deadline {
  readonly at: MonoMs;
  readonly action: RecoveryAction;
}

/** Returns the overdue actions, and the time of the next deadline. */
export function planRecovery(
  workers: readonly WatchedWorker[],
  now: MonoMs,
  times: RecoveryTimes,
): RecoveryPlan {
  const deadlines = workers.flatMap(worker => [
    ...deadlinesOfWorker(worker),
    ...(worker.attempt === null ? [] : deadlinesOfAttempt(worker, worker.attempt, times)),
  ]);
  const later = deadlines.filter(({ at }) => at > now).map(({ at }) => at);
  return {
    actions: deadlines.filter(({ at }) => at <= now).map(({ action }) => action),
    nextAt: later.length === 0 ? null : later.reduce((soonest, at) => Math.min(soonest, at)),
  };
}

function deadlinesOfWorker({
  id: workerId,
  gone,
  offlineAt,
  removeAt,
  attempt,
}: WatchedWorker): readonly Deadline[] {
  const offline: Deadline = { at: offlineAt, action: { kind: 'offline', workerId } };
  const silence = gone ? [] : [offline];
  if (removeAt === null || attempt !== null) return silence;
  return [...silence, { at: removeAt, action: { kind: 'remove', workerId } }];
}

function deadlinesOfAttempt(
  worker: WatchedWorker,
  attempt: WatchedAttempt,
  times: RecoveryTimes,
): readonly Deadline[] {
  const { id: workerId } = worker;
  const { jobId, status, offer } = attempt;
  const takeover: Deadline = { at: worker.takeoverAt, action: { kind: 'takeover', workerId, jobId } };
  const stop = (why: 'timeout' | 'drain', at: MonoMs | null): readonly Deadline[] =>
    at === null ? [] : [{ at, action: { kind: 'stop', workerId, jobId, why } }];
  switch (status) {
    case 'cancelling':
      return [takeover];
    case 'recovering':
      return [takeover, ...stop('timeout', attempt.timeoutAt)];
    case 'starting':
    case 'running':
      return [...stop('timeout', attempt.timeoutAt), ...stop('drain', attempt.drainAt)];
    case 'dispatched':
      return [
        takeover,
        ...stop('drain', attempt.drainAt),
        ...deadlinesOfOffer(workerId, jobId, offer, times),
      ];
  }
}

function deadlinesOfOffer(
  workerId: WorkerId,
  jobId: JobId,
  offer: WatchedOffer | null,
  times: RecoveryTimes,
): readonly Deadline[] {
  if (offer === null) return [];
  const repeatMs = offer.sent === 0 ? undefined : times.repeatOfferMs[offer.sent - 1];
  return repeatMs === undefined
    ? [{ at: offer.giveUpAt, action: { kind: 'withdraw_offer', workerId, jobId } }]
    : [{ at: offer.firstSentAt + repeatMs, action: { kind: 'repeat_offer', workerId, jobId } }];
}
