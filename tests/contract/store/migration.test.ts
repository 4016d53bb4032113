import Database from 'better-sqlite3';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Job, Store } from '../../../main/orchestrator/ports/index.ts';
import { openSqliteStore } from '../../../main/store/sqlite-store.ts';
import { JobStatus } from '../../../protocol/job.ts';
import { openFolder } from '../../support/fleet-bench.ts';
import { at, jobId, makeWorker, quietDeps, workerId } from './builders.ts';
import { schema1 } from './schema-1.ts';
import { everyJob } from '../../support/every-job.ts';

const capabilities = {
  gpuCount: 1,
  gpuName: 'größe',
  gpuVramGb: 24,
  accelerator: 'cuda',
  driver: null,
  gpus: [],
};
// Facts about an agent as the first schema version stored them, without `startId` and `address`.
const agent = {
  capabilities,
  host: 'rig',
  persistent: true,
  labels: { disk: 'nvme' },
  protocol: 2,
  instanceId: 'i-1',
  agentVersion: '0.1.0',
  registeredAt: at(3),
};

interface OldAttempt {
  readonly worker: string;
  readonly started?: number;
  readonly ended?: number;
  readonly outcome?: string;
  readonly cause?: string;
}

// Writes a file of the first schema version with the rows that `fill` inserts.
function writeOldFile(fill: (old: ReturnType<typeof oldFile>) => void): string {
  const file = join(openFolder(), 'trainyard.db');
  const db = new Database(file);
  db.pragma('journal_mode = WAL');
  db.pragma('foreign_keys = ON');
  db.exec(schema1);
  fill(oldFile(db));
  db.close();
  return file;
}

function oldFile(db: Database.Database) {
  const insert = (table: string, row: Readonly<Record<string, unknown>>): void => {
    const names = Object.keys(row);
    db.prepare(
      `INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map(name => `@${name}`).join(', ')})`,
    ).run(row);
  };
  let order = 0;
  return {
    db,
    worker(id: string, changes: Readonly<Record<string, unknown>> = {}): void {
      const base = { id, name: id, type: 'persistent', labels: '{}', token_hash: `hash-of-${id}` };
      insert('workers', { ...base, created_at: at(0), served: 0, ...changes });
    },
    job(id: string, status: string, attempts: readonly OldAttempt[] = [], used = 0): void {
      order += 1;
      const isFinal = ['completed', 'failed', 'cancelled'].includes(status);
      insert('jobs', {
        id,
        ord: order,
        status,
        config_name: 'demo',
        requirements: '{"target":"auto","gpuCount":1,"labels":{"gpu":"a100*"}}',
        priority: 20,
        max_retries: 3,
        queued_at: at(1),
        not_before: status === 'pending' ? at(30) : 0,
        retries_used: used,
        progress: '{"step":7}',
        attempt_n: attempts.length,
        ended_at: isFinal ? at(9) : null,
        cause: status === 'failed' ? 'trainer_exit' : null,
        error: status === 'failed' ? 'boom' : null,
      });
      insert('payloads', { job_id: id, config: '{"lr":1}', dataloader: '[{"id":"x"}]' });
      for (const [index, { worker, started, ended, outcome, cause }] of attempts.entries()) {
        insert('attempts', {
          id: `a_${id}_${index + 1}`,
          job_id: id,
          n: index + 1,
          worker_id: worker,
          offered_at: at(2),
          started_at: started ?? null,
          ended_at: ended ?? null,
          outcome: outcome ?? null,
          cause: cause ?? null,
          error: cause === undefined ? null : `by ${cause}`,
          exit_code: cause === 'preempted' ? -15 : null,
          signal: null,
        });
      }
    },
    event(fact: object): void {
      insert('events', { at: at(5), fact: JSON.stringify(fact) });
    },
  };
}

function open(file: string): Store {
  const store = openSqliteStore(file, quietDeps());
  onTestFinished(() => store.close());
  return store;
}

const spec = {
  configName: 'demo',
  requirements: { target: 'auto', gpuCount: 1, labels: { gpu: 'a100*' } },
  devices: null,
  maxRetries: 3,
  retryOn: [],
  onLostContact: 'continue',
  timeoutMs: null,
  requests: [],
};

describe('migrating workers', () => {
  test('keeps all facts of migrated workers, and counts no failed job starts against the workers', () => {
    const drain = { reason: 'new disk', by: 'ada', since: at(5) };
    const store = open(
      writeOldFile(old => {
        old.worker('w_1');
        old.worker('w_2', {
          agent: JSON.stringify(agent),
          drain: JSON.stringify(drain),
          last_contact_at: at(4),
          served: 1,
          created_at: at(1),
        });
        old.worker('w_3', { type: 'ephemeral', gone: 'silent', labels: '{"team":"nlp"}', created_at: at(2) });
        old.worker('w_4', { token_hash: null, removed_at: at(6) });
      }),
    );
    expect(store.workers()).toEqual([
      makeWorker({ name: 'w_1' }),
      makeWorker({
        id: workerId('w_2'),
        name: 'w_2',
        createdAt: at(1),
        agent: {
          ...agent,
          protocol: 2,
          startId: null,
          registrationNo: null,
          address: null,
          gpuTroubles: [],
          allowedConfigKeys: null,
          trainers: null,
          outputs: null,
          datasets: null,
        },
        drain: { ...drain, deadlineMs: null },
        lastContactAt: at(4),
        served: true,
      }),
      makeWorker({
        id: workerId('w_3'),
        name: 'w_3',
        type: 'ephemeral',
        gone: 'silent',
        labels: { team: 'nlp' },
        createdAt: at(2),
      }),
    ]);
    expect(store.workerByTokenHash('hash-of-w_2')?.id).toBe('w_2');
    expect(store.worker(workerId('w_4'))).toBeNull();
  });

  test('keeps the tokens of migrated workers, and accepts new tokens', async () => {
    const store = open(writeOldFile(old => ['w_1', 'w_2'].forEach(id => old.worker(id))));
    await store.write(tx => {
      tx.setTokenHash(workerId('w_1'), 'new-1', true);
      tx.setTokenHash(workerId('w_2'), 'new-2', false);
    });
    const findWorker = (hash: string) => store.workerByTokenHash(hash)?.id ?? null;
    expect(['hash-of-w_1', 'new-1', 'hash-of-w_2', 'new-2'].map(findWorker)).toEqual([
      'w_1',
      'w_1',
      null,
      'w_2',
    ]);
  });
});

test('stores join tokens for migrated workers', async () => {
  const store = open(writeOldFile(old => old.worker('w_1')));
  const token = { workerId: workerId('w_1'), expiresAt: at(9), usedFor: null };
  await store.write(tx => tx.setJoinToken('hash-1', token));
  expect(store.joinToken('hash-1')).toEqual(token);
});

describe('migrating jobs', () => {
  const live = { started: at(3) };

  test.each(JobStatus.options)('keeps a migrated %s job unchanged', status => {
    const isFinal = ['completed', 'failed', 'cancelled'].includes(status);
    const store = open(
      writeOldFile(old => {
        old.worker('w_1');
        const end = isFinal ? { ended: at(9), outcome: status } : {};
        old.job('j_1', status, status === 'pending' ? [] : [{ worker: 'w_1', ...live, ...end }]);
      }),
    );
    const job = store.job(jobId('j_1'));
    expect(job).toMatchObject({ status, order: 1, spec, queuedAt: at(1), progress: { step: 7 } });
    expect(job?.attempt === null).toBe(status === 'pending');
    expect(job?.attempt?.end === null).toBe(status !== 'pending' && !isFinal);
    expect(store.payload(jobId('j_1'))).toEqual({ config: { lr: 1 }, dataloader: [{ id: 'x' }], files: {} });
    const listed = store.jobs({ ...everyJob, statuses: [status], limit: 9, offset: 0 });
    expect(listed).toEqual([job]);
  });

  test('gives a migrated cancelling job the stop reason cancel', () => {
    const before = Date.now();
    const store = open(
      writeOldFile(old => {
        old.worker('w_1');
        old.job('j_1', 'cancelling', [{ worker: 'w_1', ...live }]);
      }),
    );
    const job = store.liveJobOf(workerId('w_1'));
    if (job?.status !== 'cancelling') throw new Error(`the job is ${String(job?.status)}`);
    expect(job.stop.why).toBe('cancel');
    // The first schema version did not store this time, so the migration uses the current time, in whole seconds.
    expect(job.stop.since).toBeGreaterThanOrEqual(before - 1_000);
    expect(job.stop.since).toBeLessThanOrEqual(Date.now());
  });

  test('derives for each migrated attempt whether the attempt used a retry, and whether the server gave the attempt up', () => {
    const store = open(
      writeOldFile(old => {
        old.worker('w_1');
        old.job(
          'j_1',
          'pending',
          [
            { worker: 'w_1', ended: at(3), outcome: 'withdrawn' },
            { worker: 'w_1', ...live, ended: at(4), outcome: 'requeued', cause: 'preempted' },
            { worker: 'w_1', ...live, ended: at(5), outcome: 'requeued', cause: 'worker_lost' },
          ],
          2,
        );
        old.job('j_2', 'failed', [
          { worker: 'w_1', ...live, ended: at(6), outcome: 'failed', cause: 'worker_lost' },
        ]);
      }),
    );
    expect(store.attempts(jobId('j_1')).map(({ end, late, resumed }) => ({ ...end, late, resumed }))).toEqual(
      [
        {
          at: at(3),
          outcome: 'withdrawn',
          charged: false,
          cause: null,
          error: null,
          exitCode: null,
          signal: null,
          late: null,
          resumed: null,
        },
        {
          at: at(4),
          outcome: 'requeued',
          charged: true,
          cause: 'preempted',
          error: 'by preempted',
          exitCode: -15,
          signal: null,
          late: null,
          resumed: null,
        },
        {
          at: at(5),
          outcome: 'given_up',
          charged: true,
          cause: 'worker_lost',
          error: 'by worker_lost',
          exitCode: null,
          signal: null,
          late: null,
          resumed: null,
        },
      ],
    );
    expect(store.job(jobId('j_1'))).toMatchObject({ retriesUsed: 2, notBefore: at(30), attempt: { n: 3 } });
    expect(store.attempts(jobId('j_2'))).toMatchObject([
      { end: { outcome: 'failed', charged: false, cause: 'worker_lost' } },
    ]);
  });

  test('saves a migrated job with fields that the first schema version did not have', async () => {
    const store = open(
      writeOldFile(old => {
        old.worker('w_1');
        old.job('j_1', 'running', [{ worker: 'w_1', ...live }]);
      }),
    );
    const running = store.job(jobId('j_1'));
    if (running?.status !== 'running') throw new Error('the job does not run');
    const stopping: Job = { ...running, status: 'cancelling', stop: { why: 'drain', since: at(8) } };
    expect(await store.write(tx => tx.replaceJob(running, stopping))).toBe(true);
    expect(store.job(jobId('j_1'))).toEqual(stopping);
    expect(await store.write(tx => tx.nextJobOrder())).toBe(2);
  });
});

test('adds a permanent fleet id and empty pool tables to an older database', async () => {
  const file = writeOldFile(({ worker }) => worker('w_1'));
  const [first, otherStore] = [open(file), open(writeOldFile(({ worker }) => worker('w_1')))];
  const id = first.fleetId();
  expect(id).toMatch(/^[a-z0-9]{8}$/);
  expect(otherStore.fleetId()).not.toBe(id);
  expect([first.pools(), first.openLaunches(), first.worker(workerId('w_1'))?.name]).toEqual([[], [], 'w_1']);
  await first.close();
  expect(open(file).fleetId()).toBe(id);
});

test('continues the event numbers of a migrated file, and starts its audit trail', async () => {
  const fact = { kind: 'worker', type: 'worker.back', workerId: 'w_1' };
  const store = open(
    writeOldFile(old => {
      for (let n = 0; n < 3; n++) old.event(fact);
    }),
  );
  expect(store.eventsAfter(0, 9)).toEqual([1, 2, 3].map(seq => ({ ...fact, seq, at: at(5) })));
  const seq = await store.write(tx => {
    tx.appendAudit({
      at: at(6),
      type: 'worker.back',
      actor: { type: 'system' },
      target: { type: 'worker', id: workerId('w_1') },
      details: {},
    });
    return tx.appendEvent({ kind: 'worker', type: 'worker.back', workerId: workerId('w_1') }, at(6)).seq;
  });
  expect([seq, store.audit.lastSeq()]).toEqual([4, 1]);
});

test('migrates a file with running totals to the schema of a new file', () => {
  const [oldPath, newPath] = [join(openFolder(), 'trainyard.db'), join(openFolder(), 'trainyard.db')];
  const db = new Database(oldPath);
  db.exec(readFileSync(join(import.meta.dirname, 'schema-running-totals.sql'), 'utf8'));
  db.close();
  open(oldPath);
  open(newPath);
  expect(schemaIn(oldPath)).toEqual(schemaIn(newPath));
});

// Returns the tables, indexes and triggers of a file.
function schemaIn(file: string): readonly unknown[] {
  const db = new Database(file, { readonly: true });
  onTestFinished(() => void db.close());
  return db.prepare('SELECT type, name, sql FROM sqlite_schema ORDER BY type, name').all();
}

test('leaves the file unchanged when a migration fails', () => {
  const file = writeOldFile(old => {
    old.worker('w_1');
    old.db.exec('CREATE TABLE audit (something_else TEXT)');
  });
  expect(() => openSqliteStore(file, quietDeps())).toThrow('already exists');
  const db = new Database(file, { readonly: true });
  onTestFinished(() => void db.close());
  const columns = db.prepare("SELECT name FROM pragma_table_info('workers')").pluck().all();
  expect(db.pragma('user_version', { simple: true })).toBe(1);
  expect(columns).not.toContain('strikes');
  expect(db.prepare('SELECT id FROM workers').pluck().all()).toEqual(['w_1']);
});

describe('triggers on the audit trail', () => {
  const openTrail = async () => {
    const file = join(openFolder(), 'trainyard.db');
    const store = open(file);
    await store.write(tx => {
      for (let n = 1; n <= 3; n++) {
        tx.appendAudit({
          at: at(n),
          type: 'worker.back',
          actor: { type: 'system' },
          target: { type: 'worker', id: workerId('w_1') },
          details: {},
        });
      }
    });
    const db = new Database(file);
    onTestFinished(() => void db.close());
    return { store, db };
  };

  test.each([
    ['a changed row', "UPDATE audit SET details = '{}' WHERE seq = 2"],
    ['an unchanged update', 'UPDATE audit SET seq = seq'],
    ['a removed row', 'DELETE FROM audit WHERE seq = 3'],
    ['the removal of all rows', 'DELETE FROM audit'],
    [
      'a replaced row',
      'INSERT OR REPLACE INTO audit SELECT seq, at, type, actor_type, actor_id, address, target_type, target_id, \'{"x":1}\', hash FROM audit WHERE seq = 2',
    ],
    [
      'an upsert of a row',
      "INSERT INTO audit SELECT seq, at, type, actor_type, actor_id, address, target_type, target_id, details, hash FROM audit WHERE seq = 2 ON CONFLICT DO UPDATE SET details = '{}'",
    ],
  ])('rejects every change of existing audit rows: %s', async (_what, sql) => {
    const { store, db } = await openTrail();
    const before = store.audit.after(0, 9);
    expect(() => db.exec(sql)).toThrow('the audit trail is only ever appended to');
    expect(store.audit.after(0, 9)).toEqual(before);
  });
});
