import type { RecoveryTimes } from './recovery.ts';

/** Durations for the steady clock. */
export interface SteadyTimes {
  /** The interval at which the running process ticks. */
  readonly tickMs: number;
  /** A tick that is later than this shows that the process was paused: by sleep, SIGSTOP or a blocked disk. */
  readonly lateMs: number;
  /** After a pause longer than this, every worker's grace period restarts. */
  readonly longPauseMs: number;
}

/** All durations in milliseconds, most of them derived from T (the table of docs/internals/semantics.md, section 0). */
export interface Times extends RecoveryTimes, SteadyTimes {
  /** T: silence after which a worker is offline. */
  readonly offlineAfterMs: number;
  /** Silence after which another worker takes over the job of the silent worker. */
  readonly takeoverMs: number;
  /** Time from the first sending of an offer until the server withdraws it, if the worker does not acknowledge it. */
  readonly withdrawOfferMs: number;
  /** Interval of an agent's heartbeats. */
  readonly heartbeatMs: number;
  /** Time for a trainer to end after it was asked to stop. Then the agent kills it. */
  readonly stopGraceMs: number;
  /** Silence of a stream after which the agent reconnects it. */
  readonly streamSilenceMs: number;
  /**
   * Interval of pings on a stream. It is longer than 15 s by default, because unacknowledged pings would suspend TCP
   * keepalive.
   */
  readonly pingMs: number;
  /** Cooldowns of SimpleTuner's agent, which drops a job that arrives too early after its final report, or after a stop. */
  readonly settleAfterReportMs: number;
  readonly settleAfterStopMs: number;
  /** Maximum time between two checks of the health loop. */
  readonly sweepMs: number;
  /** Minimum time between two heartbeats without the worker's job that show that the worker has lost the job. */
  readonly absentMs: number;
  /** Another machine with the same token is refused if the worker was in contact within this time. */
  readonly incumbentMs: number;
  /** Time for which a worker that never registered counts as connecting. */
  readonly firstContactMs: number;
  /** Time offline after which an ephemeral worker is removed. */
  readonly removalMs: number;
  /** Time in quarantine after which a worker gets a trial job. */
  readonly trialMs: number;
  /** The silence after which agents of protocol 1 are offline, if it is longer than T. */
  readonly v1SilenceMs: number;
  /** Time after which a user may stop waiting for a worker that does not confirm a stop. */
  readonly unconfirmedMs: number;
}

/** Returns the durations for T in milliseconds. `v1SilenceMs`: 0 to treat agents of protocol 1 like all others. */
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
