import { request } from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import { auditApi } from '../../../protocol/admin-api.ts';
import { settingsApi } from '../../../protocol/settings-api.ts';
import { startTestServer, type TestServer, type TestServerOptions, valueOf } from '../../support/server.ts';

type Trusted = NonNullable<NonNullable<TestServerOptions['config']>['trustedProxies']>;

async function open(trustedProxies: Trusted): Promise<TestServer> {
  const server = await startTestServer({ config: { trustedProxies } });
  onTestFinished(() => server.close());
  return server;
}

interface RequestOptions {
  readonly headers?: Readonly<Record<string, string>>;
  // Address from which the proxy connects to the server.
  readonly from?: string;
  readonly host?: string;
}

const settings = (
  { url, adminToken }: TestServer,
  { headers = {}, from = '127.0.0.1', host }: RequestOptions,
) =>
  new Promise<{ readonly local_worker: { readonly command_allowed: boolean } }>((resolve, reject) => {
    const authorization = `Bearer ${adminToken}`;
    const outgoing = request(
      `${url}${settingsApi.get.path}`,
      { agent: false, localAddress: from, headers: { authorization, ...headers, ...(host && { host }) } },
      response => {
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => (text += part));
        response.once('end', () =>
          resolve(JSON.parse(text) as { readonly local_worker: { readonly command_allowed: boolean } }),
        );
      },
    );
    outgoing.once('error', reject);
    outgoing.end();
  });

// Creates a worker through a proxy at 127.0.0.1. Returns the client's address in the audit trail.
async function addressInTrail(trusted: Trusted, forwardedFor: string): Promise<unknown> {
  const server = await open(trusted);
  await fetch(`${server.url}/api/admin/workers`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${server.adminToken}`,
      'content-type': 'application/json',
      'x-forwarded-for': forwardedFor,
    },
    body: JSON.stringify({ name: 'rig-1' }),
  });
  const { entries } = valueOf(await server.admin.call(auditApi.list, { query: {} }));
  return entries.find(({ event_type: type }) => type === 'worker.created')?.address;
}

describe('address of a client', () => {
  test.each<[string, Trusted, string, string]>([
    ['of the socket without trusted proxies', [], '192.0.2.9', '127.0.0.1'],
    ['that a trusted proxy reports', ['loopback'], '192.0.2.9', '192.0.2.9'],
    ['that a trusted address reports', ['127.0.0.1/32'], '192.0.2.9', '192.0.2.9'],
    ['of the socket when another proxy is trusted', ['10.0.0.0/8'], '192.0.2.9', '127.0.0.1'],
    [
      'to the left of the trusted proxies',
      ['loopback', '10.0.0.0/8'],
      '6.6.6.6, 192.0.2.9, 10.1.1.1',
      '192.0.2.9',
    ],
    [
      'that the proxy reports, and not the address that the client claims',
      ['loopback'],
      '6.6.6.6, 192.0.2.9',
      '192.0.2.9',
    ],
    ['at the position given by the number of proxies', 2, '6.6.6.6, 192.0.2.9, 10.1.1.1', '192.0.2.9'],
    ['without its port', ['loopback'], '192.0.2.9:4711', '192.0.2.9'],
    ['without its brackets', ['loopback'], '[2001:db8::9]:4711', '2001:db8::9'],
    ['of the socket when the proxy reports none', ['loopback'], 'unknown', '127.0.0.1'],
  ])('uses the client address %s', async (_what, trusted, forwardedFor, expected) => {
    expect(await addressInTrail(trusted, forwardedFor)).toBe(expected);
  });

  test('limits failed calls per reported address', async () => {
    const server = await open(['loopback']);
    const callWithWrongToken = async (client: string): Promise<number> =>
      (
        await fetch(`${server.url}/api/queue`, {
          headers: { authorization: 'Bearer wrong', 'x-forwarded-for': client },
        })
      ).status;
    const first = await Promise.all(Array.from({ length: 80 }, () => callWithWrongToken('192.0.2.9')));
    expect(first).toContain(429);
    expect(await callWithWrongToken('192.0.2.10')).toBe(401);
  });
});

describe('commands in the settings, which only this machine may change', () => {
  test.each<[string, RequestOptions, boolean]>([
    ['allows a command in the settings from this machine', {}, true],
    ['allows a command in the settings for a request to localhost', { host: 'localhost:8001' }, true],
    [
      'allows no command in the settings for a request with a forwarding header',
      { headers: { 'x-real-ip': '192.0.2.9' } },
      false,
    ],
    [
      'allows no command in the settings for a request to the public name of a proxy',
      { host: 'trainyard.example' },
      false,
    ],
  ])('%s', async (_what, requestOptions, expected) => {
    for (const trusted of [[], ['loopback'], 1] as const)
      expect((await settings(await open(trusted), requestOptions)).local_worker.command_allowed).toBe(
        expected,
      );
  });
});
