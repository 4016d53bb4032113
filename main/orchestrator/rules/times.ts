import type { RecoveryTimes } from './recovery.ts';

/** Durations for the steady clock. */
export interface SteadyTimes {
  /** The interval at which the running process ticks. */
  readonly tickMs: number;
  /** A tick that is later than this was delayed: by sleep, SIGSTOP or a blocked disk. */
  readonly lateMs: number;
  /** After a pause longer than this, every worker's grace period restarts. */
  readonly longPauseMs: number;
}

/** All durations in milliseconds, most of them derived from T (the table of docs/internals/semantics.md, section 0). */
export interface Times extends RecoveryTimes, SteadyTimes {
  /** T: silence after which a worker is offline. */
  readonly offlineAfterMs: number;
  /** Silence after which another worker takes over its job. */
  readonly takeoverMs: number;
  /** An unacknowledged offer is withdrawn this long after it was first sent. */
  readonly withdrawOfferMs: number;
  readonly heartbeatMs: number;
  readonly stopGraceMs: number;
  /** An agent reconnects a stream that was silent for this long. */
  readonly streamSilenceMs: number;
  /** More than 15 s on purpose: pings that nobody acknowledges would suspend TCP keepalive. */
  readonly pingMs: number;
  /** SimpleTuner's agent drops a job that arrives too early after its report, or after a stop. */
  readonly settleAfterReportMs: number;
  readonly settleAfterStopMs: number;
  readonly sweepMs: number;
  /** A second heartbeat without the worker's job counts only if it arrives at least this long after the first. */
  readonly absentMs: number;
  /** Another machine that uses the same token is refused if the worker was heard within this time. */
  readonly incumbentMs: number;
  /** A worker that never registered counts as connecting for this long. */
  readonly firstContactMs: number;
  /** An ephemeral worker is removed after this long offline. */
  readonly removalMs: number;
  /** A quarantined worker gets a trial job after this. */
  readonly trialMs: number;
  /** The silence after which agents of protocol 1 are offline, if it is more than T. */
  readonly v1SilenceMs: number;
  /** After this, a user may stop waiting for a worker that does not confirm a stop. */
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
