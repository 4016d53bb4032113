import { rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { auditApi } from '../../../protocol/admin-api.ts';
import { backupApi } from '../../../protocol/backup-api.ts';
import { startTestServer, type TestServer, valueOf } from '../../support/server.ts';

async function openServer(): Promise<TestServer> {
  const server = await startTestServer();
  onTestFinished(() => server.close());
  return server;
}

test('creates a private backup of the current data, lists it, and audits it', async () => {
  const server = await openServer();
  const { id } = await server.createWorker({ name: 'rig-1' });
  const backup = valueOf(await server.admin.call(backupApi.make, {}));
  await server.createWorker({ name: 'rig-2' });
  const { folder, backups } = valueOf(await server.admin.call(backupApi.list, {}));
  expect(backups).toEqual([backup]);
  const file = join(folder, backup.name);
  expect(backup).toMatchObject({ kind: 'manual', bytes: statSync(file).size });
  expect(statSync(file).mode & 0o077).toBe(0);
  const copy = new Database(file, { readonly: true });
  expect(copy.prepare('SELECT id FROM workers').pluck().all()).toEqual([id]);
  copy.close();
  const { entries } = valueOf(await server.admin.call(auditApi.list, { query: { target_id: backup.name } }));
  expect(entries).toMatchObject([{ event_type: 'backup.made', actor_id: 'admin', target_type: 'backup' }]);
});

test('creates concurrently requested backups one after the other, and keeps the ten newest backups', async () => {
  const server = await openServer();
  const results = await Promise.all(Array.from({ length: 12 }, () => server.admin.call(backupApi.make, {})));
  const names = results.map(answer => valueOf(answer).name);
  expect(new Set(names).size).toBe(12);
  const { backups } = valueOf(await server.admin.call(backupApi.list, {}));
  expect(backups).toHaveLength(10);
});

test('explains why a backup failed, and changes nothing', async () => {
  const server = await openServer();
  const path = join(server.dataDir, 'backups');
  rmSync(path, { recursive: true, force: true });
  writeFileSync(path, 'no folder');
  const failure = await server.admin.call(backupApi.make, {});
  expect(failure).toMatchObject({
    ok: false,
    failure: { status: 507, problem: { detail: expect.stringContaining('backup') } },
  });
  rmSync(path);
  expect(await server.admin.call(backupApi.make, {})).toMatchObject({ ok: true });
});
