import Database from 'better-sqlite3';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openQueries } from '../../../main/store/rows/dependency-rows.ts';
import { sampleQueries } from '../../../main/store/rows/artifact-rows.ts';
import { pageOf } from '../../../main/store/rows/job-search.ts';
import { alikeQuery } from '../../../main/store/rows/queue-rows.ts';
import type { SqliteStore } from '../../../main/store/sqlite-store.ts';
import { JobSort, parseSearch } from '../../../protocol/job-search.ts';
import { everyJob } from '../../support/every-job.ts';
import { openFolder } from '../../support/fleet-bench.ts';
import { openStoreFixture } from './bench.ts';
import { asEnded, asLive, at, emptyPayload, makeJob, makeWorker, workerId } from './builders.ts';
import { schema1 } from './schema-1.ts';

const job = (id: string, order: number, more: string): string => `
  INSERT INTO jobs (id, ord, status, config_name, requirements, priority, max_retries, queued_at, not_before, retries_used,
    attempt_n, ended_at) VALUES ('${id}', ${order}, ${more})`;
const spec = `'demo', '{"target":"auto","gpuCount":1,"labels":{}}', 20, 3, ${at(1)}, 0, 0`;

// Writes a file of an older schema with one pending, one running and one ended job.
function writeOldFile(): string {
  const file = join(openFolder(), 'trainyard.db');
  const db = new Database(file);
  db.pragma('journal_mode = WAL');
  db.exec(`${schema1};
    INSERT INTO workers (id, name, type, labels, created_at, served) VALUES ('w_1', 'rig', 'persistent', '{}', 0, 0);
    ${job('j_1', 1, `'completed', ${spec}, 0, ${at(9)}`)};
    ${job('j_2', 2, `'running', ${spec}, 1, NULL`)};
    ${job('j_3', 3, `'pending', ${spec}, 0, NULL`)};
    INSERT INTO attempts (id, job_id, n, worker_id, offered_at) VALUES ('a_1', 'j_2', 1, 'w_1', ${at(2)});`);
  db.close();
  return file;
}

const newFile = (): string => join(openFolder(), 'trainyard.db');

// Opens a second connection, as another program does.
function connect(file: string): Database.Database {
  const db = new Database(file);
  onTestFinished(() => void db.close());
  return db;
}

const schemaOf = (file: string): readonly unknown[] =>
  connect(file).prepare('SELECT type, name, sql FROM sqlite_schema ORDER BY type, name').all();

test('migrates an older file to the schema of a new file', () => {
  const [migrated, created] = [openStoreFixture(writeOldFile()), openStoreFixture(newFile())];
  expect(schemaOf(migrated.file)).toEqual(schemaOf(created.file));
  expect(connect(migrated.file).pragma('integrity_check', { simple: true })).toBe('ok');
});

test('counts the jobs of a migrated file correctly', () => {
  const { store } = openStoreFixture(writeOldFile());
  expect(store.jobCounts()).toEqual({ pending: 1, blocked: 0, live: 1 });
  expect(store.countJobs()).toEqual(
    ['completed', 'pending', 'running'].map(status => ({ user: 'admin', status, count: 1 })),
  );
  expect(store.liveJobs().map(({ id }) => id)).toEqual(['j_2']);
  expect(store.pendingJobs().map(({ id }) => id)).toEqual(['j_3']);
});

describe.each([
  ['an older', writeOldFile],
  ['a new', newFile],
] as const)('constraints in %s database file', (_which, fileOf) => {
  const changes = [
    "UPDATE jobs SET status = 'running' WHERE id = 'j_2'",
    "INSERT INTO audit (at, type, actor_type, target_type, target_id, details, hash) VALUES (0, '', 'admin', '', '', '', '')",
  ];

  test.each(changes)('checks the constraints of a row without a temporary table: %s', sql => {
    const { file } = openStoreFixture(fileOf());
    const opcodes = connect(file).prepare<[], { readonly opcode: string }>(`EXPLAIN ${sql}`).all();
    expect(opcodes.map(({ opcode }) => opcode)).not.toContain('OpenEphemeral');
  });

  test.each([
    ['an unknown status', changes[0]?.replace('running', 'walking')],
    ['an ended job without an end time', changes[0]?.replace('running', 'completed')],
    ['an end time for a running job', "UPDATE jobs SET ended_at = 1 WHERE id = 'j_2'"],
    ['an unknown actor', changes[1]?.replace('admin', 'nobody')],
    ['a change of the final status', "UPDATE jobs SET status = 'failed' WHERE id = 'j_1'"],
    [
      'a change from a final status to pending',
      "UPDATE jobs SET status = 'pending', ended_at = NULL WHERE id = 'j_1'",
    ],
  ])('refuses to write %s', async (_what, sql) => {
    const { file, store } = openStoreFixture(fileOf());
    if (store.job(makeJob(2).id) === null) await insertSampleJobs(store);
    expect(() => connect(file).exec(sql ?? '')).toThrow(
      /CHECK constraint failed|an ended job does not change/,
    );
  });

  test('refuses changes of the table sqlite_schema', () => {
    const { db } = openStoreFixture(fileOf());
    db.pragma('writable_schema = ON');
    expect(() => db.exec("UPDATE sqlite_schema SET sql = '' WHERE name = 'audit'")).toThrow(
      'may not be modified',
    );
  });
});

test.each(Object.entries(sampleQueries))('lists samples by an index, without sorting: %s', (_which, sql) => {
  const { file } = openStoreFixture(newFile());
  const plan = connect(file)
    .prepare<[object], { readonly detail: string }>(`EXPLAIN QUERY PLAN ${sql}`)
    .all({ job: 'j_1', before: 9, limit: 9 });
  expect(plan.map(({ detail }) => detail)).toEqual([
    expect.stringMatching(/^SEARCH artifacts USING INDEX artifacts_samples/),
  ]);
});

test('finds similar jobs by an index, newest first, without sorting', () => {
  const { file } = openStoreFixture(newFile());
  const plan = connect(file)
    .prepare<[object], { readonly detail: string }>(`EXPLAIN QUERY PLAN ${alikeQuery}`)
    .all({ likeness: 'kohya|1', user: null });
  const text = plan.map(({ detail }) => detail).join('\n');
  expect(text).toMatch(/SEARCH jobs USING INDEX jobs_alike \(likeness=\?\)/);
  expect(text).not.toMatch(/TEMP B-TREE|SCAN jobs/);
});

test.each(Object.entries(openQueries))(
  'finds waiting children by an index, without sorting: %s',
  (_which, sql) => {
    const { file } = openStoreFixture(newFile());
    const plan = connect(file)
      .prepare<[object], { readonly detail: string }>(`EXPLAIN QUERY PLAN ${sql}`)
      .all({ root: 'j_1', on: 'end', parent: 'j_1', afterParent: '', afterChild: '', limit: 9 });
    expect(plan.map(({ detail }) => detail)).toEqual([
      expect.stringMatching(/^SEARCH job_parents USING COVERING INDEX job_parents_open .*>/),
    ]);
  },
);

test.each(['', 'state:failed', 'user:ci', 'worker:rig-*', 'tag:base', 'group:night', 'sdxl lora'])(
  'selects ended jobs from one index alone, in every order, with the search "%s"',
  text => {
    const { file } = openStoreFixture(newFile());
    const db = connect(file);
    for (const sort of JobSort.options)
      for (const after of [null, { value: 1, order: 9 }]) {
        const page = pageOf({
          ...everyJob,
          search: parseSearch(`${text} -`),
          sort,
          after,
          limit: 9,
          offset: 9,
        });
        const plan = db
          .prepare<unknown[], { readonly detail: string }>(`EXPLAIN QUERY PLAN ${page.text}`)
          .all(...page.values, 9, 9)
          .map(({ detail }) => detail);
        const reads = plan.filter(detail => /jobs_list/.test(detail));
        expect(reads).toEqual([expect.stringMatching(/^(SCAN|SEARCH) j USING COVERING INDEX jobs_list/)]);
      }
  },
);

// Stores the same jobs as in the older file.
async function insertSampleJobs(store: SqliteStore): Promise<void> {
  const [ended, running, pending] = [makeJob(1), makeJob(2), makeJob(3)];
  await store.write(tx => {
    tx.insertWorker(makeWorker({ id: workerId('w_1') }), 'hash');
    for (const newJob of [ended, running, pending]) tx.insertJob(newJob, emptyPayload);
    const live = asLive(ended, 'running');
    tx.replaceJob(ended, live);
    tx.replaceJob(live, asEnded(live, 'completed'));
    tx.replaceJob(running, asLive(running, 'running'));
  });
}
