import type { JobId, WorkerId } from '../../protocol/ids.ts';
import type { LiveStatus } from '../../protocol/job.ts';
import type { MonoMs } from './model.ts';

/** Spans in milliseconds; all follow from T (SEMANTICS.md, section 0). */
export interface RecoveryTimes {
  readonly offlineAfterMs: number;
  /** From the last contact until another worker takes over. */
  readonly takeoverMs: number;
  /** An offer is sent again this long after it was first sent, ... */
  readonly repeatOfferMs: readonly number[];
  /** ... and given up after this long. */
  readonly withdrawOfferMs: number;
}

export interface WatchedWorker {
  readonly id: WorkerId;
  readonly contactAt: MonoMs;
  readonly gone: boolean;
  readonly attempt: WatchedAttempt | null;
}

export interface WatchedAttempt {
  readonly jobId: JobId;
  readonly status: LiveStatus;
  /** When the offer first went out on a stream, and how often since; null while it could not be sent. */
  readonly offer: { readonly firstSentAt: MonoMs; readonly sent: number } | null;
}

export type RecoveryAction =
  | { readonly kind: 'offline'; readonly workerId: WorkerId }
  | { readonly kind: 'takeover'; readonly workerId: WorkerId; readonly jobId: JobId }
  | { readonly kind: 'repeat_offer'; readonly workerId: WorkerId; readonly jobId: JobId }
  | { readonly kind: 'withdraw_offer'; readonly workerId: WorkerId; readonly jobId: JobId };

export interface RecoveryPlan {
  readonly actions: readonly RecoveryAction[];
  /** When to look again; null when nothing is due unless something happens first. */
  readonly nextAt: MonoMs | null;
}

interface Deadline {
  readonly at: MonoMs;
  readonly action: RecoveryAction;
}

/** What is overdue for silent workers and unacknowledged offers, and when the next thing will be. */
export function planRecovery(
  workers: readonly WatchedWorker[],
  now: MonoMs,
  times: RecoveryTimes,
): RecoveryPlan {
  const deadlines = workers.flatMap(worker => deadlinesOf(worker, times));
  const later = deadlines.filter(({ at }) => at > now).map(({ at }) => at);
  return {
    actions: deadlines.filter(({ at }) => at <= now).map(({ action }) => action),
    nextAt: later.length === 0 ? null : later.reduce((soonest, at) => Math.min(soonest, at)),
  };
}

function deadlinesOf(worker: WatchedWorker, times: RecoveryTimes): readonly Deadline[] {
  const { id: workerId, contactAt, attempt } = worker;
  const offline: Deadline = { at: contactAt + times.offlineAfterMs, action: { kind: 'offline', workerId } };
  const silence = worker.gone ? [] : [offline];
  if (attempt === null) return silence;
  const { jobId, status, offer } = attempt;
  if (status === 'recovering' || status === 'cancelling') {
    const takeover: Deadline = {
      at: contactAt + times.takeoverMs,
      action: { kind: 'takeover', workerId, jobId },
    };
    return [...silence, takeover];
  }
  if (status !== 'dispatched' || offer === null) return silence;
  const repeat = times.repeatOfferMs[offer.sent - 1];
  const next: Deadline =
    repeat === undefined
      ? { at: offer.firstSentAt + times.withdrawOfferMs, action: { kind: 'withdraw_offer', workerId, jobId } }
      : { at: offer.firstSentAt + repeat, action: { kind: 'repeat_offer', workerId, jobId } };
  return [...silence, next];
}
