import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../../../agent/clock.ts';
import { runHeartbeat } from '../../../../agent/session/heartbeat.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Sends heartbeats and records their times. `answers` gives the result of each one; its last element repeats. */
function startBeats(answers: readonly boolean[], random = 0.5, interval = (): number => 30_000) {
  const over = new AbortController();
  const at: number[] = [];
  const began = Date.now();
  const ended = vi.fn<() => void>();
  const beat = async (): Promise<boolean> => {
    at.push(Date.now() - began);
    return answers[at.length - 1] ?? answers.at(-1) ?? true;
  };
  void runHeartbeat({
    clock: systemClock,
    beat,
    intervalMs: interval,
    random: () => random,
    signal: over.signal,
  }).then(ended);
  return { at, over, ended };
}

describe('acknowledged beats', () => {
  it.each([
    [0, 27_000],
    [0.5, 30_000],
    [1, 33_000],
  ])(
    'come at once and then within a tenth of the interval: chance %j makes %j ms',
    async (random, expected) => {
      const { at } = startBeats([true], random);
      await vi.advanceTimersByTimeAsync(3 * expected);
      expect(at).toEqual([0, expected, 2 * expected, 3 * expected]);
    },
  );

  it('follow an interval that changes', async () => {
    let intervalMs = 30_000;
    const { at } = startBeats([true], 0.5, () => intervalMs);
    await vi.advanceTimersByTimeAsync(29_999);
    intervalMs = 1_000;
    await vi.advanceTimersByTimeAsync(2_001);
    expect(at).toEqual([0, 30_000, 31_000, 32_000]);
  });
});

describe('beats that fail', () => {
  it('are tried again after 1, 2, 4, 8 s, and every 8 s from then on', async () => {
    const { at } = startBeats([false]);
    await vi.advanceTimersByTimeAsync(31_000);
    expect(at).toEqual([0, 1_000, 3_000, 7_000, 15_000, 23_000, 31_000]);
  });

  it('never wait longer than those that succeed', async () => {
    const { at } = startBeats([false], 0.5, () => 1_500);
    await vi.advanceTimersByTimeAsync(4_000);
    expect(at).toEqual([0, 1_000, 2_500, 4_000]);
  });

  it('begin with 1 s again after one has succeeded', async () => {
    const { at } = startBeats([false, false, true, false, true]);
    await vi.advanceTimersByTimeAsync(34_000);
    expect(at).toEqual([0, 1_000, 3_000, 33_000, 34_000]);
  });
});

describe('the end', () => {
  it('comes at once between two beats, and no timer stays', async () => {
    const { at, over, ended } = startBeats([true]);
    await vi.advanceTimersByTimeAsync(10_000);
    over.abort();
    await vi.advanceTimersByTimeAsync(0);
    expect(ended).toHaveBeenCalled();
    expect(vi.getTimerCount()).toBe(0);
    await vi.advanceTimersByTimeAsync(100_000);
    expect(at).toEqual([0]);
  });

  it('comes before the first beat when it was over before', async () => {
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

  it('waits for a beat that is on its way, and sends no other', async () => {
    const over = new AbortController();
    const answer = Promise.withResolvers<boolean>();
    const beat = vi.fn(() => answer.promise);
    const ended = vi.fn<() => void>();
    void runHeartbeat({
      clock: systemClock,
      beat,
      intervalMs: () => 10,
      random: () => 0,
      signal: over.signal,
    }).then(ended);
    await vi.advanceTimersByTimeAsync(5);
    over.abort();
    await vi.advanceTimersByTimeAsync(5);
    expect(ended).not.toHaveBeenCalled();
    answer.resolve(true);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(ended).toHaveBeenCalled();
    expect(beat).toHaveBeenCalledTimes(1);
  });
});
