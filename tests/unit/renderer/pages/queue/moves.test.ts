/** Tests the positions to which a user can move a job in the table of pending jobs. Gap n is above row n. */
import { describe, expect, test } from 'vitest';
import {
  allowedGap,
  lineAt,
  planMove,
  positionAt,
  type Step,
  stepFrom,
} from '../../../../../renderer/pages/queue/moves.ts';
import type { QueueRow } from '../../../../../renderer/pages/queue/order.ts';
import { speedAt } from '../../../../../renderer/pages/queue/use-edge-scroll.ts';
import { jobView } from '../../../../support/job-view.ts';

const row = (id: string, overrides: object = {}): QueueRow => ({
  job: jobView({ id, job_id: id, status: 'pending', priority: 10, ...overrides }),
  place: null,
});
const top = row('j_top', { is_top: true });
const high = row('j_high', { priority: 20 });
const boosted = row('j_boosted', { priority: 10, boosts: 1 });
const [one, two, three] = [row('j_1'), row('j_2'), row('j_3')];
const rows = [top, high, boosted, one, two, three] as const;

describe('planMove', () => {
  test('moves a job before or after jobs of the same rank', () => {
    expect(planMove(rows, three.job, 3)).toEqual({ kind: 'move', target: { id: 'j_1', side: 'before' } });
    expect(planMove(rows, one.job, 6)).toEqual({ kind: 'move', target: { id: 'j_3', side: 'after' } });
    expect(planMove(rows, boosted.job, 1)).toEqual({
      kind: 'move',
      target: { id: 'j_high', side: 'before' },
    });
    expect(planMove(rows, high.job, 3)).toEqual({ kind: 'move', target: { id: 'j_boosted', side: 'after' } });
  });

  test.each([4, 5])('does not move a job that is dropped at gap %d, next to its own row', gap => {
    expect(planMove(rows, two.job, gap)).toEqual({ kind: 'stay' });
  });

  test.each([
    ['a job among jobs of a higher priority', two, 1, 'priority', high],
    ['a job above the job at the top', two, 0, 'targetIsTop', top],
    ['a job among jobs of a lower priority', high, 5, 'priority', three],
    ['the job at the top below other jobs', top, 4, 'jobIsTop', two],
    ['the job at the top to the end', top, 6, 'jobIsTop', three],
  ])('refuses to move %s', (_title, { job }, gap, why, { job: beside }) => {
    expect(planMove(rows, job, gap)).toEqual({ kind: 'refused', why, beside });
  });
});

test('lineAt draws the line of a gap above the next row, and the line of the last gap below the last row', () => {
  expect([0, 5, 6].map(gap => lineAt(rows, gap))).toEqual([
    { id: 'j_top', side: 'before' },
    { id: 'j_3', side: 'before' },
    { id: 'j_3', side: 'after' },
  ]);
  expect(lineAt([], 0)).toBeNull();
});

test('positionAt returns a position that does not count the moved row', () => {
  expect([0, 2, 3, 4, 6].map(gap => positionAt(3, gap))).toEqual([1, 3, 4, 4, 6]);
});

describe('stepFrom', () => {
  test.each<readonly [Step, number, number]>([
    ['up', 3, 2],
    ['up', 5, 3],
    ['down', 3, 5],
    ['down', 2, 3],
    ['down', 6, 6],
    ['pageUp', 5, 0],
    ['pageDown', 0, 6],
    ['first', 3, 0],
    ['last', 3, 6],
  ])('%s moves from gap %d to gap %d', (step, gap, to) => {
    expect(stepFrom(gap, { step, from: 3, count: 6 })).toBe(to);
  });
});

test('allowedGap stops before the first gap to which the job cannot move', () => {
  expect(allowedGap(rows, three.job, { from: 5, to: 0 })).toBe(3);
  expect(allowedGap(rows, one.job, { from: 3, to: 6 })).toBe(6);
  expect(allowedGap(rows, one.job, { from: 3, to: 3 })).toBe(3);
});

test('speedAt scrolls near the edges, faster beyond the edges, and at most four pixels per millisecond', () => {
  expect([300, 120, 100, 60, -900].map(y => speedAt(y, 100, 500))).toEqual([0, -0.5, -1, -2, -4]);
  expect(speedAt(480, 100, 500)).toBe(0.5);
});
