import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { auditApi } from '../../protocol/admin-api.ts';
import type { Permission } from '../../protocol/call.ts';
import type { Client } from '../../protocol/client.ts';
import { notificationsApi } from '../../protocol/notifications-api.ts';
import { pushApi } from '../../protocol/push-api.ts';
import { tokensApi } from '../../protocol/tokens-api.ts';
import { startServer, startWorker } from '../support/processes.ts';
import { createPushBrowser, readVapid } from '../support/push-browser.ts';
import { openReceiver } from '../support/receiver.ts';
import { adminClient, createShortcuts, startTestServer, valueOf } from '../support/server.ts';

/** Opens a push service. `statusOf` returns the status for the n-th push message, or null for no response. */
async function openService(statusOf: (count: number) => number | null = () => 201) {
  const service = await openReceiver(statusOf);
  onTestFinished(() => service.close());
  return service;
}

async function openServer() {
  const server = await startTestServer({ config: { notifyAllow: ['127.0.0.1'] } });
  onTestFinished(() => server.close());
  const createClientFor = async (name: string, permissions: readonly Permission[]) => {
    const createdToken = valueOf(
      await server.admin.call(tokensApi.create, { body: { name, permissions: [...permissions] } }),
    );
    return { id: createdToken.id, client: adminClient(server.url, createdToken.token) };
  };
  return { server, admin: server.admin, createClientFor };
}

type CallOptions = Parameters<Client['call']>[1];

async function subscribe(client: Client, endpoint: string, more: object = {}) {
  const browser = await createPushBrowser();
  const body = {
    endpoint,
    keys: browser.keys,
    name: 'Chrome on Android',
    events: ['job_completed'],
    ...more,
  };
  const input = { body } as CallOptions as Parameters<typeof client.call<typeof pushApi.subscribe>>[1];
  return { browser, answer: await client.call(pushApi.subscribe, input) };
}

const channelsOf = async (admin: Client) => valueOf(await admin.call(notificationsApi.listChannels)).channels;

test("notifies the browser about a user's own jobs with the chosen tag, encrypted and signed", async () => {
  const { server, createClientFor } = await openServer();
  const service = await openService();
  const { client } = await createClientFor('ana', ['queue.view.own', 'queue.submit.own']);
  const { public_key: serverKey, events } = valueOf(await client.call(pushApi.get));
  expect(events).not.toContain('worker_lost');
  // A token with queue.view.own gets only its own jobs, even with `only_own: false`.
  const { browser, answer } = await subscribe(client, `${service.url}/send/1`, {
    only_own: false,
    tag: 'faces',
  });
  expect(valueOf(answer)).toMatchObject({ name: 'Chrome on Android', only_own: true, tag: 'faces' });
  const worker = await server.createWorker({ name: 'rig-1' });
  startWorker({ url: server.url, token: worker.token, args: ['--name', 'rig-1', '--persistent'] });
  const config = { trainer: 'selftest', seconds: 0.1 };
  await server.submit({ config, tags: ['faces'] });
  const ana = createShortcuts(client);
  await ana.submit({ config });
  const job = await ana.submit({ config, tags: ['faces'], name: 'größe' });
  const [request] = await service.until(received => received.length === 1);
  if (request === undefined) throw new Error('the push service received no request');
  expect(await browser.read(request.body)).toEqual({
    id: expect.stringMatching(/^d_/),
    event: 'job_completed',
    title: 'größe completed',
    text: "ana's job completed on rig-1.",
    page: `/jobs/${job}`,
  });
  expect(request).toMatchObject({ method: 'POST', path: '/send/1' });
  expect(request.headers).toMatchObject({ 'content-encoding': 'aes128gcm', ttl: '86400', urgency: 'normal' });
  expect(await readVapid(String(request.headers.authorization), serverKey)).toMatchObject({
    aud: service.url,
    sub: expect.stringMatching(/^mailto:/),
  });
  expect(service.received).toHaveLength(1);
}, 40_000);

test.each([404, 410])(
  'removes a push subscription when the push service answers %d',
  async status => {
    const { admin, server } = await openServer();
    const service = await openService(count => (count === 1 ? 201 : status));
    const { answer } = await subscribe(admin, service.url, { only_own: false });
    const params = { id: valueOf(answer).subscription_id };
    expect(valueOf(await admin.call(pushApi.test, { params }))).toEqual({ ok: true, detail: 'HTTP 201' });
    const worker = await server.createWorker({ name: 'rig-1' });
    startWorker({ url: server.url, token: worker.token, args: ['--name', 'rig-1'] });
    await server.submit({ config: { trainer: 'selftest', seconds: 0.1 } });
    await service.until(received => received.length === 2);
    while ((await channelsOf(admin)).length > 0);
    expect(valueOf(await admin.call(pushApi.get)).subscriptions).toEqual([]);
    expect(valueOf(await admin.call(notificationsApi.listRules)).rules).toEqual([]);
    const { entries } = valueOf(
      await admin.call(auditApi.list, { query: { event_type: 'notification.channel_deleted' } }),
    );
    expect(entries).toHaveLength(1);
  },
  40_000,
);

test('delivers a push message after kill -9 with the same keys and the same id', async () => {
  const service = await openService(count => (count === 1 ? null : 201));
  const allow = ['--notify-allow', '127.0.0.1'];
  const first = await startServer(allow);
  onTestFinished(() => first.kill('SIGKILL'));
  const clientOf = (url: string) =>
    adminClient(url, readFileSync(join(first.dataDir, 'admin-token'), 'utf8').trim());
  const admin = clientOf(first.url);
  const { browser } = await subscribe(admin, service.url, { only_own: false });
  const { public_key: serverKey } = valueOf(await admin.call(pushApi.get));
  const { createWorker, submit } = createShortcuts(admin);
  const worker = await createWorker({ name: 'rig-1' });
  startWorker({ url: first.url, token: worker.token, args: ['--name', 'rig-1'] });
  await submit({ config: { trainer: 'selftest', seconds: 0.1 } });
  await service.until(received => received.length === 1);
  first.kill('SIGKILL');
  await first.exited;

  const second = await startServer(allow, first.dataDir);
  onTestFinished(() => second.kill('SIGKILL'));
  const requests = await service.until(received => received.length === 2);
  const messages = await Promise.all(requests.map(({ body }) => browser.read(body)));
  expect(messages[1]).toEqual(messages[0]);
  await readVapid(String(requests[1]?.headers.authorization), serverKey);
}, 40_000);

test('removes the push subscriptions of a revoked token', async () => {
  const { admin, createClientFor } = await openServer();
  const service = await openService();
  const { id, client } = await createClientFor('ana', ['queue.view']);
  valueOf((await subscribe(client, `${service.url}/1`)).answer);
  valueOf((await subscribe(client, `${service.url}/2`)).answer);
  expect((await channelsOf(admin)).map(({ name, kind, host }) => [name, kind, host])).toEqual([
    ['ana: Chrome on Android', 'webpush', new URL(service.url).host],
    ['ana: Chrome on Android 2', 'webpush', new URL(service.url).host],
  ]);
  valueOf(await admin.call(tokensApi.revoke, { params: { id } }));
  expect(await channelsOf(admin)).toEqual([]);
});

test('updates the subscription of the same browser, and assigns the subscription to its newest user', async () => {
  const { admin, createClientFor } = await openServer();
  const { url } = await openService();
  const { client } = await createClientFor('ana', ['queue.view']);
  const createdToken = valueOf((await subscribe(client, url)).answer);
  const changed = valueOf((await subscribe(client, url, { events: ['job_failed'], tag: 'v2' })).answer);
  expect(changed).toEqual({ ...createdToken, events: ['job_failed'], tag: 'v2' });
  valueOf((await subscribe(admin, url)).answer);
  expect(valueOf(await client.call(pushApi.get)).subscriptions).toEqual([]);
  expect((await channelsOf(admin)).map(({ name }) => name)).toEqual(['admin: Chrome on Android']);
});

test("does not show, test or delete another user's browser", async () => {
  const { admin, createClientFor } = await openServer();
  const { url } = await openService();
  const { client } = await createClientFor('ana', ['queue.view']);
  const params = { id: valueOf((await subscribe(admin, url)).answer).subscription_id };
  expect(valueOf(await client.call(pushApi.get)).subscriptions).toEqual([]);
  for (const call of [pushApi.test, pushApi.unsubscribe])
    expect(await client.call(call, { params })).toMatchObject({
      failure: { problem: { code: 'channel_not_found' } },
    });
  valueOf(await admin.call(pushApi.unsubscribe, { params }));
  expect(await channelsOf(admin)).toEqual([]);
});

test.each([
  ["an event that the user's permissions hide", { events: ['pool_budget'] }, 'permission_missing'],
  ['a private endpoint', { endpoint: 'https://10.0.0.1/x' }, 'invalid_request'],
  ['an endpoint without TLS', { endpoint: 'http://push.example/x' }, 'invalid_request'],
  [
    'a key that is no point of the curve',
    { keys: { p256dh: `B${'A'.repeat(86)}`, auth: 'A'.repeat(22) } },
    'invalid_request',
  ],
  ['a secret of the wrong length', { keys: { p256dh: `B${'A'.repeat(86)}`, auth: 'A' } }, 'invalid_request'],
])('refuses a push subscription with %s', async (_what, more, code) => {
  const { createClientFor } = await openServer();
  const { url } = await openService();
  const { client } = await createClientFor('ana', ['queue.view.own']);
  expect((await subscribe(client, url, more)).answer).toMatchObject({
    ok: false,
    failure: { problem: { code } },
  });
});

test('refuses an eleventh browser of one user', async () => {
  const { admin } = await openServer();
  const { url } = await openService();
  for (let count = 0; count < 10; count += 1) valueOf((await subscribe(admin, `${url}/${count}`)).answer);
  expect((await subscribe(admin, `${url}/11`)).answer).toMatchObject({
    ok: false,
    failure: { problem: { code: 'invalid_request', detail: expect.stringContaining('10 browsers') } },
  });
});
