import { expect, onTestFinished, test } from 'vitest';
import { settingsApi } from '../../../protocol/settings-api.ts';
import { usageApi } from '../../../protocol/usage-api.ts';
import { temporaryFolder } from '../../support/processes.ts';
import { startTestServer, type TestServer, valueOf } from '../../support/server.ts';

const readElectricity = async ({ admin }: TestServer) =>
  valueOf(await admin.call(settingsApi.get, {})).electricity;
const currency = async ({ admin }: TestServer) => valueOf(await admin.call(usageApi.days, {})).currency;

test('keeps the price of electricity across a restart, and shows its currency with the usage', async () => {
  const dataDir = temporaryFolder();
  const first = await startTestServer({ dataDir });
  expect(await readElectricity(first)).toEqual({ price_per_kwh: null, currency: null });
  const change = (electricity: object) => first.admin.call(settingsApi.change, { body: { electricity } });
  valueOf(await change({ price_per_kwh: 0.32 }));
  valueOf(await change({ currency: ' EUR ' }));
  expect(await currency(first)).toBe('EUR');
  await first.close();
  const server = await startTestServer({ dataDir });
  onTestFinished(() => server.close());
  expect(await readElectricity(server)).toEqual({ price_per_kwh: 0.32, currency: 'EUR' });
  expect(await currency(server)).toBe('EUR');
});

test.each([
  { price_per_kwh: -1 },
  { price_per_kwh: '0.3' },
  { price_per_kwh: 1e7 },
  { currency: '' },
  { currency: 'E\nR' },
  { currency: 'a very long currency' },
  { price: 1 },
  null,
])('refuses the electricity settings %j', async electricity => {
  const server = await startTestServer();
  onTestFinished(() => server.close());
  const response = await fetch(server.url + settingsApi.change.path, {
    method: 'PATCH',
    headers: { authorization: `Bearer ${server.adminToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({ electricity }),
  });
  expect(response.status).toBe(400);
});

test.each(['0', '31', '1.5', 'all', ''])('refuses to list the usage of "%s" days', async days => {
  const server = await startTestServer();
  onTestFinished(() => server.close());
  const response = await fetch(`${server.url}${usageApi.days.path}?days=${days}`, {
    headers: { authorization: `Bearer ${server.adminToken}` },
  });
  expect(response.status).toBe(400);
});
