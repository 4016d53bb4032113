/** What opening the trail detects: a restored backup, a missing head, a truncated end. */
import { expect, onTestFinished, test } from 'vitest';
import type { HeadFile } from '../../../../main/audit/head.ts';
import { createSeal, openAudit } from '../../../../main/audit/index.ts';
import type { Witness } from '../../../../main/audit/witness.ts';
import type { Store } from '../../../../main/orchestrator/ports/index.ts';
import { openSqliteStore } from '../../../../main/store/sqlite-store.ts';
import { wholeTrail } from '../../../support/seal.ts';
import { createVirtualClock, trustedTimeOf } from '../../../support/virtual-clock.ts';

const key = new Uint8Array(32).fill(9);

interface Bench {
  readonly store: Store;
  readonly file: HeadFile & { text: string | null };
  readonly logged: string[];
  act(count: number): Promise<void>;
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
  const store = openSqliteStore(':memory:', { log, clock, seal, onFatal: () => {} });
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
    act: count =>
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

test('a new trail is nothing to speak of, and neither is one whose process was killed, or that goes on', async () => {
  const bench = openBench();
  // Killed: nobody has stopped it, and no head was written since.
  await bench.open();
  await bench.act(2);
  const audit = await bench.open({ days: 30 });
  expect(newest(bench)).toMatchObject({ seq: 2, type: 'queue.paused' });
  await bench.act(1);
  await audit.stop();
  const again = await bench.open();
  expect(newest(bench)).toMatchObject({ seq: 3, type: 'queue.paused' });
  expect(await again.book.verify(wholeTrail)).toMatchObject({ valid: true, checked: 3, head: { seq: 3 } });
  expect(bench.logged).toEqual([]);
});

test('a head that is gone is told of, once, and a new one begins', async () => {
  const bench = openBench();
  await (await bench.open()).stop();
  await bench.act(2);
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
  // Once somebody has looked into it, the rest is verified on its own.
  expect(await audit.book.verify({ from: 4, to: null })).toMatchObject({ valid: true });
});

test('a head that is gone shows also when all rows are gone with it', async () => {
  const bench = openBench();
  await bench.store.write(tx => tx.appendEvent({ kind: 'queue', type: 'queue.paused' }, 0));
  const audit = await bench.open();
  expect(newest(bench)).toMatchObject({ seq: 1, type: 'audit.head_lost' });
  expect(await audit.book.verify(wholeTrail)).toMatchObject({ first_bad: { seq: 1, code: 'head_lost' } });
});

test('a backup in its place is told of, with what the head stood for, and the head stands for that', async () => {
  const bench = openBench();
  await (await bench.open()).stop();
  await bench.act(2);
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

test('a backup in its place that has every row which the head stands for has lost nothing', async () => {
  const bench = openBench();
  await (await bench.open()).stop();
  await bench.act(2);
  await (await bench.open()).stop();
  const audit = await bench.open({ isRestored: true });
  expect(audit.lost).toBeNull();
  expect(newest(bench)).toMatchObject({ type: 'audit.restored' });
  expect(await audit.book.verify({ from: 4, to: null })).toMatchObject({ valid: true });
});

interface Named {
  readonly type?: 'audit.restored' | 'queue.paused';
  readonly head?: object | null;
}

/** A trail of its own under the head of another one, which has it be replaced: as a crash leaves the two. */
async function replaced({ type = 'audit.restored', head }: Named = {}): Promise<Bench> {
  const before = openBench();
  await before.act(5);
  await (await before.open()).stop();
  const { seq, hash } = JSON.parse(before.file.text ?? '') as { seq: number; hash: string };
  const bench = openBench();
  await bench.act(2);
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

test('a trail that says itself, sealed, which head it takes the place of is gone on with: once', async () => {
  const bench = await replaced();
  const audit = await bench.open();
  expect(newest(bench)).toMatchObject({ seq: 3, type: 'audit.restored' });
  expect(bench.logged).toEqual([]);
  expect(await audit.book.verify(wholeTrail)).toMatchObject({ valid: true, head: { seq: 3 } });
  expect(audit.account()).toEqual({
    was: { seq: 3, hash: newest(bench)?.hash },
    head: { seq: 3, hash: newest(bench)?.hash },
  });
  await audit.stop();
  expect(await (await bench.open()).book.verify(wholeTrail)).toMatchObject({ valid: true });
});

test.each<[string, Named]>([
  ['names another head', { head: { seq: 5, hash: 'of another trail' } }],
  ['names none', { head: null }],
  ['names what is no head', { head: ['5'] }],
  ['is no word of a restore', { type: 'queue.paused' }],
])('one whose newest row %s proves nothing: the end was cut off', async (_what, named) => {
  const bench = await replaced(named);
  const { text } = bench.file;
  const audit = await bench.open();
  expect(bench.logged).toEqual(['audit.broken']);
  expect(await audit.book.verify(wholeTrail)).toMatchObject({ valid: false });
  expect(bench.file.text).toBe(text);
});

test('neither does one that goes on behind that row, or whose head is not ours', async () => {
  const goneOn = await replaced();
  await goneOn.act(1);
  await goneOn.open();
  expect(goneOn.logged).toEqual(['audit.broken']);
  const foreign = await replaced();
  foreign.file.text = JSON.stringify({ ...(JSON.parse(foreign.file.text ?? '') as object), seal: '00' });
  await foreign.open();
  expect(foreign.logged).toEqual(['audit.broken']);
});

test('nor does a row that somebody without the key has put there', async () => {
  const bench = await replaced();
  const { audit } = bench.store;
  const forged = { ...bench.store, audit: { ...audit, row: (seq: number) => forgedRow(audit.row(seq)) } };
  const opened = await bench.open({ store: forged });
  expect(bench.logged).toEqual(['audit.broken']);
  await opened.stop();
});

const forgedRow = <R extends { readonly type: string } | null>(row: R): R =>
  row?.type === 'audit.restored' ? { ...row, actor_id: 'somebody' } : row;

test('a head that can not be read is told of as none', async () => {
  const bench = openBench();
  await bench.act(1);
  bench.file.text = '{';
  await bench.open({ isRestored: true });
  expect(JSON.parse(newest(bench)?.details ?? '')).toEqual({ newest: 1, head: null });
});

test('an end that was cut off is an error in the log, and keeps nobody from starting', async () => {
  const bench = openBench();
  await (await bench.open()).stop();
  await bench.act(3);
  await (await bench.open()).stop();
  bench.file.text = JSON.stringify({ ...(JSON.parse(bench.file.text ?? '') as object), seq: 90 });
  const audit = await bench.open();
  expect(bench.logged).toEqual(['audit.broken']);
  expect(await audit.book.verify(wholeTrail)).toMatchObject({ valid: false });
});

test('neither does a disk that does not take what is to be told', async () => {
  const bench = openBench();
  await bench.act(1);
  const full = { ...bench.store, write: () => Promise.reject(new Error('full')) };
  const audit = await bench.open({ store: full });
  expect(await audit.book.verify(wholeTrail)).toMatchObject({
    valid: false,
    first_bad: { code: 'head_lost' },
  });
  expect(bench.logged).toEqual(['audit.head_lost', 'audit.not_told']);
  // A new head would hide that the old one is gone: the next start tells.
  expect(bench.file.text).toBeNull();
  await bench.open();
  expect(newest(bench)).toMatchObject({ type: 'audit.head_lost' });
});

test('what it holds is counted and given out in portions', async () => {
  const bench = openBench();
  await bench.act(1_100);
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

/** A witness that remembers marks as a file does. */
function createRemembering(marks: { readonly seq: number; readonly hash: string }[]): Witness {
  return {
    name: '/var/log/witness',
    tell: async mark => void marks.push(mark),
    newest: () => marks.at(-1) ?? null,
  };
}

test('a trail that lacks the newest row of its witness says once that it was rolled back', async () => {
  const bench = openBench();
  const witnesses = [createRemembering([{ seq: 9, hash: 'f'.repeat(64) }])];
  await bench.act(2);
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

test('a trail that has the newest row of its witness goes on without a word', async () => {
  const bench = openBench();
  const marks: { seq: number; hash: string }[] = [];
  await bench.act(3);
  bench.file.text = null;
  await (await bench.open({ witnesses: [createRemembering(marks)] })).stop();
  bench.logged.length = 0;
  expect(marks.length).toBeGreaterThan(0);
  await bench.act(1);
  await bench.open({ witnesses: [createRemembering(marks)] });
  expect(bench.logged).toEqual([]);
});

test('a restored backup is accounted for by its own row and not taken for a rollback', async () => {
  const bench = openBench();
  await bench.act(1);
  await bench.open({
    isRestored: true,
    witnesses: [createRemembering([{ seq: 9, hash: 'f'.repeat(64) }])],
  });
  expect(newest(bench)).toMatchObject({ type: 'audit.restored' });
});

test('a witness that cannot be read does not keep the server from starting', async () => {
  const bench = openBench();
  const witness: Witness = {
    name: '/var/log/witness',
    tell: async () => {},
    newest: () => {
      throw new Error('EACCES');
    },
  };
  const { newest: _cannotBeAsked, ...webhook } = witness;
  await bench.open({ witnesses: [webhook, witness] });
  expect(bench.logged).toEqual(['audit.witness_not_read']);
});
