import { expect, test } from 'vitest';
import { NewChannel, NewRule } from '../../../protocol/notification.ts';

const discord = (url: string) => ({ name: 'team', target: { kind: 'discord', url } });

test.each([
  ['https://discord.com/api/webhooks/1/x', true],
  ['http://receiver.lan/hook', true],
  ['ftp://discord.com/x', false],
  ['file:///etc/passwd', false],
  ['https://user@discord.com/x', false],
  ['https://:secret@discord.com/x', false],
  ['discord.com/x', false],
  ['https://a.example/\nx', false],
  [`https://a.example/${'x'.repeat(2_000)}`, false],
])('decides whether the channel address %j is valid: %s', (url, expected) => {
  expect(NewChannel.safeParse(discord(url)).success).toBe(expected);
});

test.each([
  { kind: 'webhook', url: 'https://a.example', signing_secret: 'too short' },
  { kind: 'ntfy', topic: 'no/slash' },
  { kind: 'email', host: 'a.example', from: 'a@a.example', to: [] },
  { kind: 'email', host: 'a.example', from: 'a@a.example\r\nBcc: x@a.example', to: ['b@a.example'] },
  { kind: 'discord', url: 'https://a.example', more: 1 },
  { kind: 'carrier-pigeon' },
])('refuses a channel with the target %j', target => {
  expect(NewChannel.safeParse({ name: 'team', target }).success).toBe(false);
});

test('adds default values to ntfy channels, e-mail channels and rules', () => {
  expect(NewChannel.parse({ name: 'n', target: { kind: 'ntfy', topic: 't' } }).target).toMatchObject({
    url: 'https://ntfy.sh',
    token: null,
  });
  const email = { kind: 'email', host: 'a.example', from: 'a@a.example', to: ['b@a.example'] };
  expect(NewChannel.parse({ name: 'n', target: email }).target).toMatchObject({ port: 465, security: 'tls' });
  expect(NewRule.parse({ channel_id: 'c1', events: ['job_failed'] })).toMatchObject({
    user: null,
    stalled_minutes: 30,
    enabled: true,
  });
});

test('refuses a rule that names an event twice', () => {
  const events = ['job_failed', 'job_failed'];
  expect(NewRule.safeParse({ channel_id: 'c1', events }).success).toBe(false);
});
