import { type Backoff, createBackoff, pause } from '../retry/backoff.ts';
import type { Clock } from '../clock.ts';
import { loopWaits } from '../retry/waits.ts';

export interface HeartbeatDeps {
  readonly clock: Clock;
  /** Sends one heartbeat. Resolves with false if it was not acknowledged. */
  readonly beat: () => Promise<boolean>;
  /** Called each time, because the orchestrator may change the interval. */
  readonly intervalMs: () => number;
  readonly random: () => number;
  readonly signal: AbortSignal;
}

/**
 * Sends heartbeats until the signal fires. The loop does not depend on jobs and waits for none, so that no trainer can
 * delay a heartbeat. It retries a failed one after 1, 2, 4, 8 s.
 */
export async function runHeartbeat({
  clock,
  beat,
  intervalMs,
  random,
  signal,
}: HeartbeatDeps): Promise<void> {
  const backoff: Backoff = createBackoff(loopWaits.heartbeat);
  let waitMs = 0;
  while (await pause(clock, waitMs, signal)) {
    const acknowledged = await beat();
    if (acknowledged) backoff.reset();
    const regularMs = intervalMs() * (0.9 + 0.2 * random());
    waitMs = acknowledged ? regularMs : Math.min(regularMs, backoff.nextMs());
  }
}
