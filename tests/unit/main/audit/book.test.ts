// See docs/internals/faults.md, I5 and S21.
import { describe, expect, test } from 'vitest';
import { createSeal } from '../../../../main/audit/chain.ts';
import type { AuditRow, AuditTrail } from '../../../../main/orchestrator/ports/index.ts';
import { AuditEntry, type AuditFault } from '../../../../protocol/admin-api.ts';
import { auditFilter, bookOf, testSeal, wholeTrail } from '../../../support/seal.ts';
import { makeRow } from './builders.ts';

/** Creates `count` rows with valid seals. */
function makeRows(count: number): AuditRow[] {
  const rows: AuditRow[] = [];
  for (let seq = 1; seq <= count; seq++) {
    const row = makeRow({ seq, at: seq * 1_000, target_id: `w_${seq}` });
    rows.push({ ...row, hash: testSeal(rows.at(-1)?.hash ?? null, row) });
  }
  return rows;
}

// `lastSeq` is the highest row number that the database has issued.
const trailOf = (rows: readonly AuditRow[], lastSeq = rows.at(-1)?.seq ?? 0): AuditTrail => ({
  list: ({ limit, offset }) => ({
    rows: rows.toReversed().slice(offset, offset + limit),
    total: rows.length,
  }),
  after: (seq, limit) => rows.filter(row => row.seq > seq).slice(0, limit),
  lastSeq: () => lastSeq,
  filteredAfter: (_filter, seq, limit) => rows.filter(row => row.seq > seq).slice(0, limit),
  row: seq => rows.find(row => row.seq === seq) ?? null,
  figures: () => ({ total: rows.length, firstAt: null, lastAt: null, types: [], actors: [] }),
  anchor: () => null,
});
const verify = (rows: readonly AuditRow[], lastSeq?: number, seal = testSeal) =>
  bookOf(trailOf(rows, lastSeq), seal).verify(wholeTrail);
const codeByProblem: Readonly<Record<string, AuditFault>> = {
  'the row was changed': 'row_changed',
  'the row is missing': 'row_missing',
  'the row was inserted': 'row_inserted',
  'the newest rows are missing': 'newest_missing',
};
const invalidAt = (checked: number, seq: number, problem: string) => ({
  valid: false,
  checked,
  first_bad: { seq, problem, code: codeByProblem[problem] },
  head: null,
  anchor: null,
});

describe('verifying an intact trail', () => {
  // The trail is read in pages of 2,000 rows. These counts are at and around the ends of pages.
  test.each([0, 1, 2, 1_999, 2_000, 2_001, 4_000])('accepts a trail of %d rows', async count => {
    expect(await verify(makeRows(count))).toEqual({
      valid: true,
      checked: count,
      first_bad: null,
      head: null,
      anchor: null,
    });
  });

  test('accepts a trail that grows during the verification', async () => {
    const rows = makeRows(6_000);
    const written = rows.slice(0, 2_000);
    const growingTrail: AuditTrail = {
      ...trailOf(written),
      after(seq, limit) {
        // Other rows are written before the next page is read.
        setImmediate(() => written.push(...rows.slice(written.length, written.length + 1_500)));
        return written.filter(row => row.seq > seq).slice(0, limit);
      },
      lastSeq: () => written.length,
    };
    expect(await bookOf(growingTrail).verify(wholeTrail)).toMatchObject({ valid: true, first_bad: null });
  });
});

describe('verifying a changed trail', () => {
  const columns: Readonly<Partial<AuditRow>> = {
    at: 1,
    type: 'worker.back',
    actor_type: 'system',
    actor_id: null,
    address: '10.6.6.6',
    target_type: 'job',
    target_id: 'w_9',
    details: '{}',
    hash: 'f'.repeat(64),
  };

  test.each(Object.entries(columns))(
    'detects a changed %s in the first, the middle and the last row',
    async (name, value) => {
      for (const seq of [1, 3, 5]) {
        const rows = makeRows(5).map(row => (row.seq === seq ? { ...row, [name]: value } : row));
        expect(await verify(rows)).toEqual(invalidAt(seq - 1, seq, 'the row was changed'));
      }
    },
  );

  test('covers every column of an audit row with a test case', () => {
    expect(new Set([...Object.keys(columns), 'seq'])).toEqual(new Set(Object.keys(makeRow())));
  });

  test.each([1, 3])('detects that row %d was removed', async seq => {
    const rows = makeRows(5).filter(row => row.seq !== seq);
    expect(await verify(rows)).toEqual(invalidAt(seq - 1, seq, 'the row is missing'));
  });

  test('detects a removed row when the later rows are renumbered', async () => {
    const rows = makeRows(5)
      .filter(({ seq }) => seq !== 3)
      .map((row, index) => ({ ...row, seq: index + 1 }));
    expect(await verify(rows, 4)).toEqual(invalidAt(2, 3, 'the row was changed'));
  });

  test('detects an inserted row when the later rows are renumbered', async () => {
    const [first, second, ...others] = makeRows(5);
    if (first === undefined || second === undefined) throw new Error('there are no rows');
    const renumbered = others.map(row => ({ ...row, seq: row.seq + 1 }));
    const inserted = makeRow({ seq: 3, hash: second.hash });
    expect(await verify([first, second, inserted, ...renumbered], 6)).toEqual(
      invalidAt(2, 3, 'the row was changed'),
    );
  });

  test.each([0, -1, -1e15])(
    'detects a row with number %d that was inserted before the first row',
    async seq => {
      const rows = makeRows(3);
      expect(await verify([makeRow({ seq, hash: testSeal(null, makeRow({ seq })) }), ...rows])).toEqual(
        invalidAt(0, seq, 'the row was inserted'),
      );
    },
  );

  test('detects a row appended at the end', async () => {
    const rows = makeRows(3);
    expect(await verify([...rows, makeRow({ seq: 4, hash: rows[2]?.hash ?? '' })])).toEqual(
      invalidAt(3, 4, 'the row was changed'),
    );
    // A row must not have a number that the database has not issued yet.
    expect(await verify([...rows, makeRow({ seq: 4, hash: rows[2]?.hash ?? '' })], 3)).toEqual(
      invalidAt(3, 4, 'the row was changed'),
    );
    expect(await verify([...rows, makeRow({ seq: 9, hash: rows[2]?.hash ?? '' })], 3)).toEqual(
      invalidAt(3, 4, 'the row is missing'),
    );
  });

  test.each([
    ['the newest row is', 4],
    ['all rows but one are', 1],
    ['every row is', 0],
  ])('detects that %s cut off', async (_case, remaining) => {
    expect(await verify(makeRows(5).slice(0, remaining), 5)).toEqual(
      invalidAt(remaining, remaining + 1, 'the newest rows are missing'),
    );
  });

  test('detects a trail that was cut off at the end of a page', async () => {
    expect(await verify(makeRows(2_000), 2_001)).toEqual(
      invalidAt(2_000, 2_001, 'the newest rows are missing'),
    );
  });

  test('detects two rows that were swapped', async () => {
    const [first, second, third, ...others] = makeRows(5);
    if (first === undefined || second === undefined || third === undefined)
      throw new Error('there are no rows');
    expect(await verify([first, { ...third, seq: 2 }, { ...second, seq: 3 }, ...others])).toEqual(
      invalidAt(1, 2, 'the row was changed'),
    );
  });

  test('detects a trail that was sealed with another key', async () => {
    const otherSeal = createSeal(new Uint8Array(32).fill(8));
    expect(await verify(makeRows(5), 5, otherSeal)).toEqual(invalidAt(0, 1, 'the row was changed'));
  });

  test('detects a changed row on a later page', async () => {
    const rows = makeRows(4_500).map(row => (row.seq === 4_321 ? { ...row, at: 0 } : row));
    expect(await verify(rows)).toEqual(invalidAt(4_320, 4_321, 'the row was changed'));
  });
});

describe('listing the trail', () => {
  const listRows = (...rows: readonly AuditRow[]) => bookOf(trailOf(rows)).list(auditFilter());

  test('returns rows in the format of the API', () => {
    const [row] = makeRows(1);
    if (row === undefined) throw new Error('there is no row');
    expect(listRows(row)).toEqual({
      total: 1,
      entries: [
        {
          seq: 1,
          at: '1970-01-01T00:00:01.000Z',
          event_type: 'worker.offline',
          actor_type: 'worker',
          actor_id: 'w_1',
          address: '10.0.0.7',
          target_type: 'worker',
          target_id: 'w_1',
          details: { why: 'silent' },
          hash: row.hash,
        },
      ],
    });
  });

  test.each<[description: string, changes: Partial<AuditRow>, shown: object]>([
    ['details that are not JSON', { details: '{"why"' }, { details: { unreadable: '{"why"' } }],
    ['details that are not an object', { details: '42' }, { details: { unreadable: '42' } }],
    ['details that are null', { details: 'null' }, { details: { unreadable: 'null' } }],
    ['empty details', { details: '' }, { details: { unreadable: '' } }],
    ['a time beyond the maximum', { at: 9e15 }, { at: '9999-12-31T23:59:59.999Z' }],
    ['a time before the minimum', { at: -9e15 }, { at: '0000-01-01T00:00:00.000Z' }],
  ])('returns a valid entry for a row with %s', (_case, changes, shown) => {
    const { entries } = listRows(makeRow(changes), makeRow({ seq: 8 }));
    expect(entries).toHaveLength(2);
    expect(entries[1]).toMatchObject(shown);
    for (const entry of entries) expect(AuditEntry.safeParse(entry).error).toBeUndefined();
  });
});

// A witness keeps the numbers and hashes of audit rows outside the data folder.
describe('comparing the trail with a witness', () => {
  const rows = makeRows(6);
  const marks = rows.map(({ seq, hash }) => ({ seq, hash }));

  test('accepts a trail that has every row of the witness', () => {
    expect(bookOf(trailOf(rows), testSeal).compare(marks)).toEqual({
      checked: 6,
      removed: 0,
      first_bad: null,
    });
  });

  test('reports the first witness row that is missing in the trail or differs from the trail', () => {
    const restoredBackup = bookOf(trailOf(rows.slice(0, 4)), testSeal);
    expect(restoredBackup.compare(marks)).toMatchObject({
      checked: 4,
      first_bad: { seq: 5, code: 'head_rolled_back' },
    });
    const forged = bookOf(trailOf(rows), testSeal).compare([{ seq: 2, hash: 'another' }]);
    expect(forged).toMatchObject({ checked: 0, first_bad: { seq: 2, code: 'head_rolled_back' } });
  });

  test('skips witness rows that retention removed, except the newest, which must match the anchor', () => {
    const anchor = { seq: 3, hash: rows[2]?.hash ?? '', at: 3_000, seal: '' };
    const trail = { ...trailOf(rows.slice(3)), anchor: () => anchor };
    expect(bookOf(trail, testSeal).compare(marks)).toEqual({ checked: 4, removed: 2, first_bad: null });
  });
});
