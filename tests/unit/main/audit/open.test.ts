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

interface Fixture {
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

function openFixture(): Fixture {
  const clock = createVirtualClock();
  const seal = createSeal(key);
  const logged: string[] = [];
  const record = (event: string): void => void logged.push(event);
  const log = { info: () => {}, warn: record, error: record };
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
      store: usedStore = store,
      witnesses = [],
    }: {
      isRestored?: boolean;
      days?: number | null;
      store?: Parameters<typeof openAudit>[0]['store'];
      witnesses?: readonly Witness[];
    } = {}) {
      const audit = await openAudit({
        store: usedStore,
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

const newestRow = ({ store }: Fixture) => store.audit.row(store.audit.lastSeq());

test('opens a new trail, and reopens it after a kill and after a stop, without a warning', async () => {
  const fixture = openFixture();
  // Not stopped, as after a kill: this trail writes no head at its end.
  await fixture.open();
  await fixture.appendRows(2);
  const audit = await fixture.open({ days: 30 });
  expect(newestRow(fixture)).toMatchObject({ seq: 2, type: 'queue.paused' });
  await fixture.appendRows(1);
  await audit.stop();
  const reopened = await fixture.open();
  expect(newestRow(fixture)).toMatchObject({ seq: 3, type: 'queue.paused' });
  expect(await reopened.book.verify(wholeTrail)).toMatchObject({ valid: true, checked: 3, head: { seq: 3 } });
  expect(fixture.logged).toEqual([]);
});

test('records a missing head once and starts a new head', async () => {
  const fixture = openFixture();
  await (await fixture.open()).stop();
  await fixture.appendRows(2);
  fixture.file.text = null;
  const audit = await fixture.open();
  expect(newestRow(fixture)).toMatchObject({ type: 'audit.head_lost' });
  expect(JSON.parse(newestRow(fixture)?.details ?? '')).toEqual({ newest: 2, head: null });
  expect(await audit.book.verify(wholeTrail)).toMatchObject({
    valid: false,
    head: { seq: 3 },
    first_bad: { seq: 3, code: 'head_lost' },
  });
  expect(fixture.logged).toEqual(['audit.head_lost']);
  // A verification that starts after the audit.head_lost row succeeds.
  expect(await audit.book.verify({ from: 4, to: null })).toMatchObject({ valid: true });
});

test('records a missing head even when all audit rows are missing', async () => {
  const fixture = openFixture();
  await fixture.store.write(tx => tx.appendEvent({ kind: 'queue', type: 'queue.paused' }, 0));
  const audit = await fixture.open();
  expect(newestRow(fixture)).toMatchObject({ seq: 1, type: 'audit.head_lost' });
  expect(await audit.book.verify(wholeTrail)).toMatchObject({ first_bad: { seq: 1, code: 'head_lost' } });
});

test('records a restored backup with the range of lost rows, and moves the head to the restored trail', async () => {
  const fixture = openFixture();
  await (await fixture.open()).stop();
  await fixture.appendRows(2);
  await (await fixture.open()).stop();
  const { seq, hash } = JSON.parse(fixture.file.text ?? '') as { seq: number; hash: string };
  fixture.file.text = JSON.stringify({ ...(JSON.parse(fixture.file.text ?? '') as object), seq: 90 });
  const audit = await fixture.open({ isRestored: true });
  expect(newestRow(fixture)).toMatchObject({ type: 'audit.restored', actor_type: 'system' });
  const lost = { from: seq + 1, through: 90 };
  expect(audit.lost).toEqual(lost);
  expect(fixture.logged).toEqual(['audit.rows_lost']);
  expect(JSON.parse(newestRow(fixture)?.details ?? '')).toEqual({
    newest: seq,
    head: { seq: 90, hash },
    lost,
  });
  expect(await audit.book.verify(wholeTrail)).toMatchObject({
    valid: false,
    first_bad: { seq: seq + 1, code: 'rows_lost' },
  });
  expect(await audit.book.verify({ from: seq + 2, to: null })).toMatchObject({ valid: true });
});

test('records no lost rows for a restored backup that has every row up to the head', async () => {
  const fixture = openFixture();
  await (await fixture.open()).stop();
  await fixture.appendRows(2);
  await (await fixture.open()).stop();
  const audit = await fixture.open({ isRestored: true });
  expect(audit.lost).toBeNull();
  expect(newestRow(fixture)).toMatchObject({ type: 'audit.restored' });
  expect(await audit.book.verify({ from: 4, to: null })).toMatchObject({ valid: true });
});

interface RestoreRow {
  readonly type?: 'audit.restored' | 'queue.paused';
  readonly head?: object | null;
}

// Creates the state after a crash during a restore: a new trail beside the head of the replaced trail.
async function openReplaced({ type = 'audit.restored', head }: RestoreRow = {}): Promise<Fixture> {
  const before = openFixture();
  await before.appendRows(5);
  await (await before.open()).stop();
  const { seq, hash } = JSON.parse(before.file.text ?? '') as { seq: number; hash: string };
  const fixture = openFixture();
  await fixture.appendRows(2);
  await fixture.store.write(tx =>
    tx.appendAudit({
      at: 0,
      type,
      actor: { type: 'admin', id: 'ada', address: null },
      target: { type: 'audit', id: 'audit' },
      details: { backup: 'noon', head: head === undefined ? { seq, hash } : head },
    }),
  );
  fixture.file.text = before.file.text;
  return fixture;
}

test('accepts the head of a replaced trail when the sealed newest row names that head', async () => {
  const fixture = await openReplaced();
  const audit = await fixture.open();
  expect(newestRow(fixture)).toMatchObject({ seq: 3, type: 'audit.restored' });
  expect(fixture.logged).toEqual([]);
  expect(await audit.book.verify(wholeTrail)).toMatchObject({ valid: true, head: { seq: 3 } });
  expect(audit.describe()).toEqual({
    was: { seq: 3, hash: newestRow(fixture)?.hash },
    head: { seq: 3, hash: newestRow(fixture)?.hash },
  });
  await audit.stop();
  expect(await (await fixture.open()).book.verify(wholeTrail)).toMatchObject({ valid: true });
});

test.each<[string, RestoreRow]>([
  ['names another head', { head: { seq: 5, hash: 'of another trail' } }],
  ['names no head', { head: null }],
  ['names an invalid head', { head: ['5'] }],
  ['is of another type', { type: 'queue.paused' }],
])('reports a broken trail after a restore when the newest row %s', async (_case, row) => {
  const fixture = await openReplaced(row);
  const { text } = fixture.file;
  const audit = await fixture.open();
  expect(fixture.logged).toEqual(['audit.broken']);
  expect(await audit.book.verify(wholeTrail)).toMatchObject({ valid: false });
  expect(fixture.file.text).toBe(text);
});

test('reports a broken trail when rows follow the restore row, or the head has an invalid seal', async () => {
  const continued = await openReplaced();
  await continued.appendRows(1);
  await continued.open();
  expect(continued.logged).toEqual(['audit.broken']);
  const withForeignSeal = await openReplaced();
  withForeignSeal.file.text = JSON.stringify({
    ...(JSON.parse(withForeignSeal.file.text ?? '') as object),
    seal: '00',
  });
  await withForeignSeal.open();
  expect(withForeignSeal.logged).toEqual(['audit.broken']);
});

test('reports a broken trail when the restore row is not sealed with the key', async () => {
  const fixture = await openReplaced();
  const { audit } = fixture.store;
  const forged = { ...fixture.store, audit: { ...audit, row: (seq: number) => forgedRow(audit.row(seq)) } };
  const opened = await fixture.open({ store: forged });
  expect(fixture.logged).toEqual(['audit.broken']);
  await opened.stop();
});

const forgedRow = <R extends { readonly type: string } | null>(row: R): R =>
  row?.type === 'audit.restored' ? { ...row, actor_id: 'mallory' } : row;

test('treats an unreadable head as missing', async () => {
  const fixture = openFixture();
  await fixture.appendRows(1);
  fixture.file.text = '{';
  await fixture.open({ isRestored: true });
  expect(JSON.parse(newestRow(fixture)?.details ?? '')).toEqual({ newest: 1, head: null });
});

test('logs audit.broken when the newest rows are missing, and starts anyway', async () => {
  const fixture = openFixture();
  await (await fixture.open()).stop();
  await fixture.appendRows(3);
  await (await fixture.open()).stop();
  fixture.file.text = JSON.stringify({ ...(JSON.parse(fixture.file.text ?? '') as object), seq: 90 });
  const audit = await fixture.open();
  expect(fixture.logged).toEqual(['audit.broken']);
  expect(await audit.book.verify(wholeTrail)).toMatchObject({ valid: false });
});

test('starts when a full disk prevents the record of a missing head', async () => {
  const fixture = openFixture();
  await fixture.appendRows(1);
  const fullStore = { ...fixture.store, write: () => Promise.reject(new Error('full')) };
  const audit = await fixture.open({ store: fullStore });
  expect(await audit.book.verify(wholeTrail)).toMatchObject({
    valid: false,
    first_bad: { code: 'head_lost' },
  });
  expect(fixture.logged).toEqual(['audit.head_lost', 'audit.not_told']);
  // A new head would hide that the old head is missing. So no head is written, and the next start records the loss.
  expect(fixture.file.text).toBeNull();
  await fixture.open();
  expect(newestRow(fixture)).toMatchObject({ type: 'audit.head_lost' });
});

test('counts and exports a large trail in pages', async () => {
  const fixture = openFixture();
  await fixture.appendRows(1_100);
  const { book } = await fixture.open();
  const noFilter = { type: null, actorId: null, targetType: null, targetId: null, since: null, until: null };
  expect(book.figures(noFilter)).toMatchObject({
    total: 1_101,
    by_type: [
      { name: 'queue.paused', count: 1_100 },
      { name: 'audit.head_lost', count: 1 },
    ],
  });
  expect(book.figures({ ...noFilter, actorId: 'nobody' })).toMatchObject({
    total: 0,
    first_at: null,
    last_at: null,
  });
  const pages = [...book.export(noFilter)];
  expect(pages.map(({ length }) => length)).toEqual([500, 500, 101]);
  expect(pages.flat().map(({ seq }) => seq)).toEqual(Array.from({ length: 1_101 }, (_, index) => index + 1));
  expect([...book.export({ ...noFilter, type: 'job.*' })]).toEqual([]);
});

/** Creates a witness that keeps its marks in memory. A real witness keeps marks outside the data folder. */
function createMemoryWitness(marks: { readonly seq: number; readonly hash: string }[]): Witness {
  return {
    name: '/var/log/witness',
    tell: async mark => void marks.push(mark),
    newest: () => marks.at(-1) ?? null,
  };
}

test('records a rollback once when the trail lacks the newest row that a witness recorded', async () => {
  const fixture = openFixture();
  const witnesses = [createMemoryWitness([{ seq: 9, hash: 'f'.repeat(64) }])];
  await fixture.appendRows(2);
  fixture.file.text = null;
  await (await fixture.open()).stop();
  fixture.logged.length = 0;
  const audit = await fixture.open({ witnesses });
  expect(fixture.logged).toEqual(['audit.rolled_back']);
  expect(newestRow(fixture)).toMatchObject({ seq: 4, type: 'audit.rolled_back' });
  expect(JSON.parse(newestRow(fixture)?.details ?? '')).toEqual({
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
  await fixture.open({ witnesses });
  expect(newestRow(fixture)).toMatchObject({ seq: 4 });
});

test('opens without a warning when the trail has the newest row that its witness recorded', async () => {
  const fixture = openFixture();
  const marks: { seq: number; hash: string }[] = [];
  await fixture.appendRows(3);
  fixture.file.text = null;
  await (await fixture.open({ witnesses: [createMemoryWitness(marks)] })).stop();
  fixture.logged.length = 0;
  expect(marks.length).toBeGreaterThan(0);
  await fixture.appendRows(1);
  await fixture.open({ witnesses: [createMemoryWitness(marks)] });
  expect(fixture.logged).toEqual([]);
});

test('does not report a rollback when a restored backup lacks a row that a witness recorded', async () => {
  const fixture = openFixture();
  await fixture.appendRows(1);
  await fixture.open({
    isRestored: true,
    witnesses: [createMemoryWitness([{ seq: 9, hash: 'f'.repeat(64) }])],
  });
  expect(newestRow(fixture)).toMatchObject({ type: 'audit.restored' });
});

test('starts when a witness cannot be read', async () => {
  const fixture = openFixture();
  const witness: Witness = {
    name: '/var/log/witness',
    tell: async () => {},
    newest: () => {
      throw new Error('EACCES');
    },
  };
  const { newest: _withoutNewest, ...webhook } = witness;
  await fixture.open({ witnesses: [webhook, witness] });
  expect(fixture.logged).toEqual(['audit.witness_not_read']);
});
