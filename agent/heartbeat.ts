import { type Backoff, createBackoff, pause } from './backoff.ts';
import type { Clock } from './clock.ts';

export interface HeartbeatParts {
  readonly clock: Clock;
  /** Sends one beat; false if it was not acknowledged. */
  readonly beat: () => Promise<boolean>;
  /** Asked each time: the orchestrator may change it. */
  readonly intervalMs: () => number;
  readonly random: () => number;
  readonly signal: AbortSignal;
}

/**
 * Beats until the signal fires. The loop knows nothing of jobs and waits for none, so that nothing which a trainer
 * does can hold a beat up. One that fails is tried again soon: 1, 2, 4, 8 s.
 */
export async function runHeartbeat({
  clock,
  beat,
  intervalMs,
  random,
  signal,
}: HeartbeatParts): Promise<void> {
  const retry: Backoff = createBackoff({ firstMs: 1_000, mostMs: 8_000 });
  let waitMs = 0;
  while (await pause(clock, waitMs, signal)) {
    const acknowledged = await beat();
    if (acknowledged) retry.reset();
    const regularMs = intervalMs() * (0.9 + 0.2 * random());
    waitMs = acknowledged ? regularMs : Math.min(regularMs, retry.nextMs());
  }
}
