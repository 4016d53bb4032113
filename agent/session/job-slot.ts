import type { AttemptId, JobId } from '../../protocol/ids.ts';
import type { Progress } from '../../protocol/reports.ts';
import type { Found } from '../attempt/adopt.ts';
import { type Attempts, createLife, type LifeDeps, rememberAttempts } from '../attempt/attempt-life.ts';
import {
  giveOrder,
  type HeldAttempt,
  holdAttempt,
  noteContact,
  noteRendezvous,
  originOf,
} from '../attempt/held-attempt.ts';
import type { Held, JobOffer, Rendezvous } from '../job.ts';
import { type Announcement, combine } from '../attempt/preemption.ts';
import type { Report } from '../attempt/reports.ts';
import { saveAndStop } from '../attempt/save-and-stop.ts';

export interface SlotDeps extends LifeDeps {
  /**
   * Called when the slot is free again. `worked` is false when the offer was withdrawn before anything was started.
   * Returns whether the slot may take another offer.
   */
  readonly onFree: (worked: boolean) => boolean;
  /** Whether the rig is closed. The slot then ignores offers, and the orchestrator gives the jobs to other workers. */
  readonly isClosed?: () => boolean;
}

export interface JobSlot {
  /** Takes an offer. Ignores a repeated offer of the current attempt, and offers of attempts that are over. */
  offer(offer: JobOffer): void;
  /** Continues an attempt that an earlier process of the agent has left. */
  resume(found: Found): void;
  /** Starts the trainer of an attempt whose workers are all ready. Ignores all attempts except the current one. */
  rendezvous(attemptId: AttemptId, rendezvous: Rendezvous): void;
  /**
   * Cancels an attempt. If the attempt is not the current one, and its end was not reported, immediately reports the
   * attempt as cancelled.
   */
  cancel(attempt: Held): void;
  /** Stops the job without a report, because it belongs to another worker now. */
  abandon(jobId: JobId): void;
  /** Stops the current run, so that the job is retried elsewhere. */
  leaveNow(): void;
  /** Saves and stops the current run in time, so that the job continues elsewhere or later. */
  preempt(announcement: Announcement): void;
  /** Stops following the current run, which continues under its guard. */
  release(): void;
  /** Call when the orchestrator has answered a call. `sentAt`: when the call was sent, in ms of machine uptime. */
  contact(sentAt: number): void;
  held(): Held | null;
  /** Whether the next process can continue: the slot is free, a guard runs the trainer, or the final report is on disk. */
  canHandOver(): boolean;
  /**
   * Whether this attempt is the current one and its final report is not sent yet. After that, nothing more may be
   * reported about it.
   */
  alive(attemptId: AttemptId): boolean;
  progress(): Progress | null;
}

/** Creates the slot for one attempt. One more offer can wait while the final report is being sent. */
export function createJobSlot(deps: SlotDeps): JobSlot {
  let current: HeldAttempt | null = null;
  let next: JobOffer | null = null;
  const reported = rememberAttempts();
  const cancels = createCancels(deps.report, reported);
  const life = createLife(deps, reported);

  const occupy = (held: HeldAttempt, task: () => Promise<boolean>): void => {
    current = held;
    const free = (worked: boolean): void => {
      current = null;
      const waiting = next;
      next = null;
      if (deps.onFree(worked) && waiting !== null) take(waiting);
    };
    void task().then(free, (cause: unknown) => {
      deps.log(`Job ${held.jobId} ended unexpectedly here: ${String(cause)}`);
      free(true);
    });
  };

  const take = (offer: JobOffer): void => {
    const held = holdAttempt(originOf(offer));
    occupy(held, () => life.begin(offer, held));
  };

  return {
    offer(offer) {
      const { attempt_id: id } = offer;
      if (cancels.has(id) || reported.has(id) || deps.isClosed?.() === true) return;
      if (current === null) take(offer);
      else if (current.attemptId !== id) next = offer;
    },
    resume(found) {
      const held = holdAttempt(
        found.kind === 'reported' ? { ...found.run?.origin, ...found.report } : found.origin,
      );
      occupy(held, () => life.resume(found, held));
    },
    rendezvous(attemptId, rendezvous) {
      if (current?.attemptId === attemptId) noteRendezvous(current, rendezvous, deps);
    },
    cancel(attempt) {
      if (current?.attemptId === attempt.attemptId) return giveOrder(current, 'cancel', deps);
      if (next?.attempt_id === attempt.attemptId) next = null;
      cancels.confirm(attempt);
    },
    abandon(jobId) {
      if (current?.jobId === jobId) giveOrder(current, 'abandon', deps);
    },
    leaveNow() {
      next = null;
      if (current !== null) giveOrder(current, 'leave_now', deps);
    },
    preempt(announcement) {
      next = null;
      const held = current;
      if (held === null || held.ended || held.order !== null) return;
      const isFirst = held.preemption === null;
      held.preemption = combine(held.preemption, announcement, deps.clock.mono());
      if (isFirst) void saveAndStop(held, deps);
    },
    release() {
      if (current === null) return;
      current.isReleased = true;
      current.halted.abort();
      current.run?.leave();
    },
    contact(sentAt) {
      if (current === null) return;
      current.sentAt = Math.max(current.sentAt, sentAt);
      noteContact(current, deps);
    },
    held: () => current,
    canHandOver: () =>
      next === null &&
      (current === null || (current.preemption === null && (current.run !== null || current.ended))),
    alive: attemptId => current?.attemptId === attemptId && !current.ended,
    progress: () => current?.progress ?? null,
  };
}

/**
 * Cancels attempts that the slot does not run, because their offer was lost or has not arrived yet, or because their
 * processes are gone.
 */
interface Cancels {
  /**
   * Reports the attempt as cancelled, so that the orchestrator does not wait for it. Reports nothing if the attempt's
   * end is already reported.
   */
  confirm(attempt: Held): void;
  /** Whether the attempt was cancelled. A cancelled attempt must not start if its offer arrives late. */
  has(attemptId: AttemptId): boolean;
}

const never = new AbortController().signal;

function createCancels(report: Report, reported: Attempts): Cancels {
  const cancelled = rememberAttempts();
  const reporting = new Set<AttemptId>();
  return {
    confirm({ jobId, attemptId }) {
      cancelled.add(attemptId);
      if (reported.has(attemptId) || reporting.has(attemptId)) return;
      reporting.add(attemptId);
      void report(jobId, attemptId, { status: 'cancelled' }, never).then(answer => {
        reporting.delete(attemptId);
        if (answer === 'taken') reported.add(attemptId);
      });
    },
    has: attemptId => cancelled.has(attemptId),
  };
}
