/** Restores a backup while no server runs, with the commands in docs/troubleshooting.md as a user would paste them. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import Database from 'better-sqlite3';
import { beforeAll, expect, test } from 'vitest';
import { auditApi } from '../../protocol/admin-api.ts';
import { root, type ServerProgram, temporaryFolder } from '../support/processes.ts';
import { valueOf } from '../support/server.ts';
import {
  adminOf,
  backupsOf,
  copyData,
  damage,
  database,
  failureOf,
  makeData,
  openServer,
  stop,
  startFailing,
} from './storage-bench.ts';

/** Data folder that each test copies. Its database contains three jobs. Its backup contains only the first two jobs. */
let data = '';
beforeAll(async () => {
  data = await makeData();
});

const [moveAwayBlock = '', putInPlaceBlock = '', takeBackBlock = ''] = commands();

/** Returns the shell blocks below "With the server stopped" in docs/troubleshooting.md, in order. */
function commands(): readonly string[] {
  const text = readFileSync(join(root, 'docs/troubleshooting.md'), 'utf8');
  const [, from = ''] = text.split('**With the server stopped**');
  const [section = ''] = from.split(/^\*\*/m);
  return [...section.matchAll(/^```sh[^\n]*\n(.*?)^```$/gms)].map(([, block = '']) => block);
}

function runShellBlock(block: string, dataDir: string): void {
  execFileSync('sh', ['-e', '-c', block], { cwd: dataDir, stdio: 'pipe' });
}

/** Runs the commands that put a backup in place, with the path of this backup instead of the example. */
function putBackupInPlace(backup: string, dataDir: string): void {
  const backupPath = /backups\/\S+\.db/;
  expect(putInPlaceBlock).toMatch(backupPath);
  runShellBlock(putInPlaceBlock.replace(backupPath, backup), dataDir);
}

const onlyBackup = (dataDir: string): string => {
  const [backup = '', ...others] = backupsOf(dataDir);
  expect(others).toEqual([]);
  return backup;
};

async function expectServing(server: ServerProgram): Promise<void> {
  const { jobs, submit } = adminOf(server);
  expect((await jobs()).size).toBe(2);
  await submit({ config: {} });
}

const auditOf = async (server: ServerProgram) => {
  const { client } = adminOf(server);
  const { valid, first_bad: firstBad } = valueOf(await client.call(auditApi.verify, {}));
  const { entries } = valueOf(await client.call(auditApi.list, {}));
  return { valid, firstBad, types: entries.map(({ event_type: type }) => type) };
};

/** Starts and kills a server, so that its last changes are only in the write-ahead log. */
async function leaveWriteAheadLog(dataDir: string): Promise<void> {
  const server = await openServer(dataDir);
  await adminOf(server).submit({ config: {} });
  server.kill('SIGKILL');
  await server.exited;
  expect(readdirSync(dataDir)).toContain('trainyard.db-wal');
}

/** Expects that the audit trail is intact after this row, which records the loss. */
async function expectRestIntact(server: ServerProgram, after: number): Promise<void> {
  const { client } = adminOf(server);
  const verification = valueOf(await client.call(auditApi.verify, { query: { from: after + 1 } }));
  expect(verification).toMatchObject({ valid: true, first_bad: null });
}

test('restores the newest backup when the database was moved away, and records the lost audit rows', async () => {
  const dataDir = copyData(data);
  await leaveWriteAheadLog(dataDir);
  runShellBlock(moveAwayBlock, dataDir);
  const server = await openServer(dataDir);
  expect(server.lines.join('\n')).toContain(basename(onlyBackup(dataDir)));
  expect(server.lines.join('\n')).toContain('audit_rows_lost');
  const { valid, firstBad, types } = await auditOf(server);
  expect([valid, firstBad]).toEqual([false, expect.objectContaining({ code: 'rows_lost' })]);
  expect(types).toContain('audit.restored');
  await expectServing(server);
  await expectRestIntact(server, firstBad?.seq ?? 0);
  expect(readdirSync(join(dataDir, 'set-aside')).toSorted()).toEqual([
    'audit-head',
    ...['', '-shm', '-wal'].map(suffix => `trainyard.db${suffix}`),
  ]);
});

test('serves a backup that was put in place by hand, and records the lost audit head', async () => {
  const dataDir = copyData(data);
  await leaveWriteAheadLog(dataDir);
  runShellBlock(moveAwayBlock, dataDir);
  putBackupInPlace(onlyBackup(dataDir), dataDir);
  const server = await openServer(dataDir);
  const { valid, firstBad, types } = await auditOf(server);
  expect([valid, firstBad]).toEqual([false, expect.objectContaining({ code: 'head_lost' })]);
  expect(types).toContain('audit.head_lost');
  await expectServing(server);
  await stop(server);
  // Another restart does not change the result of the verification.
  const restarted = await openServer(dataDir);
  expect((await auditOf(restarted)).firstBad).toEqual(firstBad);
  await expectRestIntact(restarted, firstBad?.seq ?? 0);
});

test('reports a broken audit trail when the newer audit-head is left next to a restored database', async () => {
  const dataDir = copyData(data);
  runShellBlock(moveAwayBlock, dataDir);
  putBackupInPlace(onlyBackup(dataDir), dataDir);
  renameSync(join(dataDir, 'set-aside/audit-head'), join(dataDir, 'audit-head'));
  expect((await auditOf(await openServer(dataDir))).valid).toBe(false);
});

test("refuses a database of a newer version, and starts with this version's backup", async () => {
  const dataDir = copyData(data);
  const backup = onlyBackup(dataDir);
  writeFileSync(join(dataDir, 'backups/hourly-000099-2026-01-01T12-00-00Z.db'), '');
  for (const file of [database(dataDir), ...backupsOf(dataDir).filter(each => each !== backup)]) {
    const db = new Database(file);
    db.pragma('user_version = 999');
    db.close();
  }
  const { code, output } = await failureOf(startFailing(dataDir));
  expect([code, output]).toEqual([1, expect.stringContaining('schema 999')]);
  runShellBlock(moveAwayBlock, dataDir);
  const server = await openServer(dataDir);
  expect(server.lines.join('\n')).toContain(basename(backup));
  await expectServing(server);
});

test('refuses a damaged database without a valid backup, and starts with a backup kept elsewhere', async () => {
  const dataDir = copyData(data);
  const copyElsewhere = join(temporaryFolder(), 'kept.db');
  renameSync(onlyBackup(dataDir), copyElsewhere);
  damage(database(dataDir));
  const { code, output } = await failureOf(startFailing(dataDir));
  expect([code, output]).toEqual([1, expect.stringContaining('no whole backup')]);
  runShellBlock(moveAwayBlock, dataDir);
  putBackupInPlace(copyElsewhere, dataDir);
  await expectServing(await openServer(dataDir));
});

test.each<[string, boolean]>([
  ['the newest backup', false],
  ['a chosen backup', true],
])('brings back the original database with all its jobs after %s was restored', async (_what, isChosen) => {
  const dataDir = copyData(data);
  await leaveWriteAheadLog(dataDir);
  runShellBlock(moveAwayBlock, dataDir);
  if (isChosen) putBackupInPlace(onlyBackup(dataDir), dataDir);
  const first = await openServer(dataDir);
  await expectServing(first);
  await stop(first);
  runShellBlock(takeBackBlock, dataDir);
  const server = await openServer(dataDir);
  expect((await adminOf(server).jobs()).size).toBe(4);
  const { valid, types } = await auditOf(server);
  expect(valid).toBe(true);
  expect(types.filter(type => type === 'audit.head_lost' || type === 'audit.restored')).toEqual([]);
});
