import { expect, onTestFinished, test } from 'vitest';
import { auditApi } from '../../../protocol/admin-api.ts';
import { ChannelId, RuleId } from '../../../protocol/ids.ts';
import { notificationsApi } from '../../../protocol/notifications-api.ts';
import { startTestServer, valueOf } from '../../support/server.ts';

const target = { kind: 'discord', url: 'http://receiver.invalid/secret-path?token=secret' } as const;
const noChannel = ChannelId.parse('c_none');

async function openServer() {
  const server = await startTestServer({ config: { notifyAllow: ['receiver.invalid'] } });
  onTestFinished(() => server.close());
  const { admin } = server;
  const create = (name: string) => admin.call(notificationsApi.createChannel, { body: { name, target } });
  return { server, admin, create };
}

test('creates, renames and deletes a channel, and shows only the host of its target', async () => {
  const { server, admin, create } = await openServer();
  const createdChannel = valueOf(await create('team'));
  expect(createdChannel).toMatchObject({
    name: 'team',
    kind: 'discord',
    host: 'receiver.invalid',
    recipients: [],
    pending: 0,
  });
  const params = { id: createdChannel.channel_id };
  expect(
    valueOf(await admin.call(notificationsApi.updateChannel, { params, body: { name: 'crew' } })).name,
  ).toBe('crew');
  const channelList = valueOf(await admin.call(notificationsApi.listChannels));
  expect(channelList.channels.map(({ name }) => name)).toEqual(['crew']);
  const audit = valueOf(await admin.call(auditApi.list, { query: { event_type: 'notification.*' } }));
  expect(audit.entries.map(({ event_type: type }) => type)).toEqual([
    'notification.channel_changed',
    'notification.channel_created',
  ]);
  expect(JSON.stringify([createdChannel, channelList, audit, server.log])).not.toContain('secret-path');
  valueOf(await admin.call(notificationsApi.removeChannel, { params }));
  expect(valueOf(await admin.call(notificationsApi.listChannels)).channels).toEqual([]);
});

test('refuses a second channel with the same name', async () => {
  const { create } = await openServer();
  valueOf(await create('team'));
  expect(await create('team')).toMatchObject({ ok: false, failure: { problem: { code: 'name_taken' } } });
});

test.each([
  'http://receiver.example/',
  'https://127.0.0.1/',
  'https://[::ffff:127.0.0.1]/',
  'https://169.254.169.254/latest/meta-data/',
])('refuses the target %s, and names the setting that allows it', async url => {
  const { admin } = await openServer();
  const body = { name: 'team', target: { kind: 'discord', url } } as const;
  expect(await admin.call(notificationsApi.createChannel, { body })).toMatchObject({
    ok: false,
    failure: { problem: { code: 'invalid_request', detail: expect.stringContaining('--notify-allow') } },
  });
});

test('creates, replaces and deletes a rule, and deletes the rules of a deleted channel', async () => {
  const { admin, create } = await openServer();
  const { channel_id } = valueOf(await create('team'));
  const body = { channel_id, events: ['job_failed' as const] };
  const rule = valueOf(await admin.call(notificationsApi.createRule, { body }));
  expect(rule).toMatchObject({
    channel_name: 'team',
    events: ['job_failed'],
    stalled_minutes: 30,
    enabled: true,
  });
  const params = { id: rule.rule_id };
  const changed = { ...body, user: 'ana', enabled: false };
  expect(valueOf(await admin.call(notificationsApi.updateRule, { params, body: changed }))).toMatchObject(
    changed,
  );
  const second = valueOf(await admin.call(notificationsApi.createRule, { body }));
  valueOf(await admin.call(notificationsApi.removeRule, { params }));
  const { rules } = valueOf(await admin.call(notificationsApi.listRules));
  expect(rules.map(({ rule_id: id }) => id)).toEqual([second.rule_id]);
  valueOf(await admin.call(notificationsApi.removeChannel, { params: { id: channel_id } }));
  expect(valueOf(await admin.call(notificationsApi.listRules)).rules).toEqual([]);
});

test('returns 404 for channels and rules that do not exist', async () => {
  const { admin } = await openServer();
  const params = { id: noChannel };
  const rule = { id: RuleId.parse('r_none') };
  const body = { channel_id: noChannel, events: ['job_failed' as const] };
  const answers = [
    await admin.call(notificationsApi.updateChannel, { params, body: { name: 'x' } }),
    await admin.call(notificationsApi.removeChannel, { params }),
    await admin.call(notificationsApi.testChannel, { params }),
    await admin.call(notificationsApi.createRule, { body }),
    await admin.call(notificationsApi.updateRule, { params: rule, body }),
    await admin.call(notificationsApi.removeRule, { params: rule }),
  ];
  for (const answer of answers)
    expect(answer).toMatchObject({ ok: false, failure: { problem: { status: 404 } } });
});

test('returns the reason when a test notification cannot be sent', async () => {
  const { admin, create } = await openServer();
  const { channel_id: id } = valueOf(await create('team'));
  expect(valueOf(await admin.call(notificationsApi.testChannel, { params: { id } }))).toEqual({
    ok: false,
    detail: 'receiver.invalid was not found',
  });
});
