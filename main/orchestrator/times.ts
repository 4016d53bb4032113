import type { RecoveryTimes } from './recovery.ts';
import type { StatusTimes } from './worker-status.ts';

/** Every span that follows from T, in milliseconds (the table of SEMANTICS.md, section 0). */
export interface Times extends RecoveryTimes, StatusTimes {
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
}

export function timesFrom(offlineAfterMs: number): Times {
  const t = offlineAfterMs;
  return {
    offlineAfterMs: t,
    takeoverMs: t + t / 3,
    repeatOfferMs: [t / 8, t / 4],
    withdrawOfferMs: (3 * t) / 8,
    firstContactMs: 300_000,
    heartbeatMs: Math.min(30_000, t / 4),
    stopGraceMs: Math.min(30_000, t / 4),
    streamSilenceMs: t / 2,
    pingMs: Math.min(20_000, t / 6),
    settleAfterReportMs: 50,
    settleAfterStopMs: 500,
    sweepMs: 60_000,
  };
}
