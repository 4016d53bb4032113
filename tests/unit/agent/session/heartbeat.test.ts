import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../../../agent/clock.ts';
import { runHeartbeat } from '../../../../agent/session/heartbeat.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Sends heartbeats and records their times. Heartbeat i succeeds if `answers[i]` is true. The last element repeats. */
function startHeartbeats(answers: readonly boolean[], random = 0.5, interval = (): number => 30_000) {
  const abort = new AbortController();
  const sentAt: number[] = [];
  const startedAt = Date.now();
  const ended = vi.fn<() => void>();
  const beat = async (): Promise<boolean> => {
    sentAt.push(Date.now() - startedAt);
    return answers[sentAt.length - 1] ?? answers.at(-1) ?? true;
  };
  void runHeartbeat({
    clock: systemClock,
    beat,
    intervalMs: interval,
    random: () => random,
    signal: abort.signal,
  }).then(ended);
  return { sentAt, abort, ended };
}

describe('answered heartbeats', () => {
  it.each([
    [0, 27_000],
    [0.5, 30_000],
    [1, 33_000],
  ])('varies the interval by up to a tenth: the random number %j gives %j ms', async (random, expected) => {
    const { sentAt } = startHeartbeats([true], random);
    await vi.advanceTimersByTimeAsync(3 * expected);
    expect(sentAt).toEqual([0, expected, 2 * expected, 3 * expected]);
  });

  it('applies a changed interval after the next heartbeat', async () => {
    let intervalMs = 30_000;
    const { sentAt } = startHeartbeats([true], 0.5, () => intervalMs);
    await vi.advanceTimersByTimeAsync(29_999);
    intervalMs = 1_000;
    await vi.advanceTimersByTimeAsync(2_001);
    expect(sentAt).toEqual([0, 30_000, 31_000, 32_000]);
  });
});

describe('failed heartbeats', () => {
  it('repeats failed heartbeats after 1, 2, 4 and 8 s, and then every 8 s', async () => {
    const { sentAt } = startHeartbeats([false]);
    await vi.advanceTimersByTimeAsync(31_000);
    expect(sentAt).toEqual([0, 1_000, 3_000, 7_000, 15_000, 23_000, 31_000]);
  });

  it('never waits longer than the interval after a failure', async () => {
    const { sentAt } = startHeartbeats([false], 0.5, () => 1_500);
    await vi.advanceTimersByTimeAsync(4_000);
    expect(sentAt).toEqual([0, 1_000, 2_500, 4_000]);
  });

  it('repeats the next failed heartbeat after 1 s again when a heartbeat has succeeded', async () => {
    const { sentAt } = startHeartbeats([false, false, true, false, true]);
    await vi.advanceTimersByTimeAsync(34_000);
    expect(sentAt).toEqual([0, 1_000, 3_000, 33_000, 34_000]);
  });
});

describe('end of heartbeats', () => {
  it('stops immediately when aborted between two heartbeats, and leaves no timer', async () => {
    const { sentAt, abort, ended } = startHeartbeats([true]);
    await vi.advanceTimersByTimeAsync(10_000);
    abort.abort();
    await vi.advanceTimersByTimeAsync(0);
    expect(ended).toHaveBeenCalled();
    expect(vi.getTimerCount()).toBe(0);
    await vi.advanceTimersByTimeAsync(100_000);
    expect(sentAt).toEqual([0]);
  });

  it('sends no heartbeat when already aborted', async () => {
    const beat = vi.fn<() => Promise<boolean>>();
    await runHeartbeat({
      clock: systemClock,
      beat,
      intervalMs: () => 1,
      random: () => 0,
      signal: AbortSignal.abort(),
    });
    expect(beat).not.toHaveBeenCalled();
  });

  it('waits for a heartbeat in flight when aborted, and sends no other heartbeat', async () => {
    const abort = new AbortController();
    const answer = Promise.withResolvers<boolean>();
    const beat = vi.fn(() => answer.promise);
    const ended = vi.fn<() => void>();
    void runHeartbeat({
      clock: systemClock,
      beat,
      intervalMs: () => 10,
      random: () => 0,
      signal: abort.signal,
    }).then(ended);
    await vi.advanceTimersByTimeAsync(5);
    abort.abort();
    await vi.advanceTimersByTimeAsync(5);
    expect(ended).not.toHaveBeenCalled();
    answer.resolve(true);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(ended).toHaveBeenCalled();
    expect(beat).toHaveBeenCalledTimes(1);
  });
});
