import { describe, expect, it } from 'vitest';
import { computeRecovery, medianRecovery, type Recovery, windowMs } from '../../faults/recovery/windows.ts';

/** Returns the times of completions from `from` on, in intervals of `everyMs`. */
const completionsAt = (everyMs: number, from: number, to: number): readonly number[] =>
  Array.from({ length: Math.ceil((to - from) / everyMs) }, (_, index) => from + index * everyMs);

/** The times of a fault in ms. The recovery point is the end of the fault. */
const fault = { from: 20_000, to: 25_000 };
/** Ten completions a second until the fault. */
const before = completionsAt(100, 0, fault.from);
const windowEnd = fault.to + windowMs;

describe('computeRecovery', () => {
  it('compares the ten seconds before the fault with the ten seconds after the recovery point', () => {
    const completions = [...before, ...completionsAt(200, fault.to, windowEnd)];
    expect(computeRecovery(completions, fault)).toMatchObject({ before: 10, after: 5, ratio: 0.5 });
  });

  it('counts no job that completed during the fault or after the window', () => {
    const during = completionsAt(1, fault.from, fault.to);
    const late = completionsAt(1, windowEnd, windowEnd + 5_000);
    expect(computeRecovery([...before, ...during, ...late], fault)).toMatchObject({ before: 10, after: 0 });
  });

  it('returns a recovery after 0 ms when the throughput does not change', () => {
    const completions = [...before, ...completionsAt(100, fault.to, windowEnd)];
    expect(computeRecovery(completions, fault)).toMatchObject({ ratio: 1, reachedAfterMs: 0 });
  });

  it.each([
    // The two seconds from 2.9 s on contain 19 of 20 jobs, which is 95 %.
    ['3 s after the fault', 3_000, 2_900],
    ['8 s after the fault', 8_000, 7_900],
    ['too late for two full seconds in the window, so null', 8_300, null],
  ])(
    'measures when the throughput first reaches 95 %% for two seconds: %s',
    (_when, laterMs, reachedAfterMs) => {
      const completions = [...before, ...completionsAt(100, fault.to + laterMs, windowEnd)];
      expect(computeRecovery(completions, fault).reachedAfterMs).toBe(reachedAfterMs);
    },
  );

  it('returns no ratio and no recovery when no job completed before the fault', () => {
    const recovery = computeRecovery(completionsAt(100, fault.to, windowEnd), fault);
    expect(recovery).toEqual({ before: 0, after: 10, ratio: Number.NaN, reachedAfterMs: null });
  });
});

describe('medianRecovery', () => {
  const withRatio = (ratio: number): Recovery => ({
    before: 10,
    after: 10 * ratio,
    ratio,
    reachedAfterMs: 0,
  });

  it.each([
    ['three rounds', [0.9, 0.2, 1.1], 0.9],
    ['four rounds: the lower of the two middle ratios', [0.9, 0.2, 1.1, 0.8], 0.8],
    ['one round', [0.7], 0.7],
  ])('returns the round with the middle ratio of %s', (_count, ratios, expected) => {
    expect(medianRecovery(ratios.map(withRatio))).toEqual(withRatio(expected));
  });

  it('throws when it gets no round', () => {
    expect(() => medianRecovery([])).toThrow('There is no recovery.');
  });
});
