/** The audit trail: whatever is done to it afterwards shows (FAULTS.md S21). */
import Database from 'better-sqlite3';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createAuditBook } from '../../../main/audit/book.ts';
import { createSeal } from '../../../main/audit/chain.ts';
import type { AuditFact, Log, Store } from '../../../main/orchestrator/ports.ts';
import { openSqliteStore } from '../../../main/store/sqlite-store.ts';
import { JobId, WorkerId } from '../../../protocol/ids.ts';
import { openFolder } from '../../support/fleet-bench.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const silent: Log = { info: () => {}, warn: () => {}, error: () => {} };
const seal = createSeal(new Uint8Array(32).fill(1));
const parts = { log: silent, clock: createVirtualClock(), onFatal: () => {} };
const all = { type: null, targetId: null, limit: 500, offset: 0 };

const factOf = (n: number): AuditFact => ({
  at: Date.UTC(2026, 0, 1) + n,
  type: n % 2 === 0 ? 'job.running' : 'worker.draining',
  actor:
    n % 3 === 0 ? { type: 'system' } : { type: 'admin', id: 'ada', address: n % 3 === 1 ? null : '10.0.0.7' },
  target:
    n % 2 === 0
      ? { type: 'job', id: JobId.parse(`j_${n}`) }
      : { type: 'worker', id: WorkerId.parse(`w_${n}`) },
  details: { n, reason: '“new” disk \u2028' },
});

/** A trail of so many rows, closed, and the file that it lies in. */
async function writeTrail(rows: number): Promise<string> {
  const file = join(openFolder(), 'trail.db');
  const store = openSqliteStore(file, { ...parts, seal });
  await store.write(tx => {
    for (let n = 1; n <= rows; n += 1) tx.appendAudit(factOf(n));
  });
  await store.close();
  return file;
}

/** Does to the file what no call can do. */
function tamper(file: string, sql: string): void {
  const db = new Database(file);
  db.exec(`DROP TRIGGER audit_rows_stay; DROP TRIGGER audit_rows_are_kept; ${sql}`);
  db.close();
}

async function withTrail<T>(file: string, look: (store: Store) => T | Promise<T>, key = seal): Promise<T> {
  const store = openSqliteStore(file, { ...parts, seal: key });
  try {
    return await look(store);
  } finally {
    await store.close();
  }
}

const verify = (file: string, key = seal) =>
  withTrail(file, store => createAuditBook(store.audit, key).verify(), key);

describe('verify', () => {
  test('finds nothing when nothing is wrong, over many pages and none', async () => {
    expect(await verify(await writeTrail(0))).toEqual({ valid: true, checked: 0, first_bad: null });
    expect(await verify(await writeTrail(4_001))).toEqual({ valid: true, checked: 4_001, first_bad: null });
  });

  test.each([
    ['at', 'at = at + 1'],
    ['type', "type = 'job.failed'"],
    ['actor_type', "actor_type = 'worker'"],
    ['actor_id', "actor_id = 'eve'"],
    ['address', "address = '10.0.0.8'"],
    ['target_type', "target_type = 'worker'"],
    ['target_id', "target_id = 'j_9'"],
    ['details', "details = '{}'"],
    ['hash', "hash = 'ab'"],
  ])('names the row whose %s was changed', async (_column, change) => {
    const file = await writeTrail(6);
    tamper(file, `UPDATE audit SET ${change} WHERE seq = 4`);
    expect(await verify(file)).toEqual({
      valid: false,
      checked: 3,
      first_bad: { seq: 4, problem: 'the row was changed' },
    });
  });

  test.each([
    ['one in the middle', 'DELETE FROM audit WHERE seq = 3', 3, 'the row is missing'],
    ['the first', 'DELETE FROM audit WHERE seq = 1', 1, 'the row is missing'],
    ['the newest', 'DELETE FROM audit WHERE seq > 4', 5, 'the newest rows are missing'],
    ['all', 'DELETE FROM audit', 1, 'the newest rows are missing'],
  ])('misses %s', async (_what, sql, seq, problem) => {
    const file = await writeTrail(6);
    tamper(file, sql);
    expect((await verify(file)).first_bad).toEqual({ seq, problem });
  });

  test('finds two rows that changed places', async () => {
    const file = await writeTrail(6);
    tamper(
      file,
      'UPDATE audit SET seq = -2 WHERE seq = 2; UPDATE audit SET seq = 2 WHERE seq = 3; UPDATE audit SET seq = 3 WHERE seq = -2',
    );
    expect((await verify(file)).first_bad?.seq).toBe(2);
  });

  test('believes nobody who does not know the key', async () => {
    const file = await writeTrail(3);
    expect((await verify(file, createSeal(new Uint8Array(32).fill(2)))).first_bad?.seq).toBe(1);
  });

  test('leaves what is written meanwhile to the next time', async () => {
    const file = await writeTrail(2);
    await withTrail(file, async store => {
      const { audit } = store;
      const before = audit.lastSeq();
      await store.write(tx => tx.appendAudit(factOf(3)));
      const stale = { ...audit, lastSeq: () => before };
      expect(await createAuditBook(stale, seal).verify()).toMatchObject({ valid: true, checked: 2 });
    });
  });
});

describe('the list', () => {
  test('is newest first, by type and target, in pages', async () => {
    await withTrail(await writeTrail(6), store => {
      const book = createAuditBook(store.audit, seal);
      expect(book.list(all).entries.map(({ seq }) => seq)).toEqual([6, 5, 4, 3, 2, 1]);
      expect(book.list({ ...all, limit: 2, offset: 1 }).entries.map(({ seq }) => seq)).toEqual([5, 4]);
      expect(book.list({ ...all, type: 'job.running' })).toMatchObject({ total: 3 });
      expect(book.list({ ...all, targetId: 'w_5' }).entries).toMatchObject([
        {
          seq: 5,
          at: '2026-01-01T00:00:00.005Z',
          event_type: 'worker.draining',
          actor_type: 'admin',
          actor_id: 'ada',
          address: '10.0.0.7',
          target_type: 'worker',
          details: { n: 5 },
        },
      ]);
      expect(book.list({ ...all, targetId: 'j_6' }).entries[0]).toMatchObject({
        actor_type: 'system',
        actor_id: null,
      });
    });
  });

  test.each(['nonsense', '7', 'null'])('shows a row whose details were made %s', async text => {
    const file = await writeTrail(1);
    tamper(file, `UPDATE audit SET details = '${text}'`);
    await withTrail(file, store => {
      const [entry] = createAuditBook(store.audit, seal).list(all).entries;
      expect(entry?.details).toEqual({ unreadable: text });
    });
  });
});

test.each([
  ['changed', "UPDATE audit SET type = 'job.failed'"],
  ['removed', 'DELETE FROM audit'],
])('no row is %s by the way', async (_what, sql) => {
  const db = new Database(await writeTrail(1));
  expect(() => db.exec(sql)).toThrow('only ever appended');
  db.close();
});
