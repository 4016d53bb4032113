import type { RegisterReply } from '../../protocol/worker-api.ts';
import type { Clock } from '../clock.ts';
import { pause } from '../retry/retry.ts';

type Reported = NonNullable<RegisterReply['allocation']>;

export interface AllocationDeps {
  readonly clock: Clock;
  /** Duration of recent checkpoints, from the first file to the upload, in ms; null when unknown. */
  readonly saveMs: () => number | null;
  readonly isIdle: () => boolean;
  /** Called when it is time to save and leave. `endsAt` is in ms of the monotonic clock. */
  readonly onDue: (endsAt: number) => void;
  /** Called when the worker has no job, and has had no contact with the orchestrator for too long. */
  readonly onDeserted: () => void;
  /** Fires when the agent has ended. */
  readonly ended: AbortSignal;
}

/**
 * The time for which a worker has its machine. The worker measures this time itself, to leave in time even without
 * contact.
 */
export interface Allocation {
  /** Records the remaining time that the orchestrator reports; null changes nothing. */
  set(reported: Reported | null): void;
  /** Call when the orchestrator has answered a call. */
  contact(): void;
  /** Returns when the machine is taken away, in ms of the monotonic clock; null when unknown. */
  endsAt(): number | null;
  /** Returns the notice period that the orchestrator reports, in ms; null when unknown. */
  noticeMs(): number | null;
}

/** Allows twice the measured time of a save, because the next one may take longer. */
const saveFactor = 2;
/** Maximum time for a save, in ms. A slow connection must not end an allocation long before its time. */
const maxLeadMs = 30 * 60_000;
/** Interval of the check of the remaining time, in ms. A new measurement of a save changes that time. */
const checkEveryMs = 30_000;
/** An idle worker leaves after this time without contact, in ms, because an unused machine only costs money. */
const withoutContactMs = 15 * 60_000;

interface Known {
  readonly endsAt: number;
  readonly noticeMs: number;
  /** The maximum time before `endsAt` at which the worker leaves, if saves are slow. */
  readonly leadLimitMs: number;
}

export function createAllocation({ clock, ended, ...deps }: AllocationDeps): Allocation {
  let allocation: Known | null = null;
  let isLeaving = false;
  let contactAt = clock.mono();

  /** Returns when to leave: early enough to save and upload, even if that takes twice as long as before. */
  const dueAt = ({ endsAt, noticeMs, leadLimitMs }: Known): number =>
    endsAt - Math.max(noticeMs, Math.min(saveFactor * (deps.saveMs() ?? 0), leadLimitMs));

  const check = (): void => {
    if (allocation === null || isLeaving) return;
    const isDue = clock.mono() >= dueAt(allocation);
    const isDeserted = deps.isIdle() && clock.mono() - contactAt >= withoutContactMs;
    isLeaving = isDue || isDeserted;
    if (isDue) deps.onDue(allocation.endsAt);
    else if (isDeserted) deps.onDeserted();
  };
  const waitMs = (): number =>
    allocation === null
      ? checkEveryMs
      : Math.max(1, Math.min(checkEveryMs, dueAt(allocation) - clock.mono()));
  const watch = async (): Promise<void> => {
    while (!isLeaving && (await pause(clock, waitMs(), ended))) check();
  };

  return {
    set(reported) {
      if (reported === null) return;
      const isFirst = allocation === null;
      const leftMs = reported.ends_in_s * 1_000;
      allocation = {
        endsAt: clock.mono() + leftMs,
        noticeMs: reported.notice_s * 1_000,
        leadLimitMs: allocation?.leadLimitMs ?? Math.min(maxLeadMs, leftMs / 2),
      };
      check();
      if (isFirst) void watch();
    },
    contact() {
      contactAt = clock.mono();
    },
    endsAt: () => allocation?.endsAt ?? null,
    noticeMs: () => allocation?.noticeMs ?? null,
  };
}
