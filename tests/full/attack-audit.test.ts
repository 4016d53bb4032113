/**
 * An attacker edits the audit trail in the database (docs/internals/faults.md, S21). Each test verifies the trail with
 * the API of a real server, and with `trainyard audit verify`.
 */
import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { auditApi, workersApi } from '../../protocol/admin-api.ts';
import { tokensApi } from '../../protocol/tokens-api.ts';
import { runTrainyard } from '../support/cli.ts';
import { failpoint } from '../support/failpoint.ts';
import { eventually } from '../support/notices.ts';
import {
  root,
  type ServerProgram,
  startProgram,
  startServer,
  temporaryFolder,
} from '../support/processes.ts';
import { adminClient, createShortcuts, valueOf } from '../support/server.ts';

interface Trail {
  readonly server: ServerProgram;
  readonly admin: ReturnType<typeof adminClient>;
  /**
   * Verifies the whole trail by API and by command, and expects equal results. Returns the first broken row, or null
   * when the trail is intact.
   */
  verify(): Promise<{ readonly seq: number; readonly problem: string } | null>;
  stop(): Promise<void>;
}

function openTrail(server: ServerProgram): Trail {
  onTestFinished(() => server.kill('SIGKILL'));
  const token = readFileSync(join(server.dataDir, 'admin-token'), 'utf8').trim();
  const admin = adminClient(server.url, token);
  return {
    server,
    admin,
    async verify() {
      const { valid, first_bad: bad } = valueOf(await admin.call(auditApi.verify, {}));
      expect(valid).toBe(bad === null);
      const verifyRun = await runTrainyard(['audit', 'verify', '--data-dir', server.dataDir]);
      expect(verifyRun.code).toBe(bad === null ? 0 : 1);
      if (bad !== null) expect(verifyRun.err).toContain(`broken at row ${bad.seq}: ${bad.problem}`);
      return bad;
    },
    async stop() {
      server.kill('SIGTERM');
      await server.exited;
    },
  };
}

const startTrail = async (dataDir?: string, args: readonly string[] = []): Promise<Trail> =>
  openTrail(await startServer([...args], dataDir));

/** Creates audit rows about users, tokens and the system, so that each column has a value in some row. */
async function writeRows({ server, admin }: Trail, name: string): Promise<void> {
  const { createWorker, submit } = createShortcuts(admin);
  const { id } = await createWorker({ name: `${name}-1` });
  valueOf(await admin.call(workersApi.drain, { params: { id }, body: { reason: 'new disk' } }));
  valueOf(await admin.call(tokensApi.create, { body: { name, permissions: ['queue.view'] } }));
  await fetch(`${server.url}/api/queue`, { headers: { authorization: 'Bearer tk_wrong' } });
  await submit({ config: {} });
  await createWorker({ name: `${name}-2` });
}

/** Edits the database like an attacker who owns the machine but does not have the key. */
function editDatabase<T>(dataDir: string, act: (db: Database.Database) => T): T {
  const db = new Database(join(dataDir, 'trainyard.db'));
  try {
    db.pragma('ignore_check_constraints = ON');
    db.pragma('busy_timeout = 10000');
    db.exec(
      'DROP TRIGGER IF EXISTS audit_rows_stay; DROP TRIGGER IF EXISTS audit_rows_are_kept; DROP TRIGGER IF EXISTS audit_rows_are_new',
    );
    return act(db);
  } finally {
    db.close();
  }
}

interface Column {
  readonly name: string;
  readonly type: string;
  readonly notnull: number;
}

/** Returns slightly different values for a column, and null if the column allows it. */
function otherValues({ name, type, notnull }: Column, value: unknown): readonly unknown[] {
  const nullValue = notnull === 0 && value !== null && name !== 'seq' ? [null] : [];
  if (type === 'INTEGER') return [Number(value) + (name === 'seq' ? 1_000 : 1), ...nullValue];
  const text = typeof value === 'string' ? value : '';
  const changed = name === 'details' ? text.replace('{', '{ ') : `${text}x`;
  return [changed, ...(text === '' ? [] : [text.slice(0, -1)]), ...nullValue];
}

test('names the edited row after an edit of any column of the audit table', async () => {
  const firstTrail = await startTrail();
  await writeRows(firstTrail, 'ada');
  const { dataDir } = firstTrail.server;
  // The audit head names the newest row, but lags a few seconds. An orderly stop brings it up to date.
  await firstTrail.stop();
  const trail = await startTrail(dataDir);
  expect(await trail.verify()).toBeNull();
  const columns = editDatabase(dataDir, db =>
    db.prepare<[], Column>("SELECT * FROM pragma_table_info('audit')").all(),
  );
  expect(columns.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['seq', 'at', 'type', 'actor_id', 'address', 'target_id', 'details', 'hash']),
  );
  const rows = editDatabase(dataDir, db =>
    db.prepare<[], Record<string, unknown>>('SELECT * FROM audit ORDER BY seq').all(),
  );
  expect(rows.length).toBeGreaterThanOrEqual(6);
  // Edit each column in a different row than the previous column, so that the edits cover many rows.
  for (const [index, column] of columns.entries()) {
    const row = rows[index % rows.length] ?? {};
    const seq = Number(row['seq']);
    for (const value of otherValues(column, row[column.name])) {
      const set = `UPDATE audit SET "${column.name}" = ? WHERE seq = ?`;
      editDatabase(dataDir, db => db.prepare(set).run(value, seq));
      const { valid, first_bad: bad } = valueOf(await trail.admin.call(auditApi.verify, {}));
      expect([column.name, value, valid, bad?.seq]).toEqual([column.name, value, false, seq]);
      const now = column.name === 'seq' ? value : seq;
      editDatabase(dataDir, db => db.prepare(set).run(row[column.name], now));
    }
    expect([column.name, await trail.verify()]).toEqual([column.name, null]);
  }
}, 120_000);

test('detects audit rows deleted from the middle, the start or the end of the trail', async () => {
  const trail = await startTrail();
  await writeRows(trail, 'ada');
  const { dataDir } = trail.server;
  await trail.stop();
  const restarted = await startTrail(dataDir);
  const rows = editDatabase(dataDir, db =>
    db.prepare<[], { seq: number }>('SELECT * FROM audit ORDER BY seq').all(),
  );
  const names = Object.keys(rows[0] ?? {});
  const insert = `INSERT INTO audit (${names.join(', ')}) VALUES (${names.map(name => `@${name}`).join(', ')})`;
  const verifyWithout = async (from: number, to: number, resetSequence = false) => {
    const removedRows = editDatabase(dataDir, db => {
      const rowsInRange = rows.filter(({ seq }) => seq >= from && seq <= to);
      for (const { seq } of rowsInRange) db.prepare('DELETE FROM audit WHERE seq = ?').run(seq);
      if (resetSequence) db.prepare("UPDATE sqlite_sequence SET seq = ? WHERE name = 'audit'").run(from - 1);
      return rowsInRange;
    });
    const bad = await restarted.verify();
    editDatabase(dataDir, db => {
      for (const row of removedRows) db.prepare(insert).run(row);
    });
    expect(await restarted.verify()).toBeNull();
    return bad;
  };
  const lastRow = rows.length;
  expect(await verifyWithout(3, 3)).toMatchObject({ seq: 3, problem: 'the row is missing' });
  expect(await verifyWithout(1, 1)).toMatchObject({ seq: 1, problem: 'the row is missing' });
  expect(await verifyWithout(lastRow - 1, lastRow)).toMatchObject({
    seq: lastRow - 1,
    problem: 'the newest rows are missing',
  });
  expect(await verifyWithout(lastRow - 1, lastRow, true)).toMatchObject({ seq: lastRow - 1 });
  await restarted.stop();
}, 120_000);

test('reports a lost audit head after the newest rows and the head were deleted, also after restarts', async () => {
  const trail = await startTrail();
  await writeRows(trail, 'ada');
  const { dataDir } = trail.server;
  await trail.stop();
  editDatabase(dataDir, db => {
    db.exec(`DELETE FROM audit WHERE seq > 3;
      UPDATE sqlite_sequence SET seq = 3 WHERE name = 'audit'`);
  });
  rmSync(join(dataDir, 'audit-head'));
  const restarted = await startTrail(dataDir);
  expect(await restarted.verify()).toMatchObject({ seq: 4, code: 'head_lost' });
  await restarted.stop();
  const restartedAgain = await startTrail(dataDir);
  expect(await restartedAgain.verify()).toMatchObject({ seq: 4, code: 'head_lost' });
  const restVerification = await runTrainyard(['audit', 'verify', '--from', '5', '--data-dir', dataDir]);
  expect([restVerification.code, restVerification.err]).toEqual([0, '']);
  await restartedAgain.stop();
}, 60_000);

// A witness is a file outside the data folder, to which the server appends references to audit rows.
test('detects a database that was rolled back together with its audit head only with a witness', async () => {
  const witness = join(temporaryFolder(), 'witness');
  const witnessFlags = ['--audit-witness', witness];
  const first = await startTrail(undefined, witnessFlags);
  await writeRows(first, 'ada');
  const { dataDir } = first.server;
  await first.stop();
  const names = ['trainyard.db', 'audit-head'];
  const older = temporaryFolder();
  for (const name of names) copyFileSync(join(dataDir, name), join(older, name));
  const second = await startTrail(dataDir, witnessFlags);
  await writeRows(second, 'bob');
  await second.stop();
  for (const name of names) copyFileSync(join(older, name), join(dataDir, name));
  const rolledBack = await startTrail(dataDir, witnessFlags);
  await writeRows(rolledBack, 'eve');
  // At its start, the server compares the trail with its witness and records the result as a row.
  const firstBad = await rolledBack.verify();
  expect(firstBad).toMatchObject({ code: 'head_rolled_back' });
  const rangeFlags = ['--from', String((firstBad?.seq ?? 0) + 1)];
  const compare = (file: string) =>
    runTrainyard(['audit', 'verify', ...rangeFlags, '--witness', file, '--data-dir', dataDir]);
  const verifyRun = await compare(witness);
  expect([verifyRun.code, verifyRun.err]).toEqual([1, expect.stringContaining('head_rolled_back')]);
  // The earlier lines of the witness still agree with the trail.
  const [line = ''] = readFileSync(witness, 'utf8').split('\n');
  const earlierWitness = join(older, 'earlier');
  writeFileSync(earlierWitness, `${line}\n`);
  expect((await compare(earlierWitness)).code).toBe(0);
  await rolledBack.stop();
}, 60_000);

const databaseFiles = ['trainyard.db', 'trainyard.db-wal', 'trainyard.db-shm'];

test("detects a database that was replaced by an older copy or by another orchestrator's database", async () => {
  const [first, other] = [await startTrail(), await startTrail()];
  await writeRows(first, 'ada');
  await writeRows(other, 'ada');
  await Promise.all([first.stop(), other.stop()]);
  const { dataDir } = first.server;
  const older = join(temporaryFolder(), 'older.db');
  copyFileSync(join(dataDir, 'trainyard.db'), older);
  const second = await startTrail(dataDir);
  expect(await second.verify()).toBeNull();
  await writeRows(second, 'bob');
  await second.stop();
  const newer = join(temporaryFolder(), 'newer.db');
  copyFileSync(join(dataDir, 'trainyard.db'), newer);
  const verifyWithDatabase = async (file: string) => {
    for (const name of databaseFiles) rmSync(join(dataDir, name), { force: true });
    copyFileSync(file, join(dataDir, 'trainyard.db'));
    const restarted = await startTrail(dataDir);
    const bad = await restarted.verify();
    await restarted.stop();
    return bad;
  };
  // Replacing the file by an equal copy is allowed, because only the content counts.
  expect(await verifyWithDatabase(newer)).toBeNull();
  expect((await verifyWithDatabase(older))?.problem).toMatch(
    /newest rows are missing|does not match the file audit-head/,
  );
  expect(await verifyWithDatabase(join(other.server.dataDir, 'trainyard.db'))).toMatchObject({
    seq: 1,
    problem: 'the row was changed',
  });
}, 120_000);

test('keeps the audit trail valid when retention removes rows, and still detects edits of the rest', async () => {
  const trail = await startTrail();
  await writeRows(trail, 'ada');
  await trail.stop();
  const { dataDir } = trail.server;
  // This failpoint makes time run 200 times faster, so that rows expire soon.
  const haste = failpoint(new URL('../support/failpoint-haste.ts', import.meta.url), '200');
  const program = startProgram(
    [
      process.execPath,
      '--import',
      haste.preload,
      join(root, 'main/cli.ts'),
      'server',
      '--port',
      '0',
      '--data-dir',
      dataDir,
      '--json',
      '--audit-retention-days',
      // 0.000001 days are 86 ms. The first check comes 300 ms after the start, so the rows are old enough at any speed.
      '0.000001',
    ],
    { env: haste.env },
  );
  const [line] = await program.waitForLine(/^\{"ready":true.*/);
  const { url } = JSON.parse(line) as { readonly url: string };
  const fastTrail = openTrail({ ...program, url, dataDir });
  const anchor = await eventually('a trail without its old rows', () =>
    editDatabase(dataDir, db => db.prepare<[], { seq: number }>('SELECT seq FROM audit_anchor').get()),
  );
  expect(anchor.seq).toBeGreaterThanOrEqual(3);
  expect(await fastTrail.verify()).toBeNull();
  await fastTrail.stop();

  const trailAtNormalSpeed = await startTrail(dataDir);
  expect(await trailAtNormalSpeed.verify()).toBeNull();
  expect(
    valueOf(await trailAtNormalSpeed.admin.call(auditApi.verify, {})).anchor?.seq,
  ).toBeGreaterThanOrEqual(anchor.seq);
  const { entries } = valueOf(await trailAtNormalSpeed.admin.call(auditApi.list, {}));
  expect(entries.map(({ event_type: type }) => type)).toContain('audit.trimmed');
  const first = entries.at(-1)?.seq ?? 0;
  expect(first).toBeGreaterThan(anchor.seq);
  editDatabase(dataDir, db => db.prepare("UPDATE audit SET details = '{}' WHERE seq = ?").run(first));
  expect(await trailAtNormalSpeed.verify()).toMatchObject({ seq: first, problem: 'the row was changed' });
}, 120_000);
