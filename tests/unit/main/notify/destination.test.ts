import { describe, expect, test } from 'vitest';
import { isPublic } from '../../../../main/notify/addresses.ts';
import { answerOfStatus, parseRetryAfter } from '../../../../main/notify/answers.ts';
import { findDestination } from '../../../../main/notify/destination.ts';
import { ChannelTarget } from '../../../../protocol/notification.ts';

test.each([
  '0.0.0.0',
  '10.1.2.3',
  '100.64.0.1',
  '127.0.0.1',
  '127.255.255.254',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.192',
  '192.0.2.1',
  '192.168.1.1',
  '198.18.0.1',
  '198.51.100.1',
  '203.0.113.1',
  '224.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::ffff:127.0.0.1',
  '::ffff:8.8.8.8',
  '::ffff:a00:1',
  '::127.0.0.1',
  '64:ff9b::7f00:1',
  '64:ff9b:1::1',
  '100::1',
  '2001::1',
  '2001:db8::1',
  '2002:7f00:1::1',
  '3fff::1',
  'fc00::1',
  'fd00:ec2::254',
  'fe80::1',
  'fec0::1',
  'ff02::1',
  'not-an-address',
  '',
])('classifies the address %s as private', address => {
  expect(isPublic(address)).toBe(false);
});

test.each([
  '8.8.8.8',
  '100.63.255.255',
  '100.128.0.1',
  '172.15.0.1',
  '172.32.0.1',
  '162.159.128.233',
  '2606:4700::1',
  '2a00:1450::1',
])('classifies the address %s as public', address => {
  expect(isPublic(address)).toBe(true);
});

describe('findDestination', () => {
  const toUrl = (url: string) => ChannelTarget.parse({ kind: 'discord', url });
  const resolverOf =
    (...addresses: readonly string[]) =>
    () =>
      Promise.resolve(addresses.map(address => ({ address, family: address.includes(':') ? 6 : 4 })));

  test.each([
    'https://127.0.0.1/',
    'https://2130706433/',
    'https://0x7f.1/',
    'https://0177.0.0.1/',
    'https://[::1]/',
    'https://[::ffff:169.254.169.254]/',
    'https://169.254.169.254/latest/meta-data',
  ])('refuses the private address %s without a DNS lookup', async url => {
    expect(
      await findDestination(toUrl(url), [], () => Promise.reject(new Error('unexpected lookup'))),
    ).toMatchObject({
      kind: 'forbidden',
    });
  });

  test('refuses a host name if any of its addresses is private', async () => {
    const destination = await findDestination(
      toUrl('https://a.example/'),
      [],
      resolverOf('8.8.8.8', '10.0.0.1'),
    );
    expect(destination).toMatchObject({
      kind: 'forbidden',
      why: expect.stringContaining('--notify-allow a.example'),
    });
  });

  test('refuses plain HTTP, and e-mail without TLS', async () => {
    const email = {
      kind: 'email',
      host: 'a.example',
      security: 'none',
      from: 'a@a.example',
      to: ['b@a.example'],
    };
    for (const target of [toUrl('http://a.example/'), ChannelTarget.parse(email)])
      expect(await findDestination(target, [], resolverOf('8.8.8.8'))).toMatchObject({
        kind: 'forbidden',
        why: expect.stringContaining('TLS'),
      });
  });

  test('returns the addresses of a public host name', async () => {
    const destination = await findDestination(toUrl('https://a.example/'), [], resolverOf('8.8.8.8'));
    expect(destination).toEqual({ kind: 'found', addresses: [{ address: '8.8.8.8', family: 4 }] });
  });

  test.each([
    ['http://127.0.0.1:9/', '127.0.0.1'],
    ['http://[::1]:9/', '::1'],
    ['http://Receiver.lan/', 'receiver.lan'],
  ])(
    'accepts the private or unencrypted destination %s when the host %s is allowed',
    async (url, allowedHost) => {
      expect(await findDestination(toUrl(url), [allowedHost], resolverOf('10.0.0.1'))).toMatchObject({
        kind: 'found',
      });
    },
  );

  test('returns unknown for a host name that cannot be resolved', async () => {
    const destination = await findDestination(toUrl('https://a.example/'), [], () =>
      Promise.reject(new Error('ENOTFOUND')),
    );
    expect(destination).toMatchObject({ kind: 'unknown' });
  });
});

test.each([
  [200, 'delivered'],
  [204, 'delivered'],
  [302, 'permanent'],
  [400, 'permanent'],
  [404, 'permanent'],
  [410, 'permanent'],
  [429, 'temporary'],
  [500, 'temporary'],
  [503, 'temporary'],
])('classifies the HTTP status %d as %s', (status, kind) => {
  expect(answerOfStatus(status, null).kind).toBe(kind);
});

test.each([
  [undefined, null],
  ['', null],
  ['2', 2_000],
  ['0.5', 500],
  ['Thu, 01 Jan 1970 00:00:20 GMT', 15_000],
  ['Thu, 01 Jan 1970 00:00:01 GMT', 0],
  ['tomorrow', null],
  ['Abc, nonsense', null],
])('reads Retry-After %j as %j ms', (header, expected) => {
  // The current time is five seconds after the start of 1970.
  expect(parseRetryAfter(header, 5_000)).toBe(expected);
});
