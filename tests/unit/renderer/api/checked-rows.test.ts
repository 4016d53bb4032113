/** Tests that rows are validated a few at a time, so that other code can run between two batches. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { checkedRows } from '../../../../renderer/api/read-fleet.ts';

test('returns the parsed rows in their order', async () => {
  const rows = Array.from({ length: 1_000 }, (_, n) => ({ n, more: true }));
  expect(await checkedRows(z.object({ n: z.number() }), rows)).toEqual(rows.map(({ n }) => ({ n })));
});

test('returns null when any row is invalid', async () => {
  expect(await checkedRows(z.string(), ['a', 1, 'b'])).toBeNull();
});

test('yields to other tasks while it checks many rows', async () => {
  /** A schema whose check takes 4 ms. */
  const slow = z.number().refine(() => {
    const until = performance.now() + 4;
    while (performance.now() < until);
    return true;
  });
  let timerRuns = 0;
  const timer = setInterval(() => (timerRuns += 1), 1);
  const rows = Array.from({ length: 20 }, (_, n) => n);
  expect(await checkedRows(slow, rows)).toHaveLength(20);
  clearInterval(timer);
  expect(timerRuns).toBeGreaterThanOrEqual(3);
});
