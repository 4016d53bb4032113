import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createBackoff, pause } from '../../../../agent/retry/retry.ts';
import { systemClock } from '../../../../agent/clock.ts';

const nextWaits = (backoff: ReturnType<typeof createBackoff>, times: number): readonly number[] =>
  Array.from({ length: times }, () => backoff.nextMs());

describe('backoff', () => {
  it('doubles the wait from the first to the maximum', () => {
    expect(nextWaits(createBackoff({ firstMs: 1_000, maxMs: 8_000 }), 6)).toEqual([
      1_000, 2_000, 4_000, 8_000, 8_000, 8_000,
    ]);
  });

  it('starts again with the first wait after a reset', () => {
    const backoff = createBackoff({ firstMs: 500, maxMs: 15_000 });
    nextWaits(backoff, 4);
    backoff.reset();
    expect(nextWaits(backoff, 2)).toEqual([500, 1_000]);
  });

  it.each([
    [0, [0, 0, 0]],
    [0.5, [500, 1_000, 1_500]],
    [1, [1_000, 2_000, 3_000]],
  ])('multiplies each wait by the random number %j', (random, expected) => {
    expect(nextWaits(createBackoff({ firstMs: 1_000, maxMs: 3_000, random: () => random }), 3)).toEqual(
      expected,
    );
  });

  it('stays finite after thousands of waits', () => {
    expect(nextWaits(createBackoff({ firstMs: 1_000, maxMs: 30_000 }), 5_000).at(-1)).toBe(30_000);
  });
});

describe('pause', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('resolves with true only when the time has passed', async () => {
    const ended = vi.fn<(passed: boolean) => void>();
    void pause(systemClock, 1_000, new AbortController().signal).then(ended);
    await vi.advanceTimersByTimeAsync(999);
    expect(ended).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(ended).toHaveBeenCalledWith(true);
  });

  it('resolves with false immediately when aborted, and leaves no timer', async () => {
    const abort = new AbortController();
    const paused = pause(systemClock, 60_000, abort.signal);
    abort.abort();
    expect(await paused).toBe(false);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('starts no timer when already aborted', async () => {
    expect(await pause(systemClock, 60_000, AbortSignal.abort())).toBe(false);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('leaves no listener on a signal that many pauses share', async () => {
    const { signal } = new AbortController();
    const added = vi.spyOn(signal, 'addEventListener');
    const removed = vi.spyOn(signal, 'removeEventListener');
    for (let n = 0; n < 20; n += 1) {
      const paused = pause(systemClock, 10, signal);
      await vi.advanceTimersByTimeAsync(10);
      await paused;
    }
    expect(removed.mock.calls.length).toBe(added.mock.calls.length);
  });
});
