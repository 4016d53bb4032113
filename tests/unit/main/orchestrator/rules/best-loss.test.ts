import { describe, expect, test } from 'vitest';
import { bestLoss, bestLossKey, isBestLossDue } from '../../../../../main/orchestrator/rules/best-loss.ts';
import { grow } from '../../../../../main/orchestrator/rules/metric-rules.ts';

const curveOf = (...values: readonly (number | null)[]) =>
  grow(
    [],
    values.map((value, n) => ({ step: n, ms: n, value })),
    1,
  );

describe('bestLoss', () => {
  test('returns the lowest evaluation loss of all attempts', () => {
    expect(bestLoss('eval_loss', [curveOf(3, null, 0.5, 2), curveOf(1, 4)])).toBe(0.5);
  });

  test('returns the lowest mean training loss over a tenth of an attempt, so that one low value does not decide', () => {
    const noisy = [9, 9, 9, 9, 1, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 4, 4, 9, 9];
    expect(bestLoss('loss', [curveOf(...noisy)])).toBe(4);
  });

  test('computes the mean over a tenth of the values, not over a tenth of the buckets of a curve', () => {
    const merged = grow(
      [],
      Array.from({ length: 40 }, (_, n) => ({ step: n, ms: n, value: n < 30 ? 8 : 2 })),
      10,
    );
    expect(bestLoss('loss', [merged])).toBe(2);
  });

  test('ignores gaps, and returns null without any finite value', () => {
    expect(bestLoss('loss', [curveOf(null, 2, null)])).toBe(2);
    for (const key of ['loss', 'eval_loss']) {
      expect(bestLoss(key, [curveOf(null), []])).toBeNull();
      expect(bestLoss(key, [])).toBeNull();
    }
  });
});

test('prefers an evaluation loss to the training loss', () => {
  expect(bestLossKey(['lr', 'loss', 'eval_loss'])).toBe('eval_loss');
  expect(bestLossKey(['lr', 'loss'])).toBe('loss');
  expect(bestLossKey(['lr'])).toBeNull();
});

test('recomputes the best loss after each evaluation, or once the number of training losses has grown by 5 %', () => {
  expect(isBestLossDue(['lr'], 0, 100)).toBe(false);
  expect(isBestLossDue(['loss', 'lr'], 0, 1)).toBe(true);
  expect(isBestLossDue(['loss', 'val_loss'], 1_000, 1_001)).toBe(true);
  expect(isBestLossDue(['loss'], 1_000, 1_001)).toBe(false);
  expect(isBestLossDue(['loss'], 1_000, 1_060)).toBe(true);
});
