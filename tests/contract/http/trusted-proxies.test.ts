/** Which proxies may declare a client's address. */
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

interface Sent {
  readonly headers?: Readonly<Record<string, string>>;
  /** The address from which the proxy connects. */
  readonly from?: string;
  readonly host?: string;
}

const settings = ({ url, adminToken }: TestServer, { headers = {}, from = '127.0.0.1', host }: Sent) =>
  new Promise<{ readonly local_worker: { readonly command_allowed: boolean } }>((resolve, reject) => {
    const authorization = `Bearer ${adminToken}`;
    const sent = request(
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
    sent.once('error', reject);
    sent.end();
  });

/** The audit trail's address for a worker that was created through a proxy at 127.0.0.1. */
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

describe('the address of a client', () => {
  test.each<[string, Trusted, string, string]>([
    ['is the one of the socket when nobody is trusted', [], '192.0.2.9', '127.0.0.1'],
    ['is what a trusted proxy says', ['loopback'], '192.0.2.9', '192.0.2.9'],
    ['is what a trusted address says', ['127.0.0.1/32'], '192.0.2.9', '192.0.2.9'],
    ['is not what another proxy says', ['10.0.0.0/8'], '192.0.2.9', '127.0.0.1'],
    [
      'is the last one that no trusted proxy has',
      ['loopback', '10.0.0.0/8'],
      '6.6.6.6, 192.0.2.9, 10.1.1.1',
      '192.0.2.9',
    ],
    ['is not what the client itself has put in front', ['loopback'], '6.6.6.6, 192.0.2.9', '192.0.2.9'],
    ['is counted from the end by the number of proxies', 2, '6.6.6.6, 192.0.2.9, 10.1.1.1', '192.0.2.9'],
    ['has no port', ['loopback'], '192.0.2.9:4711', '192.0.2.9'],
    ['has no brackets', ['loopback'], '[2001:db8::9]:4711', '2001:db8::9'],
    ['is the one of the socket when the proxy names none', ['loopback'], 'unknown', '127.0.0.1'],
  ])('%s', async (_what, trusted, forwardedFor, expected) => {
    expect(await addressInTrail(trusted, forwardedFor)).toBe(expected);
  });

  test('counts for the limit on wrong tokens, each by itself', async () => {
    const server = await open(['loopback']);
    const wrong = async (client: string): Promise<number> =>
      (
        await fetch(`${server.url}/api/queue`, {
          headers: { authorization: 'Bearer wrong', 'x-forwarded-for': client },
        })
      ).status;
    const first = await Promise.all(Array.from({ length: 80 }, () => wrong('192.0.2.9')));
    expect(first).toContain(429);
    expect(await wrong('192.0.2.10')).toBe(401);
  });
});

describe('a call from this machine', () => {
  test.each<[string, Sent, boolean]>([
    ['may set what this machine runs', {}, true],
    ['under its loopback name may', { host: 'localhost:8001' }, true],
    ['with the address of a client may not', { headers: { 'x-real-ip': '192.0.2.9' } }, false],
    ['under the public name of a proxy may not', { host: 'trainyard.example' }, false],
  ])('%s', async (_what, sent, expected) => {
    for (const trusted of [[], ['loopback'], 1] as const)
      expect((await settings(await open(trusted), sent)).local_worker.command_allowed).toBe(expected);
  });
});
