import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { auditApi } from '../../../protocol/admin-api.ts';
import { settingsApi } from '../../../protocol/settings-api.ts';
import { temporaryFolder } from '../../support/processes.ts';
import { startTestServer, type TestServer, type TestServerOptions, valueOf } from '../../support/server.ts';

async function openServer(options?: TestServerOptions): Promise<TestServer> {
  const server = await startTestServer(options);
  onTestFinished(() => server.close());
  return server;
}

const setRetention = ({ admin }: TestServer, days: number | null) =>
  admin.call(settingsApi.change, { body: { audit_retention_days: days } });
const readRetention = async ({ admin }: TestServer) => valueOf(await admin.call(settingsApi.get, {})).audit;

test('keeps the audit retention across a restart, and audits its change', async () => {
  const dataDir = temporaryFolder();
  const first = await startTestServer({ dataDir });
  expect(valueOf(await setRetention(first, 90)).audit).toEqual({ retention_days: 90, fixed_by: null });
  await first.close();
  const server = await openServer({ dataDir });
  expect(await readRetention(server)).toEqual({ retention_days: 90, fixed_by: null });
  valueOf(await setRetention(server, null));
  const { entries } = valueOf(
    await server.admin.call(auditApi.list, { query: { event_type: 'settings.audit_retention_changed' } }),
  );
  expect(entries.map(({ details, actor_id: actor }) => ({ details, by: actor }))).toEqual([
    { details: { days: null, was: 90 }, by: 'admin' },
    { details: { days: 90, was: null }, by: 'admin' },
  ]);
});

test.each([0, -1, 1.5, 36_501, '30', true])('refuses %j as audit retention', async days => {
  const server = await openServer();
  const response = await fetch(server.url + settingsApi.change.path, {
    method: 'PATCH',
    headers: { authorization: `Bearer ${server.adminToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({ audit_retention_days: days }),
  });
  expect(response.status).toBe(400);
  expect(await readRetention(server)).toEqual({ retention_days: null, fixed_by: null });
});

test('prefers a flag to the saved audit retention until the flag is gone', async () => {
  const dataDir = temporaryFolder();
  const first = await startTestServer({ dataDir });
  valueOf(await setRetention(first, 90));
  await first.close();
  const flag = '--audit-retention-days';
  const serverWithFlag = await startTestServer({
    dataDir,
    config: { auditRetentionDays: 30, fixedBy: { 'audit-retention-days': flag } },
  });
  expect(await readRetention(serverWithFlag)).toEqual({ retention_days: 30, fixed_by: flag });
  expect(await setRetention(serverWithFlag, 60)).toMatchObject({
    ok: false,
    failure: { status: 409, problem: { code: 'setting_fixed', detail: expect.stringContaining(flag) } },
  });
  valueOf(
    await serverWithFlag.admin.call(settingsApi.change, { body: { public_url: 'https://yard.example' } }),
  );
  await serverWithFlag.close();
  expect(await readRetention(await openServer({ dataDir }))).toEqual({ retention_days: 90, fixed_by: null });
});

test('keeps all audit rows when an older settings file has no audit retention', async () => {
  const dataDir = temporaryFolder();
  const worker = { enabled: false, gpus: null, trainer: null, work_dir: null };
  const oldSettings = { host: '127.0.0.1', public_url: null, local_worker: worker };
  writeFileSync(join(dataDir, 'settings.json'), JSON.stringify(oldSettings), { mode: 0o600 });
  expect(await readRetention(await openServer({ dataDir }))).toEqual({
    retention_days: null,
    fixed_by: null,
  });
});
