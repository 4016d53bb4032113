import { describe, expect, test } from 'vitest';
import { rowsInPart, verifyTrail } from '../../../protocol/verify-trail.ts';

type Verdict = NonNullable<Awaited<ReturnType<typeof verifyTrail>>>;
type Part = Parameters<Parameters<typeof verifyTrail>[2]>[0];

const intact = (checked: number): Verdict => ({
  valid: true,
  checked,
  first_bad: null,
  head: { seq: 9, at: '2026-01-01T00:00:00.000Z' },
  anchor: null,
});
const broken = (seq: number, code: 'row_changed' | 'head_lost' | 'rows_lost', checked = 1): Verdict => ({
  ...intact(checked),
  valid: false,
  first_bad: { seq, problem: 'the row was changed', code },
});

// Verifies a trail whose parts have these verdicts. Returns the final verdict, the requested parts and the percentages.
async function verifyWith(range: Part, newest: number, verdicts: readonly (Verdict | null)[]) {
  const parts: Part[] = [];
  const percents: number[] = [];
  const verdict = await verifyTrail(
    range,
    newest,
    part => Promise.resolve(verdicts[parts.push(part) - 1] ?? null),
    percent => percents.push(percent),
  );
  return { verdict, parts, percents };
}

describe('verifying the audit trail in parts', () => {
  test('verifies a short trail with one request without bounds', async () => {
    const { verdict, parts, percents } = await verifyWith({}, 12, [intact(12)]);
    expect(verdict).toEqual(intact(12));
    expect([parts, percents]).toEqual([[{}], []]);
  });

  test('sends a request for an empty trail, too, because the trail may have lost all rows', async () => {
    const { parts } = await verifyWith({}, 0, [intact(0)]);
    expect(parts).toEqual([{}]);
  });

  test('continues after the previous part, and includes rows that are appended during the verification', async () => {
    const newest = 2 * rowsInPart + 5;
    const verdicts = [intact(rowsInPart), intact(rowsInPart), intact(7)];
    const { verdict, parts, percents } = await verifyWith({}, newest, verdicts);
    expect(verdict?.checked).toBe(2 * rowsInPart + 7);
    expect(parts).toEqual([
      { to: rowsInPart },
      { from: rowsInPart + 1, to: 2 * rowsInPart },
      { from: 2 * rowsInPart + 1 },
    ]);
    expect(percents.map(percent => Math.round(percent))).toEqual([50, 100]);
  });

  test('requests no rows outside the given range', async () => {
    const to = 10 + rowsInPart;
    const { parts } = await verifyWith({ from: 10, to }, 1e9, [intact(rowsInPart), intact(1)]);
    expect(parts).toEqual([
      { from: 10, to: 9 + rowsInPart },
      { from: to, to },
    ]);
  });

  test('skips rows that retention has removed from the trail', async () => {
    const anchor = { seq: 5 * rowsInPart, at: '2026-01-01T00:00:00.000Z' };
    const { parts } = await verifyWith({}, 5 * rowsInPart + 3, [{ ...intact(0), anchor }, intact(3)]);
    expect(parts).toEqual([{ to: rowsInPart }, { from: 5 * rowsInPart + 1 }]);
  });

  test('stops after the first part with a changed row', async () => {
    const { verdict, parts } = await verifyWith({}, 9 * rowsInPart, [intact(2), broken(7, 'row_changed', 3)]);
    expect(verdict).toEqual(broken(7, 'row_changed', 5));
    expect(parts).toHaveLength(2);
  });

  test('continues after a part with lost rows or a lost head, and returns this loss if no later row is broken', async () => {
    const losses = [broken(7, 'head_lost'), broken(8, 'rows_lost'), intact(1)];
    const { verdict } = await verifyWith({}, 2 * rowsInPart + 1, losses);
    expect(verdict).toEqual(broken(7, 'head_lost', 3));
  });

  test('returns a broken row instead of an earlier loss of rows or of the head', async () => {
    const verdicts = [broken(7, 'head_lost'), broken(150_000, 'row_changed')];
    const { verdict } = await verifyWith({}, 2 * rowsInPart, verdicts);
    expect(verdict).toEqual(broken(150_000, 'row_changed', 2));
  });

  test('returns no verdict when a request fails', async () => {
    expect((await verifyWith({}, 2 * rowsInPart, [intact(1), null])).verdict).toBeNull();
  });
});
