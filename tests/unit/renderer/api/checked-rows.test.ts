/** Rows are validated a few at a time, so that other code can run in between. */
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
  const slow = z.number().refine(() => {
    const until = performance.now() + 4;
    while (performance.now() < until);
    return true;
  });
  let turns = 0;
  const others = setInterval(() => (turns += 1), 1);
  expect(
    await checkedRows(
      slow,
      Array.from({ length: 20 }, (_, n) => n),
    ),
  ).toHaveLength(20);
  clearInterval(others);
  expect(turns).toBeGreaterThanOrEqual(3);
});
