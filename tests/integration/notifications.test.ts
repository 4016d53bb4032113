import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { auditApi } from '../../protocol/admin-api.ts';
import type { Call } from '../../protocol/call.ts';
import type { CallInput, Client } from '../../protocol/client.ts';
import { notificationsApi } from '../../protocol/notifications-api.ts';
import { queueApi } from '../../protocol/queue-api.ts';
import { tokensApi } from '../../protocol/tokens-api.ts';
import { startServer, startWorker } from '../support/processes.ts';
import { openMailServer, openReceiver, type Received } from '../support/receiver.ts';
import { adminClient, createShortcuts, startTestServer, valueOf } from '../support/server.ts';

type BodyOfCall<C extends Call> = NonNullable<CallInput<C>['body']>;
type Target = BodyOfCall<typeof notificationsApi.createChannel>['target'];
type Events = BodyOfCall<typeof notificationsApi.createRule>['events'];

const signingSecret = 'a secret of the tests, long enough';

async function addChannel(admin: Client, target: Target, events: Events) {
  const channel = valueOf(
    await admin.call(notificationsApi.createChannel, { body: { name: 'team', target } }),
  );
  const body = { channel_id: channel.channel_id, events };
  valueOf(await admin.call(notificationsApi.createRule, { body }));
  return channel;
}

const deliveriesOf = async (admin: Client) =>
  valueOf(await admin.call(notificationsApi.listDeliveries)).deliveries;

/** Waits until no delivery is pending. A receiver gets the request before the server stores the result. */
async function waitForDeliveries(admin: Client) {
  for (;;) {
    const deliveries = await deliveriesOf(admin);
    if (deliveries.every(({ state }) => state !== 'pending')) return deliveries;
  }
}

async function openServer() {
  const server = await startTestServer({ config: { notifyAllow: ['127.0.0.1'] } });
  onTestFinished(() => server.close());
  return server;
}

const bodyOf = ({ body }: Received) =>
  JSON.parse(body.toString()) as { id: string; event: string; job: { id: string } };

function isSigned({ headers, body }: Received): boolean {
  const timestamp = String(headers['x-trainyard-timestamp']);
  const hmac = createHmac('sha256', signingSecret).update(`${timestamp}.${body.toString()}`).digest('hex');
  return (
    headers['x-trainyard-signature'] === `sha256=${hmac}` &&
    Math.abs(Number(timestamp) - Date.now() / 1_000) < 60
  );
}

const isAccepted = ({ status }: Received): boolean => status === 204;

test('retries failed deliveries, and keeps the order of each job and valid signatures', async () => {
  const server = await openServer();
  const { admin } = server;
  const receiver = await openReceiver(count => (count <= 2 ? 503 : 204));
  onTestFinished(() => receiver.close());
  await addChannel(admin, { kind: 'webhook', url: receiver.url, signing_secret: signingSecret }, [
    'approval_needed',
    'job_completed',
  ]);
  valueOf(await admin.call(queueApi.limit, { body: { approval_required_for: ['ana'] } }));
  const { token } = valueOf(
    await admin.call(tokensApi.create, {
      body: { name: 'ana', permissions: ['queue.submit.own', 'queue.view.own'] },
    }),
  );
  const worker = await server.createWorker({ name: 'rig-1' });
  startWorker({ url: server.url, token: worker.token, args: ['--name', 'rig-1', '--persistent'] });
  const ana = createShortcuts(adminClient(server.url, token));
  const first = await ana.submit({ config: { trainer: 'selftest', seconds: 0.1 } });
  const second = await ana.submit({ config: { trainer: 'selftest', seconds: 0.1 } });
  for (const id of [first, second]) valueOf(await admin.call(queueApi.approve, { params: { id } }));

  const requests = await receiver.until(received => received.filter(isAccepted).length === 4);
  expect(requests.every(isSigned)).toBe(true);
  const accepted = requests.filter(isAccepted).map(bodyOf);
  expect(new Set(accepted.map(({ id }) => id)).size).toBe(4);
  for (const job of [first, second])
    expect(accepted.filter(body => body.job.id === job).map(({ event }) => event)).toEqual([
      'approval_needed',
      'job_completed',
    ]);
  const ids = new Set(accepted.map(({ id }) => id));
  expect(requests.every(request => ids.has(bodyOf(request).id))).toBe(true);
  const deliveries = await waitForDeliveries(admin);
  expect(deliveries).toHaveLength(4);
  expect(deliveries.map(({ state, result }) => [state, result])).toEqual(
    Array.from({ length: 4 }, () => ['delivered', 'HTTP 204']),
  );
  expect(deliveries.reduce((tries, delivery) => tries + delivery.tries, 0)).toBe(6);
}, 40_000);

test('signs in to the mail server, and reports a wrong password without showing it', async () => {
  const server = await openServer();
  const { admin } = server;
  const mail = await openMailServer('right password');
  onTestFinished(() => mail.close());
  const target = {
    kind: 'email',
    host: '127.0.0.1',
    port: mail.port,
    security: 'none',
    username: 'trainyard',
    password: 'wrong password',
    from: 'trainyard@a.example',
    to: ['ana@a.example'],
  } satisfies Target;
  const { channel_id: id } = await addChannel(admin, target, ['job_completed']);
  const refused = valueOf(await admin.call(notificationsApi.testChannel, { params: { id } }));
  expect(refused).toMatchObject({ ok: false, detail: expect.stringContaining('535') });
  valueOf(
    await admin.call(notificationsApi.updateChannel, {
      params: { id },
      body: { target: { ...target, password: 'right password' } },
    }),
  );
  expect(valueOf(await admin.call(notificationsApi.testChannel, { params: { id } }))).toMatchObject({
    ok: true,
  });
  const worker = await server.createWorker({ name: 'rig-1' });
  startWorker({ url: server.url, token: worker.token, args: ['--name', 'rig-1'] });
  const job = await server.submit({
    config: { trainer: 'selftest', seconds: 0.1, fail: true },
    max_retries: 0,
  });
  const [, text = ''] = await mail.until(mails => mails.length === 2);
  expect(text).toMatch(/^From: Trainyard <trainyard@a\.example>$/m);
  expect(text).toMatch(/^Message-ID: <d_\w+@trainyard>$/m);
  expect(text.replaceAll('=\r\n', '')).toContain(`/jobs/${job}`);
  const audit = JSON.stringify(
    valueOf(await admin.call(auditApi.list, { query: { event_type: 'notification.*' } })),
  );
  expect(audit).toContain('notification.channel_created');
  for (const output of [audit, server.log.join('\n'), JSON.stringify(await deliveriesOf(admin))])
    expect(output).not.toMatch(/(?:right|wrong) password/);
}, 40_000);

test('delivers pending notifications after kill -9, with the same ids', async () => {
  const receiver = await openReceiver(count => (count === 1 ? null : 204));
  onTestFinished(() => receiver.close());
  const allow = ['--notify-allow', '127.0.0.1'];
  const first = await startServer(allow);
  onTestFinished(() => first.kill('SIGKILL'));
  const clientOf = (url: string) =>
    adminClient(url, readFileSync(join(first.dataDir, 'admin-token'), 'utf8').trim());
  const admin = clientOf(first.url);
  await addChannel(admin, { kind: 'webhook', url: receiver.url, signing_secret: signingSecret }, [
    'job_completed',
  ]);
  const { createWorker, submit } = createShortcuts(admin);
  const worker = await createWorker({ name: 'rig-1' });
  startWorker({ url: first.url, token: worker.token, args: ['--name', 'rig-1'] });
  const job = await submit({ config: { trainer: 'selftest', seconds: 0.1 } });
  // The receiver has got the request, but sends no response. The server therefore does not know about the delivery.
  await receiver.until(received => received.length === 1);
  first.kill('SIGKILL');
  await first.exited;

  const second = await startServer(allow, first.dataDir);
  onTestFinished(() => second.kill('SIGKILL'));
  const [unansweredBody, repeatedBody] = (await receiver.until(received => received.length === 2)).map(
    bodyOf,
  );
  // The new process listens on another port, so the link in the notification differs. Compare only the other fields.
  expect(repeatedBody).toMatchObject({
    id: unansweredBody?.id,
    event: 'job_completed',
    job: unansweredBody?.job,
  });
  expect(repeatedBody?.job.id).toBe(job);
  expect(await waitForDeliveries(clientOf(second.url))).toMatchObject([
    { state: 'delivered', job_id: job, tries: 1 },
  ]);
  expect(receiver.received).toHaveLength(2);
}, 40_000);

test.each([
  [302, 'redirects are not followed'],
  [404, 'HTTP 404'],
])(
  'reports a test message as failed when the receiver answers %d, and follows no redirect',
  async (status, result) => {
    const { admin } = await openServer();
    const receiver = await openReceiver(() => status, { location: 'http://169.254.169.254/' });
    onTestFinished(() => receiver.close());
    const { channel_id: id } = await addChannel(admin, { kind: 'discord', url: receiver.url }, [
      'job_completed',
    ]);
    expect(valueOf(await admin.call(notificationsApi.testChannel, { params: { id } }))).toEqual({
      ok: false,
      detail: expect.stringContaining(result),
    });
    expect(receiver.received).toHaveLength(1);
  },
);
