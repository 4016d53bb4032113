import { expect, onTestFinished, test } from 'vitest';
import type { HeadFile } from '../../../../main/audit/head.ts';
import { createSeal, openAudit } from '../../../../main/audit/index.ts';
import type { Witness } from '../../../../main/audit/witness.ts';
import type { Store } from '../../../../main/orchestrator/ports/index.ts';
import { openSqliteStore } from '../../../../main/store/sqlite-store.ts';
import { newDatabase } from '../../../support/new-database.ts';
import { wholeTrail } from '../../../support/seal.ts';
import { createVirtualClock, trustedTimeOf } from '../../../support/virtual-clock.ts';

const key = new Uint8Array(32).fill(9);

interface Bench {
  readonly store: Store;
  readonly file: HeadFile & { text: string | null };
  readonly logged: string[];
  appendRows(count: number): Promise<void>;
  open(options?: {
    isRestored?: boolean;
    store?: Parameters<typeof openAudit>[0]['store'];
    days?: number;
    witnesses?: readonly Witness[];
  }): ReturnType<typeof openAudit>;
}

function openBench(): Bench {
  const clock = createVirtualClock();
  const seal = createSeal(key);
  const logged: string[] = [];
  const note = (event: string): void => void logged.push(event);
  const log = { info: () => {}, warn: note, error: note };
  const store = openSqliteStore(newDatabase(), { log, clock, seal, onFatal: () => {} });
  onTestFinished(() => store.close());
  const file = {
    text: null as string | null,
    read: () => file.text,
    write: (text: string): void => void (file.text = text),
  };
  return {
    store,
    file,
    logged,
    appendRows: count =>
      store.write(tx => {
        for (let n = 0; n < count; n += 1)
          tx.appendAudit({
            at: clock.wall(),
            type: 'queue.paused',
            actor: { type: 'admin', id: 'ada', address: null },
            target: { type: 'queue', id: 'queue' },
            details: {},
          });
      }),
    async open({
      isRestored = false,
      days = null,
      store: through = store,
      witnesses = [],
    }: {
      isRestored?: boolean;
      days?: number | null;
      store?: Parameters<typeof openAudit>[0]['store'];
      witnesses?: readonly Witness[];
    } = {}) {
      const audit = await openAudit({
        store: through,
        key,
        seal,
        headFile: file,
        isRestored,
        witnesses,
        retentionDays: days,
        clock,
        time: trustedTimeOf(clock),
        log,
      });
      onTestFinished(() => audit.stop());
      return audit;
    },
  };
}

const newest = ({ store }: Bench) => store.audit.row(store.audit.lastSeq());

test('opens a new trail, and reopens it after a kill and after a stop, without a warning', async () => {
  const bench = openBench();
  // The process was killed, so the trail did not write its head at the end.
  await bench.open();
  await bench.appendRows(2);
  const audit = await bench.open({ days: 30 });
  expect(newest(bench)).toMatchObject({ seq: 2, type: 'queue.paused' });
  await bench.appendRows(1);
  await audit.stop();
  const again = await bench.open();
  expect(newest(bench)).toMatchObject({ seq: 3, type: 'queue.paused' });
  expect(await again.book.verify(wholeTrail)).toMatchObject({ valid: true, checked: 3, head: { seq: 3 } });
  expect(bench.logged).toEqual([]);
});

test('records a missing head once and starts a new one', async () => {
  const bench = openBench();
  await (await bench.open()).stop();
  await bench.appendRows(2);
  bench.file.text = null;
  const audit = await bench.open();
  expect(newest(bench)).toMatchObject({ type: 'audit.head_lost' });
  expect(JSON.parse(newest(bench)?.details ?? '')).toEqual({ newest: 2, head: null });
  expect(await audit.book.verify(wholeTrail)).toMatchObject({
    valid: false,
    head: { seq: 3 },
    first_bad: { seq: 3, code: 'head_lost' },
  });
  expect(bench.logged).toEqual(['audit.head_lost']);
  // The rows after the record verify on their own.
  expect(await audit.book.verify({ from: 4, to: null })).toMatchObject({ valid: true });
});

test('records a missing head even when all rows are gone too', async () => {
  const bench = openBench();
  await bench.store.write(tx => tx.appendEvent({ kind: 'queue', type: 'queue.paused' }, 0));
  const audit = await bench.open();
  expect(newest(bench)).toMatchObject({ seq: 1, type: 'audit.head_lost' });
  expect(await audit.book.verify(wholeTrail)).toMatchObject({ first_bad: { seq: 1, code: 'head_lost' } });
});

test('records a restored backup with the rows that it lost, and moves the head to it', async () => {
  const bench = openBench();
  await (await bench.open()).stop();
  await bench.appendRows(2);
  await (await bench.open()).stop();
  const { seq, hash } = JSON.parse(bench.file.text ?? '') as { seq: number; hash: string };
  bench.file.text = JSON.stringify({ ...(JSON.parse(bench.file.text ?? '') as object), seq: 90 });
  const audit = await bench.open({ isRestored: true });
  expect(newest(bench)).toMatchObject({ type: 'audit.restored', actor_type: 'system' });
  const lost = { from: seq + 1, through: 90 };
  expect(audit.lost).toEqual(lost);
  expect(bench.logged).toEqual(['audit.rows_lost']);
  expect(JSON.parse(newest(bench)?.details ?? '')).toEqual({ newest: seq, head: { seq: 90, hash }, lost });
  expect(await audit.book.verify(wholeTrail)).toMatchObject({
    valid: false,
    first_bad: { seq: seq + 1, code: 'rows_lost' },
  });
  expect(await audit.book.verify({ from: seq + 2, to: null })).toMatchObject({ valid: true });
});

test('records no lost rows for a restored backup that has every row up to the head', async () => {
  const bench = openBench();
  await (await bench.open()).stop();
  await bench.appendRows(2);
  await (await bench.open()).stop();
  const audit = await bench.open({ isRestored: true });
  expect(audit.lost).toBeNull();
  expect(newest(bench)).toMatchObject({ type: 'audit.restored' });
  expect(await audit.book.verify({ from: 4, to: null })).toMatchObject({ valid: true });
});

interface RestoreRow {
  readonly type?: 'audit.restored' | 'queue.paused';
  readonly head?: object | null;
}

// Creates the state after a crash during a restore: a new trail, beside the head of the trail that it replaced.
async function openReplaced({ type = 'audit.restored', head }: RestoreRow = {}): Promise<Bench> {
  const before = openBench();
  await before.appendRows(5);
  await (await before.open()).stop();
  const { seq, hash } = JSON.parse(before.file.text ?? '') as { seq: number; hash: string };
  const bench = openBench();
  await bench.appendRows(2);
  await bench.store.write(tx =>
    tx.appendAudit({
      at: 0,
      type,
      actor: { type: 'admin', id: 'ada', address: null },
      target: { type: 'audit', id: 'audit' },
      details: { backup: 'noon', head: head === undefined ? { seq, hash } : head },
    }),
  );
  bench.file.text = before.file.text;
  return bench;
}

test('accepts the head of the replaced trail when the sealed newest row names it, and only once', async () => {
  const bench = await openReplaced();
  const audit = await bench.open();
  expect(newest(bench)).toMatchObject({ seq: 3, type: 'audit.restored' });
  expect(bench.logged).toEqual([]);
  expect(await audit.book.verify(wholeTrail)).toMatchObject({ valid: true, head: { seq: 3 } });
  expect(audit.describe()).toEqual({
    was: { seq: 3, hash: newest(bench)?.hash },
    head: { seq: 3, hash: newest(bench)?.hash },
  });
  await audit.stop();
  expect(await (await bench.open()).book.verify(wholeTrail)).toMatchObject({ valid: true });
});

test.each<[string, RestoreRow]>([
  ['names another head', { head: { seq: 5, hash: 'of another trail' } }],
  ['names no head', { head: null }],
  ['names an invalid head', { head: ['5'] }],
  ['is of another type', { type: 'queue.paused' }],
])('reports a broken trail when its newest row %s', async (_what, named) => {
  const bench = await openReplaced(named);
  const { text } = bench.file;
  const audit = await bench.open();
  expect(bench.logged).toEqual(['audit.broken']);
  expect(await audit.book.verify(wholeTrail)).toMatchObject({ valid: false });
  expect(bench.file.text).toBe(text);
});

test('reports a broken trail when rows follow, or the head has another seal', async () => {
  const continued = await openReplaced();
  await continued.appendRows(1);
  await continued.open();
  expect(continued.logged).toEqual(['audit.broken']);
  const foreign = await openReplaced();
  foreign.file.text = JSON.stringify({ ...(JSON.parse(foreign.file.text ?? '') as object), seal: '00' });
  await foreign.open();
  expect(foreign.logged).toEqual(['audit.broken']);
});

test('reports a broken trail when the restore row is not sealed with the key', async () => {
  const bench = await openReplaced();
  const { audit } = bench.store;
  const forged = { ...bench.store, audit: { ...audit, row: (seq: number) => forgedRow(audit.row(seq)) } };
  const opened = await bench.open({ store: forged });
  expect(bench.logged).toEqual(['audit.broken']);
  await opened.stop();
});

const forgedRow = <R extends { readonly type: string } | null>(row: R): R =>
  row?.type === 'audit.restored' ? { ...row, actor_id: 'somebody' } : row;

test('treats an unreadable head as missing', async () => {
  const bench = openBench();
  await bench.appendRows(1);
  bench.file.text = '{';
  await bench.open({ isRestored: true });
  expect(JSON.parse(newest(bench)?.details ?? '')).toEqual({ newest: 1, head: null });
});

test('logs a trail that was cut off, and starts anyway', async () => {
  const bench = openBench();
  await (await bench.open()).stop();
  await bench.appendRows(3);
  await (await bench.open()).stop();
  bench.file.text = JSON.stringify({ ...(JSON.parse(bench.file.text ?? '') as object), seq: 90 });
  const audit = await bench.open();
  expect(bench.logged).toEqual(['audit.broken']);
  expect(await audit.book.verify(wholeTrail)).toMatchObject({ valid: false });
});

test('starts when a full disk refuses the record of a missing head', async () => {
  const bench = openBench();
  await bench.appendRows(1);
  const full = { ...bench.store, write: () => Promise.reject(new Error('full')) };
  const audit = await bench.open({ store: full });
  expect(await audit.book.verify(wholeTrail)).toMatchObject({
    valid: false,
    first_bad: { code: 'head_lost' },
  });
  expect(bench.logged).toEqual(['audit.head_lost', 'audit.not_told']);
  // Write no new head, because it would hide that the old one is missing. The next start records that.
  expect(bench.file.text).toBeNull();
  await bench.open();
  expect(newest(bench)).toMatchObject({ type: 'audit.head_lost' });
});

test('counts and lists a large trail in pages', async () => {
  const bench = openBench();
  await bench.appendRows(1_100);
  const { book } = await bench.open();
  const all = { type: null, actorId: null, targetType: null, targetId: null, since: null, until: null };
  expect(book.figures(all)).toMatchObject({
    total: 1_101,
    by_type: [
      { name: 'queue.paused', count: 1_100 },
      { name: 'audit.head_lost', count: 1 },
    ],
  });
  expect(book.figures({ ...all, actorId: 'nobody' })).toMatchObject({
    total: 0,
    first_at: null,
    last_at: null,
  });
  const portions = [...book.export(all)];
  expect(portions.map(({ length }) => length)).toEqual([500, 500, 101]);
  expect(portions.flat().map(({ seq }) => seq)).toEqual(
    Array.from({ length: 1_101 }, (_, index) => index + 1),
  );
  expect([...book.export({ ...all, type: 'job.*' })]).toEqual([]);
});

/** A witness that keeps its marks in memory. */
function createMemoryWitness(marks: { readonly seq: number; readonly hash: string }[]): Witness {
  return {
    name: '/var/log/witness',
    tell: async mark => void marks.push(mark),
    newest: () => marks.at(-1) ?? null,
  };
}

test('records a rollback once when the newest row of a witness is missing', async () => {
  const bench = openBench();
  const witnesses = [createMemoryWitness([{ seq: 9, hash: 'f'.repeat(64) }])];
  await bench.appendRows(2);
  bench.file.text = null;
  await (await bench.open()).stop();
  bench.logged.length = 0;
  const audit = await bench.open({ witnesses });
  expect(bench.logged).toEqual(['audit.rolled_back']);
  expect(newest(bench)).toMatchObject({ seq: 4, type: 'audit.rolled_back' });
  expect(JSON.parse(newest(bench)?.details ?? '')).toEqual({
    newest: 3,
    witness: '/var/log/witness',
    seq: 9,
    hash: 'f'.repeat(64),
  });
  expect(await audit.book.verify({ from: 4, to: null })).toMatchObject({
    valid: false,
    first_bad: { seq: 4, code: 'head_rolled_back' },
  });
  expect(await audit.book.verify({ from: 5, to: null })).toMatchObject({ valid: true });
  await audit.stop();
  await bench.open({ witnesses });
  expect(newest(bench)).toMatchObject({ seq: 4 });
});

test('opens without a warning when the trail has the newest row of its witness', async () => {
  const bench = openBench();
  const marks: { seq: number; hash: string }[] = [];
  await bench.appendRows(3);
  bench.file.text = null;
  await (await bench.open({ witnesses: [createMemoryWitness(marks)] })).stop();
  bench.logged.length = 0;
  expect(marks.length).toBeGreaterThan(0);
  await bench.appendRows(1);
  await bench.open({ witnesses: [createMemoryWitness(marks)] });
  expect(bench.logged).toEqual([]);
});

test('does not report a rollback when a restored backup lacks the row of a witness', async () => {
  const bench = openBench();
  await bench.appendRows(1);
  await bench.open({
    isRestored: true,
    witnesses: [createMemoryWitness([{ seq: 9, hash: 'f'.repeat(64) }])],
  });
  expect(newest(bench)).toMatchObject({ type: 'audit.restored' });
});

test('starts when a witness cannot be read', async () => {
  const bench = openBench();
  const witness: Witness = {
    name: '/var/log/witness',
    tell: async () => {},
    newest: () => {
      throw new Error('EACCES');
    },
  };
  const { newest: _withoutNewest, ...webhook } = witness;
  await bench.open({ witnesses: [webhook, witness] });
  expect(bench.logged).toEqual(['audit.witness_not_read']);
});
