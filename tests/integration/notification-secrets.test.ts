import { expect, onTestFinished, test } from 'vitest';
import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';
import { auditApi } from '../../protocol/admin-api.ts';
import { notificationsApi } from '../../protocol/notifications-api.ts';
import type { ChannelTarget } from '../../protocol/notification.ts';
import { pushApi } from '../../protocol/push-api.ts';
import { runTrainyard } from '../support/cli.ts';
import { everyCall } from '../support/every-call.ts';
import { createPushBrowser } from '../support/push-browser.ts';
import { openMailServer, openReceiver } from '../support/receiver.ts';
import { startTestServer, valueOf } from '../support/server.ts';

/** A part of each secret that the test creates, so one search finds every secret. */
const canary = 'canary4f1c';

test('shows no secret of a channel in any reply, event, log line, report or audit row', async () => {
  const server = await startTestServer({ config: { notifyAllow: ['127.0.0.1', 'localhost'] } });
  const receiver = await openReceiver(count => (count % 2 === 0 ? 500 : 403));
  const mail = await openMailServer('another password');
  onTestFinished(async () => {
    receiver.close();
    mail.close();
    await server.close();
  });
  const { admin } = server;
  const url = `${receiver.url}/${canary}`;
  const sender = { host: '127.0.0.1', port: mail.port, security: 'none', from: 'a@a.example' } as const;
  const targets: readonly ChannelTarget[] = [
    { kind: 'webhook', url, signing_secret: `${canary}-signing-secret` },
    { kind: 'discord', url },
    { kind: 'slack', url },
    { kind: 'ntfy', url, topic: canary, token: canary },
    { kind: 'email', ...sender, username: canary, password: canary, to: ['b@a.example'] },
  ];
  const replies: unknown[] = [];
  const channels = [];
  for (const target of targets) {
    const body = { name: target.kind, target };
    const { channel_id } = valueOf(await admin.call(notificationsApi.createChannel, { body }));
    channels.push(channel_id);
    replies.push(await admin.call(notificationsApi.createChannel, { body }));
    replies.push(
      await admin.call(notificationsApi.updateChannel, { params: { id: channel_id }, body: { target } }),
    );
    const rule = { channel_id, events: ['job_failed', 'approval_needed'] as const };
    replies.push(
      await admin.call(notificationsApi.createRule, { body: { ...rule, events: [...rule.events] } }),
    );
    replies.push(await admin.call(notificationsApi.testChannel, { params: { id: channel_id } }));
  }
  const browser = await createPushBrowser();
  const subscription = {
    endpoint: url,
    keys: browser.keys,
    name: 'Firefox',
    events: ['approval_needed' as const],
    only_own: false,
  };
  const subscribed = await admin.call(pushApi.subscribe, { body: subscription });
  const params = { id: valueOf(subscribed).subscription_id };
  replies.push(subscribed, await admin.call(pushApi.test, { params }));
  // Refused targets, because a refusal must not repeat the secret.
  for (const refusedTarget of [
    { kind: 'discord', url: `https://10.0.0.1/${canary}` },
    { kind: 'slack', url: `ftp://a/${canary}` },
  ])
    replies.push(
      await admin.call(notificationsApi.createChannel, {
        body: { name: 'bad', target: refusedTarget as ChannelTarget },
      }),
    );
  await server.submit({ config: { trainer: 'selftest', seconds: 0.1 }, requires_approval: true });
  await receiver.until(received => received.filter(({ body }) => body.includes('approval')).length >= 4);

  // All calls that read without a parameter, such as lists, settings, diagnostics and metrics.
  const readCalls = everyCall.filter(
    ({ method, path, stream, authority }) =>
      method === 'GET' &&
      !path.includes(':') &&
      !path.includes('*') &&
      stream === undefined &&
      authority !== 'worker',
  );
  expect(readCalls.length).toBeGreaterThan(20);
  for (const row of readCalls) replies.push(await admin.call(row));
  replies.push(await admin.call(auditApi.list, { query: { event_type: 'notification.*' } }));
  for (const args of [
    ['notifications', 'channels'],
    ['notifications', 'rules'],
    ['notifications', 'log'],
    ['doctor'],
    ['audit', 'list'],
  ])
    replies.push(await runTrainyard([...args, '--json', '--data-dir', server.dataDir]));
  const removed = await admin.call(notificationsApi.removeChannel, { params: { id: channels[0]! } });
  replies.push(removed, server.log);

  const db = new DatabaseSync(join(server.dataDir, 'trainyard.db'), { readOnly: true });
  onTestFinished(() => db.close());
  for (const table of ['events', 'audit']) replies.push(db.prepare(`SELECT * FROM ${table}`).all());
  const { fact } = db.prepare('SELECT fact FROM push_keys').get() as { fact: string };
  const { privateKey } = JSON.parse(fact) as { privateKey: string };
  const text = JSON.stringify(replies);
  // Proves that the searched texts report on the channels.
  expect(text).toContain('notification.channel_created');
  expect(text).toContain('not_delivered');
  for (const secret of [canary, privateKey, browser.keys.auth, browser.keys.p256dh])
    expect(text).not.toContain(secret);
}, 60_000);
