import type { Closed } from '../../protocol/reports.ts';
import type { Notice, RegisterReply } from '../../protocol/worker-api.ts';
import type { Availability } from '../availability/availability.ts';
import type { Clock } from '../clock.ts';
import { createAllocation } from './allocation.ts';
import type { JobSlot } from './job-slot.ts';

export interface ClosingDeps {
  readonly clock: Clock;
  /** Null for a rig without hours that does not yield to its user. */
  readonly availability: Availability | null;
  /** Duration of recent checkpoints, from the first file to the upload, in ms; null when unknown. */
  readonly saveMs: () => number | null;
  readonly slot: () => Pick<JobSlot, 'preempt' | 'held'>;
  /** Sends a heartbeat, so that the orchestrator offers no more jobs. */
  readonly report: () => void;
  /** Leaves the fleet once the slot is free. */
  readonly leave: () => void;
  /** Leaves immediately, even if reports and uploads are not sent. */
  readonly leaveNow: () => void;
  readonly log: (message: string) => void;
  /** Fires when the agent has ended. */
  readonly ended: AbortSignal;
}

/** Why this worker takes no further job: its machine will be taken away, or its owner's settings close it for a while. */
export interface Closing {
  /** Returns why the worker takes no further job; null while it takes jobs. */
  closed(): Closed | null;
  /** Returns the field `closed` for registrations and heartbeats; an empty object when nothing can close this worker. */
  reported(): { readonly closed?: Closed | null };
  /** Starts to watch the hours and the user. Call after the slot has resumed the attempt of an earlier process. */
  start(): void;
  /** Call when the machine will be taken away. If several notices arrive, the earliest end counts. */
  notice(notice: Notice): void;
  /** Like `notice`, for a signal, which does not contain the time. */
  noticeSignal(signal: string): void;
  /** Records how long the worker has its machine, as the orchestrator reports; null changes nothing. */
  allocate(allocation: NonNullable<RegisterReply['allocation']> | null): void;
  /** Call when the orchestrator has answered a call. */
  contact(): void;
}

/** The assumed notice for a signal without an allocation, in ms. Slurm and clouds usually give one to two minutes. */
const defaultNoticeMs = 120_000;
/** Time in ms for a job to save and stop when its rig closes. */
const closingMs = 10 * 60_000;
/** The protocol's limit, in characters. */
const maxDetail = 200;

export function createClosing(deps: ClosingDeps): Closing {
  const { clock, availability, slot, log, ended } = deps;
  let noticed: Closed | null = null;
  let endsAt = Number.POSITIVE_INFINITY;
  let cancelEnd = (): void => {};

  const begin = (reason: string, at: number, mayWait: boolean): void => {
    if (at >= endsAt) return;
    endsAt = at;
    cancelEnd();
    cancelEnd = clock.after(at - clock.mono(), deps.leaveNow);
    slot().preempt({ reason, endsAt: at, mayWait });
    if (noticed !== null) return;
    noticed = { reason: 'notice', detail: reason.slice(0, maxDetail), opens_at: null };
    ended.addEventListener('abort', () => cancelEnd(), { once: true });
    const seconds = Math.round((at - clock.mono()) / 1_000);
    log(`Leaving within ${seconds} s: ${reason}`);
    deps.report();
    deps.leave();
  };

  const allocation = createAllocation({
    ...deps,
    isIdle: () => slot().held() === null,
    onDue: at => begin('The wall time of the machine ends', at, true),
    onDeserted() {
      log('Leaving: the orchestrator has not answered for 15 minutes, and there is no job');
      deps.leave();
    },
  });

  const applyAvailability = (): void => {
    const reason = availability?.closed() ?? null;
    log(reason === null ? 'Open: takes jobs again' : `Closed: ${reason.detail}`);
    deps.report();
    if (reason === null) return;
    slot().preempt({
      reason: reason.detail,
      endsAt: clock.mono() + closingMs,
      mayWait: reason.reason === 'hours',
    });
  };

  const closed = (): Closed | null => noticed ?? availability?.closed() ?? null;

  return {
    closed,
    reported: () => (availability === null && noticed === null ? {} : { closed: closed() }),
    start() {
      if (availability === null) return;
      if (availability.closed() !== null) applyAvailability();
      void availability.watch(applyAvailability, ended);
    },
    notice: ({ ends_in_s: seconds, reason }) => begin(reason, clock.mono() + seconds * 1_000, true),
    noticeSignal(signal) {
      const noticeMs = allocation.noticeMs() ?? 0;
      const expectedEnd = clock.mono() + (noticeMs > 0 ? noticeMs : defaultNoticeMs);
      const end = Math.min(expectedEnd, allocation.endsAt() ?? expectedEnd);
      begin(`The machine is taken away, as ${signal} announces`, end, false);
    },
    allocate: allocation.set,
    contact: allocation.contact,
  };
}
