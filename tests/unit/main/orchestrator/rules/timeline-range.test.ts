import { expect, test } from 'vitest';
import { timelineRange } from '../../../../../main/orchestrator/rules/timeline-range.ts';
import { refusalOf, valueOf } from '../../../../support/fleet-outcome.ts';

const dayMs = 86_400_000;
const now = Date.UTC(2026, 0, 10);
const unset = { from: null, to: null };

test('covers the last 24 hours by default', () => {
  expect(valueOf(timelineRange(unset, now))).toEqual({ from: now - dayMs, to: now });
  expect(valueOf(timelineRange({ ...unset, to: 5 * dayMs }, now))).toEqual({
    from: 4 * dayMs,
    to: 5 * dayMs,
  });
  expect(valueOf(timelineRange({ ...unset, from: now - 5 }, now))).toEqual({ from: now - 5, to: now });
});

test('refuses an empty range, a reversed range, and a range of more than 366 days', () => {
  const refusal = { code: 'invalid_request' };
  expect(refusalOf(timelineRange({ from: 7, to: 7 }, now))).toEqual(refusal);
  expect(refusalOf(timelineRange({ from: now, to: null }, now))).toEqual(refusal);
  expect(refusalOf(timelineRange({ from: -1, to: 366 * dayMs }, now))).toEqual(refusal);
  expect(valueOf(timelineRange({ from: 0, to: 366 * dayMs }, now))).toEqual({ from: 0, to: 366 * dayMs });
});
