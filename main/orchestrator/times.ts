import type { RecoveryTimes } from './recovery.ts';
import type { SteadyTimes } from './steady-clock.ts';

/** Every span that follows from T, in milliseconds (the table of docs/internals/semantics.md, section 0). */
export interface Times extends RecoveryTimes, SteadyTimes {
  /** T: silence after which a worker is offline, ... */
  readonly offlineAfterMs: number;
  /** ... and after which another worker takes its job over. */
  readonly takeoverMs: number;
  /** An offer that was not acknowledged is given up this long after it was first sent. */
  readonly withdrawOfferMs: number;
  readonly heartbeatMs: number;
  readonly stopGraceMs: number;
  /** An agent reconnects a stream that was silent for this long. */
  readonly streamSilenceMs: number;
  /** Rarer than 15 s on purpose: pings that nobody acknowledges would suspend TCP keepalive. */
  readonly pingMs: number;
  /** The published agent drops a job that comes too early after its report, or after a stop. */
  readonly settleAfterReportMs: number;
  readonly settleAfterStopMs: number;
  readonly sweepMs: number;
  /** Two beats that do not name a worker's job count as two when they are this far apart. */
  readonly absentMs: number;
  /** While a worker was heard this lately, no other machine can take its place. */
  readonly incumbentMs: number;
  /** A worker that never came counts as connecting for this long. */
  readonly firstContactMs: number;
  /** An ephemeral worker is removed after this long offline. */
  readonly removalMs: number;
  /** A quarantined worker is tried again after this. */
  readonly trialMs: number;
  /** The silence that agents of protocol 1 are granted, when it is more than T. */
  readonly v1SilenceMs: number;
  /** An order to stop that was not confirmed for this long can be given up by a person. */
  readonly unconfirmedMs: number;
}

export function timesFrom(offlineAfterMs: number, v1SilenceMs = 0): Times {
  const t = offlineAfterMs;
  return {
    offlineAfterMs: t,
    takeoverMs: t + t / 3,
    repeatOfferMs: [t / 8, t / 4],
    withdrawOfferMs: (3 * t) / 8,
    heartbeatMs: Math.min(30_000, t / 4),
    stopGraceMs: Math.min(30_000, t / 4),
    streamSilenceMs: t / 2,
    pingMs: Math.min(20_000, t / 6),
    absentMs: t / 6,
    incumbentMs: (3 * t) / 8,
    tickMs: Math.min(1_000, t / 8),
    lateMs: Math.min(5_000, t / 8),
    longPauseMs: t / 2,
    settleAfterReportMs: 50,
    settleAfterStopMs: 500,
    sweepMs: 60_000,
    firstContactMs: 300_000,
    removalMs: 3_600_000,
    v1SilenceMs,
    trialMs: 600_000,
    unconfirmedMs: 60_000,
  };
}
