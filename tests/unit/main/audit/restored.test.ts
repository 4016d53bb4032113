import { expect, test } from 'vitest';
import { describeTrail, isReplacementRecorded } from '../../../../main/audit/restored.ts';
import type {
  AuditMark,
  AuditRow,
  AuditTrail,
  SealedMark,
} from '../../../../main/orchestrator/ports/index.ts';
import { testSeal } from '../../../support/seal.ts';
import { makeRow } from './builders.ts';

const head: SealedMark = { seq: 90, hash: 'of-ninety', at: 1_000, seal: 'valid' };
const keeper = { head: () => head, matchesTrail: () => false, isSealed: () => true };
const detailsWithHead = JSON.stringify({ head: { seq: 90, hash: 'of-ninety' } });

/**
 * Creates a restore row: the row that records that a backup replaced the database.
 * Its seal covers `before`, the hash of the previous row. Null creates a first row.
 */
function makeRestoreRow(before: string | null, details: string): AuditRow {
  const row = makeRow({ seq: 7, type: 'audit.restored', details });
  return { ...row, hash: testSeal(before, row) };
}

const trailOf = (rows: readonly AuditRow[], anchor: AuditMark | null = null): AuditTrail =>
  ({
    row: (seq: number) => rows.find(row => row.seq === seq) ?? null,
    lastSeq: () => rows.at(-1)?.seq ?? 0,
    anchor: () => anchor,
  }) as AuditTrail;

const isRecorded = (trail: AuditTrail): boolean => isReplacementRecorded(trail, testSeal, keeper);

test('accepts a sealed restore row after another row, after an anchor, and as the first row', () => {
  const otherRow = makeRow({ seq: 6, hash: 'of-six' });
  expect(isRecorded(trailOf([otherRow, makeRestoreRow('of-six', detailsWithHead)]))).toBe(true);
  const anchor = { seq: 6, hash: 'of-anchor', at: 1_000 };
  expect(isRecorded(trailOf([makeRestoreRow('of-anchor', detailsWithHead)], anchor))).toBe(true);
  expect(isRecorded(trailOf([makeRestoreRow(null, detailsWithHead)]))).toBe(true);
});

test.each(['null', '7', '{}', '{"head":null}', '{"head":{"seq":90}}', 'no JSON'])(
  'rejects a restore row with the details %s',
  details => {
    expect(isRecorded(trailOf([makeRestoreRow(null, details)]))).toBe(false);
  },
);

test('finds no restore row in an empty trail', () => {
  expect(isRecorded(trailOf([]))).toBe(false);
});

test('describes a trail by its newest row and its head', () => {
  expect(describeTrail(trailOf([]), null)).toEqual({ was: null, head: null });
  expect(describeTrail(trailOf([makeRow({ seq: 6, hash: 'of-six' })]), head)).toEqual({
    was: { seq: 6, hash: 'of-six' },
    head: { seq: 90, hash: 'of-ninety' },
  });
});
