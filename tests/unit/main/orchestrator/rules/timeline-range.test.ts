import { expect, test } from 'vitest';
import { timelineRange } from '../../../../../main/orchestrator/rules/timeline-range.ts';
import { refusalOf, valueOf } from '../../../../support/fleet-outcome.ts';

const day = 86_400_000;
const now = Date.UTC(2026, 0, 10);
const unset = { from: null, to: null };

test('covers the last 24 hours by default', () => {
  expect(valueOf(timelineRange(unset, now))).toEqual({ from: now - day, to: now });
  expect(valueOf(timelineRange({ ...unset, to: 5 * day }, now))).toEqual({ from: 4 * day, to: 5 * day });
  expect(valueOf(timelineRange({ ...unset, from: now - 5 }, now))).toEqual({ from: now - 5, to: now });
});

test('refuses an empty or reversed range, and one of more than 366 days', () => {
  const refused = { code: 'invalid_request' };
  expect(refusalOf(timelineRange({ from: 7, to: 7 }, now))).toEqual(refused);
  expect(refusalOf(timelineRange({ from: now, to: null }, now))).toEqual(refused);
  expect(refusalOf(timelineRange({ from: -1, to: 366 * day }, now))).toEqual(refused);
  expect(valueOf(timelineRange({ from: 0, to: 366 * day }, now))).toEqual({ from: 0, to: 366 * day });
});
