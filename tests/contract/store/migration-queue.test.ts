// Databases of schema versions 1 and 2 have no users, ranks or queue settings.
import Database from 'better-sqlite3';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { AuditRow, Store } from '../../../main/orchestrator/ports/index.ts';
import { nothingAbout } from '../../../protocol/job-about.ts';
import { openSqliteStore } from '../../../main/store/sqlite-store.ts';
import { openFolder } from '../../support/fleet-bench.ts';
import { auditFilter, bookOf, testSeal, wholeTrail } from '../../support/seal.ts';
import { at, jobId, quietDeps, workerId } from './builders.ts';
import { schema1 } from './schema-1.ts';
import { schema2 } from './schema-2.ts';

type Insert = (table: string, row: Readonly<Record<string, unknown>>) => void;

function writeDatabase(
  schemas: readonly string[],
  fill: (put: Insert, db: Database.Database) => void,
): string {
  const file = join(openFolder(), 'trainyard.db');
  const db = new Database(file);
  db.pragma('journal_mode = WAL');
  db.pragma('foreign_keys = ON');
  for (const schema of schemas) db.exec(schema);
  fill((table, row) => {
    const names = Object.keys(row);
    const values = names.map(name => `@${name}`);
    db.prepare(`INSERT INTO ${table} (${names.join(', ')}) VALUES (${values.join(', ')})`).run(row);
  }, db);
  db.close();
  return file;
}

function open(file: string): Store {
  const store = openSqliteStore(file, quietDeps());
  onTestFinished(() => store.close());
  return store;
}

const putJob = (
  put: Insert,
  order: number,
  priority: number,
  more: Readonly<Record<string, unknown>> = {},
) => {
  put('jobs', {
    id: `j_${order}`,
    ord: order,
    status: 'pending',
    config_name: 'demo',
    requirements: '{"target":"auto","gpuCount":1,"labels":{}}',
    priority,
    max_retries: 3,
    queued_at: at(order),
    not_before: 0,
    retries_used: 0,
    attempt_n: 0,
    ...more,
  });
  put('payloads', { job_id: `j_${order}`, config: '{"lr":1}', dataloader: 'null' });
};

describe.each([
  ['first', [schema1]],
  ['second', [schema1, schema2]],
] as const)('migrating a database of the %s schema version', (_which, schemas) => {
  test('keeps the queue order of migrated jobs, and sets the level of each job to its priority', async () => {
    const store = open(
      writeDatabase(schemas, put => {
        for (const [index, priority] of [10, 50, 0, 40, 10, 39].entries()) putJob(put, index + 1, priority);
        putJob(put, 7, 50, { status: 'cancelled', ended_at: at(9) });
      }),
    );
    const pending = store.pendingJobs();
    expect(pending.map(({ order }) => order)).toEqual([2, 4, 6, 1, 5, 3]);
    expect(pending.map(job => store.position(job))).toEqual([1, 2, 3, 4, 5, 6]);
    expect(pending.map(({ rank }) => rank)).toEqual(
      [50, 40, 39, 10, 10, 0].map((priority, index) => ({
        priority,
        level: priority,
        boosts: 0,
        top: 0,
        turn: pending[index]?.order,
        boostAt: priority < 40 ? at(pending[index]?.order ?? 0) + 3_600_000 : null,
      })),
    );
    for (const job of pending)
      expect(job).toMatchObject({
        user: 'admin',
        approval: null,
        retryOf: null,
        retryRoot: null,
        dependencies: null,
        spec: { devices: null },
      });
    expect(store.starvingJobs(at(3_603), 9).map(({ order }) => order)).toEqual([1, 3]);
    expect(store.job(jobId('j_7'))).toMatchObject({ status: 'cancelled', user: 'admin' });
    expect(store.endedJobs(at(10), 9)).toEqual(['j_7']);
    expect([store.queueSettings(), store.submissionOf('admin', 'k'), store.highestTop()]).toEqual([
      null,
      null,
      0,
    ]);
    const [first] = pending;
    if (first === undefined) throw new Error('no job is pending');
    await store.write(tx => {
      tx.replaceJob(first, { ...first, approval: 'wanted' });
      tx.setQueueSettings({
        pause: null,
        maxRunning: 1,
        maxRunningPerUser: null,
        maxRunningPerTeam: null,
        teamLimits: {},
        fairShare: true,
        approvalFor: [],
        maxLocalGpus: null,
        maxLocalJobs: 1,
      });
      tx.removeJob(jobId('j_7'));
    });
    expect(store.jobCounts()).toEqual({ pending: 6, blocked: 1, live: 0 });
  });

  test('keeps waiting time, running time and GPU time of migrated jobs', () => {
    const store = open(
      writeDatabase(schemas, put => {
        const rig = { name: 'rig', type: 'persistent', labels: '{}', created_at: at(0), served: 0 };
        put('workers', { id: 'w_1', token_hash: 'h', ...rig });
        putJob(put, 1, 10, {
          status: 'completed',
          ended_at: at(40),
          attempt_n: 1,
          requirements: '{"target":"auto","gpuCount":2,"labels":{}}',
        });
        const attempt = { id: 'a_1', job_id: 'j_1', n: 1, worker_id: 'w_1', offered_at: at(2) };
        put('attempts', { ...attempt, started_at: at(11), ended_at: at(40), outcome: 'completed' });
        putJob(put, 2, 10, { status: 'cancelled', ended_at: at(41) });
      }),
    );
    expect(store.jobTimes(at(0))).toEqual({
      completed: 1,
      failed: 0,
      cancelled: 1,
      averageWaitMs: 10_000,
      averageRunMs: 29_000,
    });
    expect(store.gpuMs(at(0), at(100))).toBe(2 * 29_000);
    expect(store.gpuMs(at(30), at(100))).toBe(2 * 10_000);
  });

  test('gives migrated jobs no name, tags, group or notes, and can store these texts later', async () => {
    const store = open(writeDatabase(schemas, put => putJob(put, 1, 10)));
    const id = jobId('j_1');
    const job = store.job(id);
    if (job === null) throw new Error('the job is missing');
    expect(job.spec.about).toEqual(nothingAbout);
    expect(store.notesOf(id)).toBeNull();
    const named = { ...job, spec: { ...job.spec, about: { ...nothingAbout, name: 'n', tags: ['a'] } } };
    await store.write(tx => {
      tx.replaceJob(job, named);
      tx.setNotes(id, 'notes');
    });
    expect(store.job(id)).toEqual(named);
    expect(store.notesOf(id)).toBe('notes');
  });

  test('marks no migrated worker as local', () => {
    const store = open(
      writeDatabase(schemas, put => {
        const base = { name: 'rig', type: 'persistent', labels: '{}', created_at: at(0), served: 0 };
        put('workers', { id: 'w_1', token_hash: 'h', ...base });
      }),
    );
    expect(store.worker(workerId('w_1'))?.local).toBe(false);
  });
});

describe('migrating the audit trail of the second schema version', () => {
  // Creates audit rows that the second schema version can store, with their seals.
  function sealedRows(count: number): readonly AuditRow[] {
    const rows: AuditRow[] = [];
    for (let n = 1; n <= count; n++) {
      const row: Omit<AuditRow, 'hash'> = {
        seq: n,
        at: at(n),
        type: n % 2 === 0 ? 'job.submitted' : 'worker.back',
        actor_type: n % 3 === 0 ? 'worker' : n % 3 === 1 ? 'admin' : 'system',
        actor_id: n % 3 === 2 ? null : `größe-${n}`,
        address: n % 3 === 1 ? '10.0.0.1' : null,
        target_type: n % 2 === 0 ? 'job' : 'worker',
        target_id: n % 2 === 0 ? `j_${n}` : `w_${n}`,
        details: JSON.stringify({ reason: 'new “disk”\u2028', n }),
      };
      rows.push({ ...row, hash: testSeal(rows.at(-1)?.hash ?? null, row) });
    }
    return rows;
  }

  const sealed = sealedRows(5);
  const next = {
    at: at(9),
    type: 'queue.paused',
    actor: { type: 'admin', id: 'ada', address: null },
    target: { type: 'queue', id: 'queue' },
    details: { note: null },
  } as const;
  const fileWith = (rows: readonly AuditRow[], change: (db: Database.Database) => void = () => {}): string =>
    writeDatabase([schema1, schema2], (put, db) => {
      for (const row of rows) put('audit', { ...row });
      change(db);
    });

  test('keeps every migrated audit row with its number and hash, and appends rows about the queue', async () => {
    const store = open(fileWith(sealed));
    expect(store.audit.after(0, 9)).toEqual(sealed);
    expect(store.audit.list(auditFilter({ targetId: 'j_4', limit: 9 })).rows).toEqual([sealed[3]]);
    const book = bookOf(store.audit);
    expect(await book.verify(wholeTrail)).toMatchObject({ valid: true, checked: 5, first_bad: null });
    await store.write(tx => tx.appendAudit(next));
    expect(store.audit.after(5, 9)).toMatchObject([{ seq: 6, target_type: 'queue', target_id: 'queue' }]);
    expect(await book.verify(wholeTrail)).toMatchObject({ valid: true, checked: 6, first_bad: null });
  });

  test('detects after the migration that the newest audit rows were removed, and does not reuse their numbers', async () => {
    const store = open(
      fileWith(sealed, db => {
        db.exec('DROP TRIGGER audit_rows_are_kept; DELETE FROM audit WHERE seq > 3;');
      }),
    );
    expect(store.audit.lastSeq()).toBe(5);
    expect(store.audit.after(0, 9)).toEqual(sealed.slice(0, 3));
    const book = bookOf(store.audit);
    expect((await book.verify(wholeTrail)).valid).toBe(false);
    await store.write(tx => tx.appendAudit(next));
    expect(store.audit.after(3, 9)).toMatchObject([{ seq: 6 }]);
    expect(store.audit.lastSeq()).toBe(6);
  });

  test('starts a migrated audit trail without rows with number 1', async () => {
    const store = open(fileWith([]));
    expect([store.audit.lastSeq(), store.audit.after(0, 9)]).toEqual([0, []]);
    await store.write(tx => tx.appendAudit(next));
    expect(store.audit.after(0, 9)).toMatchObject([{ seq: 1 }]);
  });

  test.each([
    ['change a row', "UPDATE audit SET details = '{}' WHERE seq = 2"],
    ['remove a row', 'DELETE FROM audit WHERE seq = 5'],
    [
      'replace a row',
      'INSERT OR REPLACE INTO audit SELECT seq, at, type, actor_type, actor_id, address, target_type, target_id, \'{"x":1}\', hash FROM audit WHERE seq = 2',
    ],
  ])('refuses SQL statements that %s of the audit trail', (_what, sql) => {
    const file = fileWith(sealed);
    const store = open(file);
    const db = new Database(file);
    onTestFinished(() => void db.close());
    expect(() => db.exec(sql)).toThrow('the audit trail is only ever appended to');
    expect(store.audit.after(0, 9)).toEqual(sealed);
  });

  test('removes the temporary tables of the audit migration', () => {
    const file = fileWith(sealed);
    open(file);
    const db = new Database(file, { readonly: true });
    onTestFinished(() => void db.close());
    const names = db
      .prepare("SELECT name FROM sqlite_schema WHERE name LIKE 'audit%' ORDER BY name")
      .pluck()
      .all();
    expect(names).toEqual([
      'audit',
      'audit_anchor',
      'audit_anchor_moves_on',
      'audit_anchor_stays',
      'audit_rows_are_kept',
      'audit_rows_are_new',
      'audit_rows_stay',
      'audit_target',
    ]);
    expect(db.prepare("SELECT name, seq FROM sqlite_sequence WHERE name LIKE 'audit%'").all()).toEqual([
      { name: 'audit', seq: 5 },
    ]);
  });
});
