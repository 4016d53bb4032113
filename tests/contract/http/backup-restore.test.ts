import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, onTestFinished, test } from 'vitest';
import { auditApi, systemApi, workersApi } from '../../../protocol/admin-api.ts';
import { backupApi, type BackupView } from '../../../protocol/backup-api.ts';
import { settingsApi } from '../../../protocol/settings-api.ts';
import { tokensApi } from '../../../protocol/tokens-api.ts';
import { workerApi } from '../../../protocol/worker-api.ts';
import { adminClient, startTestServer, type TestServer, valueOf } from '../../support/server.ts';
import { watchEvents } from '../../support/watch.ts';
import { overwriteBytes } from '../store/bench.ts';

async function openServer(): Promise<TestServer> {
  const server = await startTestServer();
  onTestFinished(() => server.close());
  return server;
}

const makeBackup = async ({ admin }: TestServer): Promise<BackupView> =>
  valueOf(await admin.call(backupApi.make, {}));
const restore = ({ admin }: Pick<TestServer, 'admin'>, name: string, confirm = name) =>
  admin.call(backupApi.restore, { params: { name }, body: { confirm }, timeoutMs: 30_000 });
const workersOf = async ({ admin }: TestServer): Promise<readonly string[]> =>
  valueOf(await admin.call(workersApi.list, {})).workers.map(({ name }) => name);
const backupsOf = async ({ admin }: TestServer): Promise<readonly BackupView[]> =>
  valueOf(await admin.call(backupApi.list, {})).backups;
// The audit rows, oldest first.
const rowsOf = async ({ admin }: TestServer) =>
  valueOf(await admin.call(auditApi.list, { query: { limit: 500 } })).entries.toReversed();
const verdictOf = async ({ admin }: TestServer) => valueOf(await admin.call(auditApi.verify, {}));

describe('restoring a backup', () => {
  test('restores a backup, keeps the previous database, and can undo the restore', async () => {
    const server = await openServer();
    await server.createWorker({ name: 'rig-1' });
    const backup = await makeBackup(server);
    await server.createWorker({ name: 'rig-2' });
    const answer = valueOf(await restore(server, backup.name));
    expect(answer).toEqual({ restored: backup, saved: expect.objectContaining({ kind: 'restore' }) });
    expect(await workersOf(server)).toEqual(['rig-1']);
    expect(await backupsOf(server)).toContainEqual(answer.saved);
    // The restored database accepts changes.
    await server.createWorker({ name: 'rig-3' });
    expect((await workersOf(server)).toSorted()).toEqual(['rig-1', 'rig-3']);

    const undoResult = valueOf(await restore(server, answer.saved.name));
    expect((await workersOf(server)).toSorted()).toEqual(['rig-1', 'rig-2']);
    valueOf(await restore(server, undoResult.saved.name));
    expect((await workersOf(server)).toSorted()).toEqual(['rig-1', 'rig-3']);
    expect(existsSync(join(server.dataDir, 'trainyard.db.restoring'))).toBe(false);
  });

  test('records a restore in the audit trail, which stays valid', async () => {
    const server = await openServer();
    await server.createWorker({ name: 'rig-1' });
    const backup = await makeBackup(server);
    for (const name of ['rig-2', 'rig-3']) await server.createWorker({ name });
    const [newestBefore] = valueOf(await server.admin.call(auditApi.list, { query: { limit: 1 } })).entries;
    const { saved } = valueOf(await restore(server, backup.name));
    const { entries } = valueOf(await server.admin.call(auditApi.list, {}));
    const [row] = entries.filter(({ event_type: type }) => type === 'audit.restored');
    expect(row).toMatchObject({
      actor_type: 'admin',
      actor_id: 'admin',
      address: '127.0.0.1',
      details: {
        backup: backup.name,
        backup_at: expect.stringMatching(/^20/),
        saved: saved.name,
        newest: (row?.seq ?? 0) - 1,
        was: { seq: newestBefore?.seq, hash: newestBefore?.hash },
        head: { seq: newestBefore?.seq, hash: newestBefore?.hash },
      },
    });
    expect(await verdictOf(server)).toMatchObject({ valid: true, first_bad: null });
    // The trail and its head continue after the restore.
    await server.createWorker({ name: 'rig-4' });
    expect(await verdictOf(server)).toMatchObject({ valid: true });
    expect(server.log.join('\n')).not.toContain('audit.broken');
  });

  test('keeps every audit row from before the restore unchanged', async () => {
    const server = await openServer();
    await server.createWorker({ name: 'rig-1' });
    const backup = await makeBackup(server);
    await server.createWorker({ name: 'evidence' });
    const before = await rowsOf(server);
    valueOf(await restore(server, backup.name));
    const after = await rowsOf(server);
    expect(after.slice(0, before.length)).toEqual(before);
    expect(after.slice(before.length).map(({ event_type: type }) => type)).toEqual(['audit.restored']);
    expect(await workersOf(server)).toEqual(['rig-1']);
  });

  test('erases no audit rows when the same backup is restored repeatedly', async () => {
    const server = await openServer();
    const backup = await makeBackup(server);
    const evidence: string[] = [];
    for (const name of ['act-1', 'act-2', 'act-3']) {
      evidence.push((await server.createWorker({ name })).id);
      valueOf(await restore(server, backup.name));
    }
    const created = (await rowsOf(server)).filter(({ event_type: type }) => type === 'worker.created');
    expect(created.map(({ target_id: id }) => id)).toEqual(evidence);
    expect(await verdictOf(server)).toMatchObject({ valid: true });
  });

  test('keeps the audit rows of the running database when a backup has a longer trail', async () => {
    const server = await openServer();
    const early = await makeBackup(server);
    await server.createWorker({ name: 'rig-1' });
    const { saved } = valueOf(await restore(server, early.name));
    const before = await rowsOf(server);
    valueOf(await restore(server, saved.name));
    expect((await rowsOf(server)).slice(0, before.length)).toEqual(before);
    expect(await workersOf(server)).toEqual(['rig-1']);
    expect(await verdictOf(server)).toMatchObject({ valid: true });
  });

  test('ends event streams at a restore, and sends a reset to readers that reconnect', async () => {
    const server = await openServer();
    const backup = await makeBackup(server);
    await server.createWorker({ name: 'rig-1' });
    const { seen: events } = server.watch;
    await server.watch.until('the worker', event => (event.kind === 'worker' ? event : null));
    const last = events.at(-1)?.seq ?? 0;
    const ended = server.watch.until('anything more', event => (event.seq > last ? event : null));
    await Promise.all([expect(ended).rejects.toThrow(/the stream ended/), restore(server, backup.name)]);
    const controller = new AbortController();
    onTestFinished(() => controller.abort());
    const response = await fetch(`${server.url}/api/events`, {
      headers: { authorization: `Bearer ${server.adminToken}`, 'last-event-id': String(last) },
      signal: controller.signal,
    });
    let text = '';
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk).toString();
      if (/data: .*\n\n/.test(text)) break;
    }
    expect(text).toMatch(/"kind":"reset"/);
    const newWatch = await watchEvents(server.url, server.adminToken);
    onTestFinished(() => newWatch.close());
    const { id } = await server.createWorker({ name: 'rig-2' });
    const event = await newWatch.until('the new worker', each =>
      each.kind === 'worker' && each.worker_id === id ? each : null,
    );
    expect(event.seq).toBeGreaterThan(last);
  });

  test('keeps its port during a restore, and answers 503 with the code restoring', async () => {
    const server = await openServer();
    await server.createWorker({ name: 'rig-1' });
    const backup = await makeBackup(server);
    const retryAfterByStatus = new Map<number, string | null>();
    let restoring = true;
    const tryCall = async (): Promise<void> => {
      while (restoring) {
        const response = await fetch(`${server.url}/api/admin/workers`, {
          headers: { authorization: `Bearer ${server.adminToken}` },
        });
        const { code } = (await response.json()) as { readonly code?: string };
        if (response.status === 503) expect(code).toBe('restoring');
        retryAfterByStatus.set(response.status, response.headers.get('retry-after'));
      }
    };
    const restoreResult = restore(server, backup.name).finally(() => {
      restoring = false;
    });
    await Promise.all([tryCall(), tryCall()]);
    expect(await restoreResult).toMatchObject({ ok: true });
    expect(new Set(retryAfterByStatus.keys())).toEqual(new Set([200, 503]));
    expect(retryAfterByStatus.get(503)).toMatch(/^\d+$/);
  });

  test('restores the tokens of the backup, and keeps the admin token', async () => {
    const server = await openServer();
    const keptToken = valueOf(
      await server.admin.call(tokensApi.create, { body: { name: 'kept', permissions: ['queue.view'] } }),
    );
    const { token: workerToken } = await server.createWorker({ name: 'rig-1' });
    const backup = await makeBackup(server);
    const requestingToken = valueOf(
      await server.admin.call(tokensApi.create, { body: { name: 'made', permissions: ['admin.tokens'] } }),
    );
    valueOf(await server.admin.call(tokensApi.revoke, { params: { id: keptToken.id } }));
    const { token: newerWorkerToken } = await server.createWorker({ name: 'rig-2' });
    // The restored database does not contain the token that requested the restore, but the request is answered.
    expect(
      await restore({ admin: adminClient(server.url, requestingToken.token) }, backup.name),
    ).toMatchObject({
      ok: true,
    });
    const failed = { ok: false, failure: { status: 401 } };
    expect(await adminClient(server.url, requestingToken.token).call(backupApi.list, {})).toMatchObject(
      failed,
    );
    const { tokens } = valueOf(await server.admin.call(tokensApi.list, {}));
    expect(tokens.map(({ name }) => name)).toEqual(['kept']);
    const statusWith = async (token: string): Promise<number> => {
      const { path, method } = workerApi.disconnect;
      const headers = { 'x-worker-token': token, 'content-type': 'application/json' };
      return (await fetch(server.url + path, { method, headers, body: '{}' })).status;
    };
    expect(await statusWith(workerToken)).not.toBe(401);
    expect(await statusWith(newerWorkerToken)).toBe(401);
  });

  test('keeps settings that were changed after the backup, when the backup is restored', async () => {
    const server = await openServer();
    const backup = await makeBackup(server);
    const change = { public_url: 'https://yard.example', audit_retention_days: 90 };
    valueOf(await server.admin.call(settingsApi.change, { body: change }));
    valueOf(await restore(server, backup.name));
    expect(valueOf(await server.admin.call(settingsApi.get, {}))).toMatchObject({
      public_url: 'https://yard.example',
      audit: { retention_days: 90 },
    });
  });
});

describe('refused restores', () => {
  // Expects that an action disconnects no client, creates no backup, and records no restore.
  async function expectUnchanged(server: TestServer, act: () => Promise<unknown>): Promise<void> {
    await server.createWorker({ name: 'rig-1' });
    const backups = await backupsOf(server);
    await act();
    expect(await backupsOf(server)).toEqual(backups);
    const { id } = await server.createWorker({ name: 'rig-2' });
    await server.watch.worker(id, 'connecting');
    expect((await workersOf(server)).toSorted()).toEqual(['rig-1', 'rig-2']);
    const { entries } = valueOf(await server.admin.call(auditApi.list, {}));
    expect(entries.map(({ event_type: type }) => type)).not.toContain('audit.restored');
    expect(existsSync(join(server.dataDir, 'trainyard.db.restoring'))).toBe(false);
  }

  test.each([
    'manual-000099-2026-01-01T12-00-00Z.db',
    '../trainyard.db',
    '../../etc/passwd',
    'unfinished',
    '..',
    'nul\0name',
  ])('refuses the unknown backup name %j', async name => {
    const server = await openServer();
    await expectUnchanged(server, async () => {
      const answer = await fetch(`${server.url}/api/backup/${encodeURIComponent(name)}/restore`, {
        method: 'POST',
        headers: { authorization: `Bearer ${server.adminToken}`, 'content-type': 'application/json' },
        body: JSON.stringify({ confirm: name }),
      });
      expect([400, 404, 405]).toContain(answer.status);
      expect(await answer.text()).not.toContain(server.dataDir);
    });
  });

  test.each([
    ['', 400],
    ['another', 400],
  ])('refuses a restore with the confirmation %j', async (confirm, status) => {
    const server = await openServer();
    const { name } = await makeBackup(server);
    await expectUnchanged(server, async () => {
      expect(await restore(server, name, confirm)).toMatchObject({ ok: false, failure: { status } });
    });
  });

  test.each<[string, (file: string) => void, RegExp]>([
    ['damaged', file => overwriteBytes(file, 4_096, Buffer.alloc(16_384, 0x5a)), /damaged/],
    ['not a database', file => overwriteBytes(file, 0, Buffer.alloc(100)), /not a database/],
    [
      'of a newer version',
      file => {
        const db = new Database(file);
        db.pragma('user_version = 999');
        db.close();
      },
      /newer version/,
    ],
  ])('refuses to restore a backup that is %s', async (_what, damage, message) => {
    const server = await openServer();
    const { name } = await makeBackup(server);
    damage(join(server.dataDir, 'backups', name));
    await expectUnchanged(server, async () => {
      expect(await restore(server, name)).toMatchObject({
        ok: false,
        failure: {
          status: 422,
          problem: { code: 'backup_unusable', detail: expect.stringMatching(message) },
        },
      });
    });
  });

  test('refuses a second restore while a restore is running', async () => {
    const server = await openServer();
    const { name } = await makeBackup(server);
    const answers = await Promise.all([restore(server, name), restore(server, name)]);
    const codes = answers.map(answer =>
      !answer.ok && answer.failure.kind === 'problem' ? answer.failure.problem.code : 'done',
    );
    expect(codes.toSorted()).toEqual(['done', 'restore_under_way']);
  });

  test('refuses a token without the permission to restore', async () => {
    const server = await openServer();
    const { name } = await makeBackup(server);
    const otherPermissions = ['queue.manage', 'admin.workers', 'admin.audit'] as const;
    const { token } = valueOf(
      await server.admin.call(tokensApi.create, {
        body: { name: 'most', permissions: [...otherPermissions] },
      }),
    );
    await expectUnchanged(server, async () => {
      expect(await restore({ admin: adminClient(server.url, token) }, name)).toMatchObject({
        ok: false,
        failure: { status: 403, problem: { code: 'permission_missing' } },
      });
    });
  });
});

test('serves the current database again when the backup before a restore fails', async () => {
  const server = await openServer();
  await server.createWorker({ name: 'rig-1' });
  const { name } = await makeBackup(server);
  await server.createWorker({ name: 'rig-2' });
  // A folder that has the name of the temporary file, and is not empty, makes the backup fail.
  const folder = join(server.dataDir, 'backups', 'unfinished');
  mkdirSync(folder);
  writeFileSync(join(folder, 'file'), '');
  const failure = await restore(server, name);
  rmSync(folder, { recursive: true });
  expect(failure).toMatchObject({ ok: false, failure: { status: 507, problem: { code: 'storage' } } });
  expect(JSON.stringify(failure)).toContain('backups/ must be writable');
  expect(JSON.stringify(failure)).not.toContain(server.dataDir);
  const id =
    !failure.ok && failure.failure.kind === 'problem' ? failure.failure.problem.request_id : undefined;
  const [line = ''] = server.log.filter(each => each.includes('restore.failed'));
  expect(line).toContain(folder);
  expect(line).toContain(`"${String(id)}"`);
  expect((await workersOf(server)).toSorted()).toEqual(['rig-1', 'rig-2']);
  expect(valueOf(await server.admin.call(systemApi.ready, {}))).toEqual({ status: 'ready' });
  expect(await verdictOf(server)).toMatchObject({ valid: true });
  expect(await restore(server, name)).toMatchObject({ ok: true });
});
