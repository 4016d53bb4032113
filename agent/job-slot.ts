import type { AttemptId, JobId } from '../protocol/ids.ts';
import type { Progress } from '../protocol/progress.ts';
import type { Found } from './adopt.ts';
import { createLife, type LifeParts } from './attempt-life.ts';
import { rememberAttempts } from './attempts.ts';
import { createCancels } from './cancels.ts';
import {
  giveOrder,
  type Held,
  type HeldAttempt,
  holdAttempt,
  noteContact,
  originOf,
} from './held-attempt.ts';
import type { JobOffer } from './trainer.ts';

export interface SlotParts extends LifeParts {
  /**
   * The slot is free again; `worked` unless the offer had been taken back before anything was started. The answer
   * tells whether another offer may be taken.
   */
  readonly onFree: (worked: boolean) => boolean;
}

export interface JobSlot {
  /** A repeated offer of what is held changes nothing; nor does one of an attempt that is over. */
  offer(offer: JobOffer): void;
  /** Goes on with what an earlier process of the agent has left. */
  resume(found: Found): void;
  /** What is not here, and has not been reported, is confirmed to be gone at once. */
  cancel(attempt: Held): void;
  /** Stops it without a report: it belongs to somebody else now. */
  abandon(jobId: JobId): void;
  /** Stops what runs, to be tried again elsewhere. */
  leaveNow(): void;
  /** Looks after what runs no longer: it goes on under its guard. */
  release(): void;
  /** A call was answered that had been sent then, in ms of the machine's uptime. */
  contact(sentAt: number): void;
  held(): Held | null;
  /** Whether this attempt is held and its last report is still to come: after that, nothing more is to be said of it. */
  alive(attemptId: AttemptId): boolean;
  progress(): Progress | null;
}

/** The place for one attempt; one offer that comes while the last report is on its way waits for its turn. */
export function createJobSlot(parts: SlotParts): JobSlot {
  let current: HeldAttempt | null = null;
  let next: JobOffer | null = null;
  const reported = rememberAttempts();
  const cancels = createCancels(parts.report, reported);
  const life = createLife(parts, reported);

  const hold = (held: HeldAttempt, task: () => Promise<boolean>): void => {
    current = held;
    const free = (worked: boolean): void => {
      current = null;
      const waiting = next;
      next = null;
      if (parts.onFree(worked) && waiting !== null) take(waiting);
    };
    void task().then(free, (cause: unknown) => {
      parts.say(`Job ${held.jobId} ended unexpectedly here: ${String(cause)}`);
      free(true);
    });
  };

  const take = (offer: JobOffer): void => {
    const held = holdAttempt(originOf(offer));
    hold(held, () => life.begin(offer, held));
  };

  return {
    offer(offer) {
      const { attempt_id: id } = offer;
      if (cancels.has(id) || reported.has(id)) return;
      if (current === null) take(offer);
      else if (current.attemptId !== id) next = offer;
    },
    resume(found) {
      const held = holdAttempt(found.kind === 'reported' ? found.report : found.origin);
      hold(held, () => life.resume(found, held));
    },
    cancel(attempt) {
      if (current?.attemptId === attempt.attemptId) return giveOrder(current, 'cancel', parts);
      if (next?.attempt_id === attempt.attemptId) next = null;
      cancels.confirm(attempt);
    },
    abandon(jobId) {
      if (current?.jobId === jobId) giveOrder(current, 'abandon', parts);
    },
    leaveNow() {
      next = null;
      if (current !== null) giveOrder(current, 'leave_now', parts);
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
      noteContact(current, parts);
    },
    held: () => current,
    alive: attemptId => current?.attemptId === attemptId && !current.ended,
    progress: () => current?.progress ?? null,
  };
}
