import { describe, expect, test } from 'vitest';
import { type EarlierRun, figuresOf } from '../../../../../main/orchestrator/rules/earlier-figures.ts';

const makeRun = (changes: Partial<EarlierRun> = {}): EarlierRun => ({
  ranMs: 100_000,
  steps: 1_000,
  isWhole: true,
  peakMemoryMb: 20_480,
  outputBytes: 5_000,
  ...changes,
});

describe('figuresOf', () => {
  test('scales the median run time to the number of steps, and takes the highest use of memory and disk', () => {
    const runs = [
      makeRun({ ranMs: 400_000, outputBytes: 9_000 }),
      makeRun(),
      makeRun({ steps: 2_000, peakMemoryMb: 21_913 }),
    ];
    expect(figuresOf(runs, 3_000)).toEqual({
      runs: 3,
      expected_s: 300,
      peak_memory_gb: 21.4,
      output_bytes: 9_000,
    });
  });

  test.each([
    ['the job sets no steps', makeRun(), null],
    ['the earlier run reported no steps', makeRun({ steps: null }), 50],
    ['the earlier run did no step', makeRun({ steps: 0 }), 50],
  ])('expects the unscaled time of the earlier run when %s', (_case, earlier, steps) => {
    expect(figuresOf([earlier], steps)).toMatchObject({ expected_s: 100 });
  });

  test.each([
    ['never started', makeRun({ ranMs: null })],
    ['continued from a checkpoint', makeRun({ isWhole: false })],
  ])('expects no time from a run whose last attempt %s', (_case, earlier) => {
    expect(figuresOf([earlier], 50)).toMatchObject({ runs: 1, expected_s: null });
  });

  test('returns null for figures that no run reported, and null without any run', () => {
    expect(figuresOf([makeRun({ peakMemoryMb: null, outputBytes: 0 })], 1)).toMatchObject({
      peak_memory_gb: null,
      output_bytes: null,
    });
    expect(figuresOf([], 1)).toBeNull();
  });
});
