import { expect, onTestFinished, test } from 'vitest';
import { auditApi } from '../../../protocol/admin-api.ts';
import { settingsApi } from '../../../protocol/settings-api.ts';
import { temporaryFolder } from '../../support/processes.ts';
import { startTestServer, type TestServer, valueOf } from '../../support/server.ts';

const allEnabled = { missing: true, errors: true, held: true } as const;

const readPolicy = async ({ admin }: TestServer) =>
  valueOf(await admin.call(settingsApi.get, {})).gpu_troubles;

test('keeps the GPU trouble policy across a restart, and audits its change', async () => {
  const dataDir = temporaryFolder();
  const first = await startTestServer({ dataDir });
  expect(await readPolicy(first)).toEqual(allEnabled);
  valueOf(await first.admin.call(settingsApi.change, { body: { gpu_troubles: { held: false } } }));
  await first.close();
  const server = await startTestServer({ dataDir });
  onTestFinished(() => server.close());
  expect(await readPolicy(server)).toEqual({ ...allEnabled, held: false });
  const { entries } = valueOf(
    await server.admin.call(auditApi.list, { query: { event_type: 'settings.gpu_troubles_changed' } }),
  );
  expect(entries.map(({ details, actor_id: by }) => ({ details, by }))).toEqual([
    { details: { ...allEnabled, held: false, was: allEnabled }, by: 'admin' },
  ]);
});

test.each([{ held: 'no' }, { hot: true }, ['held'], null, true])(
  'refuses the GPU trouble policy %j',
  async policy => {
    const server = await startTestServer();
    onTestFinished(() => server.close());
    const response = await fetch(server.url + settingsApi.change.path, {
      method: 'PATCH',
      headers: { authorization: `Bearer ${server.adminToken}`, 'content-type': 'application/json' },
      body: JSON.stringify({ gpu_troubles: policy }),
    });
    expect(response.status).toBe(400);
    expect(await readPolicy(server)).toEqual(allEnabled);
  },
);
