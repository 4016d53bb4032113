// See docs/internals/faults.md, S21.
import { describe, expect, test } from 'vitest';
import { createMarkSeal } from '../../../../main/audit/chain.ts';
import { type HeadFile, keepHead } from '../../../../main/audit/head.ts';
import type { AuditRow, AuditTrail, SealedMark } from '../../../../main/orchestrator/ports/index.ts';
import { bookOf, testMarkSeal, testSeal, wholeTrail } from '../../../support/seal.ts';
import { createVirtualClock } from '../../../support/virtual-clock.ts';
import { makeRow } from './builders.ts';

interface TestTrail extends AuditTrail {
  readonly rows: AuditRow[];
  grow(count: number): void;
  // Removes row `seq` and all later rows. New rows then reuse the removed numbers.
  cut(seq: number): void;
  // Removes row `seq` and all earlier rows, and sets the anchor, as retention does.
  trimTo(seq: number): void;
}

function openTrail(count: number): TestTrail {
  const rows: AuditRow[] = [];
  let anchor: SealedMark | null = null;
  const grow = (added: number): void => {
    for (let n = 0; n < added; n += 1) {
      const seq = (rows.at(-1)?.seq ?? anchor?.seq ?? 0) + 1;
      const row = makeRow({ seq, at: seq * 1_000 });
      rows.push({ ...row, hash: testSeal(rows.at(-1)?.hash ?? anchor?.hash ?? null, row) });
    }
  };
  grow(count);
  return {
    rows,
    grow,
    cut: seq => void rows.splice(rows.findIndex(row => row.seq === seq)),
    trimTo(seq) {
      const index = rows.findIndex(row => row.seq === seq);
      const mark = { seq, hash: rows[index]?.hash ?? '', at: 5 };
      anchor = { ...mark, seal: testMarkSeal('anchor', mark) };
      rows.splice(0, index + 1);
    },
    list: () => ({ rows, total: rows.length }),
    after: (seq, limit) => rows.filter(row => row.seq > seq).slice(0, limit),
    filteredAfter: (_filter, seq, limit) => rows.filter(row => row.seq > seq).slice(0, limit),
    row: seq => rows.find(row => row.seq === seq) ?? null,
    figures: () => ({ total: rows.length, firstAt: null, lastAt: null, types: [], actors: [] }),
    anchor: () => anchor,
    lastSeq: () => rows.at(-1)?.seq ?? anchor?.seq ?? 0,
  };
}

interface TestFile extends HeadFile {
  text: string | null;
  fails: boolean;
}

const openFile = (text: string | null = null): TestFile => ({
  text,
  fails: false,
  read() {
    if (this.fails) throw new Error('EACCES');
    return this.text;
  },
  write(next) {
    if (this.fails) throw new Error('ENOSPC');
    this.text = next;
  },
});

function startKeeper(trail: TestTrail, file: TestFile) {
  const clock = createVirtualClock();
  const warnings: string[] = [];
  const log = { info: () => {}, warn: (event: string) => void warnings.push(event), error: () => {} };
  const keeper = keepHead({ trail, file, seal: testMarkSeal, clock, log });
  return { keeper, clock, warnings, verify: () => bookOf(trail, testSeal, keeper).verify(wholeTrail) };
}

const seqIn = ({ text }: TestFile): number | null =>
  text === null ? null : (JSON.parse(text) as { readonly seq: number }).seq;

describe('head of the trail', () => {
  test('writes the head on start, within five seconds of new rows, and on stop', async () => {
    const [trail, file] = [openTrail(3), openFile()];
    const { keeper, clock, verify } = startKeeper(trail, file);
    expect(seqIn(file)).toBe(3);
    trail.grow(2);
    await clock.advance(4_999);
    expect(seqIn(file)).toBe(3);
    await clock.advance(1);
    expect(seqIn(file)).toBe(5);
    trail.grow(1);
    keeper.stop();
    expect(seqIn(file)).toBe(6);
    expect(await verify()).toMatchObject({ valid: true, checked: 6, head: { seq: 6 } });
    trail.grow(1);
    await clock.advance(60_000);
    expect(seqIn(file)).toBe(6);
  });

  test('writes a head for an empty trail', async () => {
    const [trail, file] = [openTrail(0), openFile()];
    const { verify } = startKeeper(trail, file);
    expect(seqIn(file)).toBe(0);
    expect(await verify()).toEqual({ valid: true, checked: 0, first_bad: null, head: null, anchor: null });
  });

  test('accepts a head that is older than the newest row, as after a kill', async () => {
    const [trail, file] = [openTrail(0), openFile()];
    startKeeper(trail, file);
    trail.grow(4);
    const { verify, keeper } = startKeeper(trail, file);
    expect(keeper.matchesTrail()).toBe(true);
    expect(await verify()).toMatchObject({ valid: true, checked: 4, head: { seq: 4 } });
  });

  test('detects removed newest rows even if the row counter was reset, before and after a restart', async () => {
    const [trail, file] = [openTrail(5), openFile()];
    const { verify, keeper, clock } = startKeeper(trail, file);
    trail.cut(4);
    const missing = {
      valid: false,
      checked: 3,
      first_bad: { seq: 4, problem: 'the newest rows are missing' },
    };
    expect(await verify()).toMatchObject(missing);
    await clock.advance(10_000);
    keeper.stop();
    expect(seqIn(file)).toBe(5);
    expect(await startKeeper(trail, file).verify()).toMatchObject(missing);
  });

  test('detects removed newest rows after new rows reused their numbers', async () => {
    const [trail, file] = [openTrail(5), openFile()];
    const { verify, clock } = startKeeper(trail, file);
    trail.cut(4);
    trail.rows.push({ ...makeRow({ seq: 4 }), hash: '' });
    const otherRow = makeRow({ seq: 4, details: '{"other":1}' });
    trail.rows.splice(3, 1, { ...otherRow, hash: testSeal(trail.rows[2]?.hash ?? null, otherRow) });
    trail.grow(3);
    await clock.advance(10_000);
    expect(await verify()).toMatchObject({
      valid: false,
      first_bad: { seq: 5, problem: expect.stringContaining('head') },
    });
    expect(seqIn(file)).toBe(5);
  });

  test.each<readonly [what: string, change: (head: SealedMark) => unknown]>([
    ['a changed number', head => ({ ...head, seq: 3 })],
    ['a changed hash', head => ({ ...head, hash: 'f'.repeat(64) })],
    ['a changed time', head => ({ ...head, at: 1 })],
    ['the seal of an anchor', head => ({ ...head, seal: testMarkSeal('anchor', head) })],
    [
      'the seal of another key',
      head => ({ ...head, seal: createMarkSeal(new Uint8Array(32))('head', head) }),
    ],
  ])('rejects a head with %s and does not overwrite it', async (_case, change) => {
    const [trail, file] = [openTrail(5), openFile()];
    startKeeper(trail, file).keeper.stop();
    const forged = JSON.stringify(change(JSON.parse(file.text ?? '') as SealedMark));
    file.text = forged;
    const { verify, keeper } = startKeeper(trail, file);
    trail.grow(1);
    keeper.stop();
    expect(file.text).toBe(forged);
    expect((await verify()).valid).toBe(false);
  });

  test.each([
    '',
    '{',
    'null',
    '[]',
    '{"seq":1}',
    '{"seq":"1","hash":"","at":1,"seal":""}',
    '{"seq":1,"at":1,"hash":"","seal":1}',
    '{"seq":1,"at":1,"hash":1,"seal":""}',
    '{"seq":1,"at":"","hash":"","seal":""}',
    '{"seq":1,"at":1,"hash":""}',
  ])('treats the head %j as unreadable', async text => {
    const { verify } = startKeeper(openTrail(5), openFile(text));
    expect(await verify()).toMatchObject({
      valid: false,
      head: null,
      first_bad: { problem: expect.stringContaining('cannot be read') },
    });
  });

  test('reports an invalid trail when the head cannot be read, and logs a warning when the head cannot be written', async () => {
    const file = openFile();
    file.fails = true;
    expect((await startKeeper(openTrail(5), file).verify()).valid).toBe(false);
    const unwritable = openFile();
    const trail = openTrail(5);
    const { clock, warnings, verify } = startKeeper(trail, unwritable);
    unwritable.fails = true;
    trail.grow(1);
    await clock.advance(5_000);
    expect(warnings).toEqual(['audit.head_not_written']);
    expect(await verify()).toMatchObject({ valid: true, checked: 6, head: { seq: 5 } });
  });

  test('moves the head to the newest row of the trail when the trail is accepted', async () => {
    const [trail, file] = [openTrail(5), openFile()];
    startKeeper(trail, file).keeper.stop();
    trail.cut(3);
    const { keeper, verify } = startKeeper(trail, file);
    expect(keeper.matchesTrail()).toBe(false);
    trail.grow(1);
    keeper.acceptTrail();
    expect(seqIn(file)).toBe(3);
    expect(await verify()).toMatchObject({ valid: true, checked: 3 });
  });

  test.each([2, 4, 5])('accepts a head at row 5 when retention removed the rows up to row %d', async seq => {
    const [trail, file] = [openTrail(5), openFile()];
    startKeeper(trail, file).keeper.stop();
    trail.grow(1);
    trail.trimTo(seq);
    const { keeper, verify } = startKeeper(trail, file);
    expect(keeper.matchesTrail()).toBe(true);
    expect(await verify()).toMatchObject({ valid: true, anchor: { seq }, checked: 6 - seq });
  });
});

describe('anchor of removed rows', () => {
  test('accepts missing first rows only with a sealed anchor', async () => {
    const trail = openTrail(5);
    const withoutAnchor = { ...trail, anchor: () => null };
    trail.rows.splice(0, 2);
    expect(await bookOf(withoutAnchor).verify(wholeTrail)).toMatchObject({
      valid: false,
      first_bad: { seq: 1, problem: 'the row is missing' },
    });
    const mark = { seq: 2, hash: 'f'.repeat(64), at: 1 };
    const forged = { ...trail, anchor: () => ({ ...mark, seal: 'f'.repeat(64) }) };
    expect(await bookOf(forged).verify(wholeTrail)).toMatchObject({
      valid: false,
      checked: 0,
      first_bad: { seq: 2, problem: expect.stringContaining('anchor') },
    });
  });

  test('ignores rows that were inserted before the anchor', async () => {
    const trail = openTrail(5);
    trail.trimTo(2);
    trail.rows.unshift(makeRow({ seq: 2, hash: '' }));
    expect(await bookOf(trail).verify(wholeTrail)).toMatchObject({ valid: true, checked: 3 });
  });
});

describe('verifying a range of rows', () => {
  const verify = (trail: TestTrail, from: number | null, to: number | null) =>
    bookOf(trail).verify({ from, to });

  test.each([
    [null, null, 6],
    [1, 6, 6],
    [2, 4, 3],
    [5, null, 2],
    [null, 3, 3],
    [6, 6, 1],
    [7, null, 0],
    [9, null, 0],
    [4, 2, 0],
    [3, 99, 4],
  ])('verifies the range from %j to %j (%d rows)', async (from, to, checked) => {
    const verdict = await verify(openTrail(6), from, to);
    expect(verdict).toMatchObject(
      to === 99 ? { valid: true, checked } : { valid: true, checked, first_bad: null },
    );
  });

  test('ignores changed rows outside the range', async () => {
    const trail = openTrail(6);
    trail.rows.splice(1, 1, { ...makeRow({ seq: 2, details: 'forged' }), hash: trail.rows[1]?.hash ?? '' });
    expect(await verify(trail, 3, 6)).toMatchObject({ valid: true, checked: 4 });
    expect(await verify(trail, 1, 1)).toMatchObject({ valid: true, checked: 1 });
    expect(await verify(trail, 2, 2)).toMatchObject({ valid: false, first_bad: { seq: 2 } });
  });

  test('verifies only the rows of a range that retention has not removed', async () => {
    const trail = openTrail(6);
    trail.trimTo(3);
    expect(await verify(trail, 1, 5)).toMatchObject({ valid: true, checked: 2 });
  });
});
