/** A real nginx, configured with the block in docs/network.md, in front of the server. */
import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { auditApi } from '../../protocol/admin-api.ts';
import { settingsApi } from '../../protocol/settings-api.ts';
import { startServer, startWorker } from '../support/processes.ts';
import { certificate, nginx, proxyName as name, startNginx } from '../support/reverse-proxies.ts';
import { adminClient, createShortcuts, valueOf } from '../support/server.ts';
import { watchEvents } from '../support/watch.ts';

interface CallOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Address from which the client connects. */
  readonly from?: string;
}

const call = (url: string, { method = 'GET', headers = {}, body, from = '127.0.0.1' }: CallOptions = {}) =>
  new Promise<{ status: number; headers: NodeJS.Dict<string | string[]>; body: string }>(
    (resolve, reject) => {
      const outgoing = request(
        url,
        {
          method,
          agent: false,
          localAddress: from,
          ca: readFileSync(certificate),
          // Accept any name in the certificate, because this test sends another `Host`.
          checkServerIdentity: () => undefined,
          headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
        },
        response => {
          let text = '';
          response.setEncoding('utf8').on('data', (part: string) => (text += part));
          response.once('end', () =>
            resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }),
          );
        },
      );
      outgoing.once('error', reject);
      outgoing.end(body === undefined ? undefined : JSON.stringify(body));
    },
  );

/**
 * Opens a stream. `isOpen` resolves when the first data arrives. `found` resolves with all received text when the text
 * contains `word`.
 */
function readUntil(url: string, token: string, word: string) {
  let opened = (): void => {};
  const whenOpen = new Promise<void>(resolve => (opened = resolve));
  const found = new Promise<string>((resolve, reject) => {
    const outgoing = request(
      url,
      { agent: false, ca: readFileSync(certificate), headers: { authorization: `Bearer ${token}` } },
      response => {
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => {
          opened();
          text += part;
          if (text.includes(word)) resolve(text);
        });
      },
    );
    onTestFinished(() => void outgoing.destroy());
    outgoing.once('error', reject);
    outgoing.end();
  });
  return { isOpen: whenOpen, found };
}

describe.skipIf(nginx === null)(`nginx${nginx === null ? ' (not installed)' : ''}`, () => {
  async function openBehind(flags: readonly string[] = [], adapt?: (text: string) => string) {
    const server = await startServer(['--allow-host', name, ...flags]);
    onTestFinished(async () => {
      server.kill('SIGTERM');
      await server.exited;
    });
    const token = readFileSync(join(server.dataDir, 'admin-token'), 'utf8').trim();
    const admin = adminClient(server.url, token);
    const watch = await watchEvents(server.url, token);
    onTestFinished(() => watch.close());
    return { server, token, admin, watch, proxy: (await startNginx(server.url, adapt)).url };
  }

  test('allows a worker to connect through nginx, and streams events without delay', async () => {
    const { token, admin, watch, proxy } = await openBehind();
    const stream = readUntil(`${proxy}/api/events`, token, 'worker.created');
    await stream.isOpen;
    const { id, token: secret } = await createShortcuts(admin).createWorker({ name: 'rig-1' });
    expect(await stream.found).toContain(id);
    startWorker({ url: proxy, token: secret, args: ['--ca-file', certificate, '--persistent'] });
    await watch.worker(id, 'idle');
  });

  test('signs in to the panel behind nginx with a Secure cookie, and treats the calls of the panel as remote', async () => {
    const { token, proxy, admin } = await openBehind();
    const origin = `https://${name}`;
    const pageHeaders = { host: name, origin, 'sec-fetch-site': 'same-origin' };
    const signIn = await call(`${proxy}/api/session`, {
      method: 'POST',
      headers: pageHeaders,
      body: { token },
    });
    expect(signIn.status).toBe(200);
    const [cookie = ''] = [signIn.headers['set-cookie'] ?? []].flat();
    expect(cookie).toMatch(/; Secure/);
    const headers = { ...pageHeaders, cookie: cookie.split(';', 1)[0] ?? '' };
    const settingsChange = await call(`${proxy}/api/settings`, {
      method: 'PATCH',
      headers,
      body: { public_url: `https://${name}` },
    });
    expect(settingsChange.status).toBe(200);
    expect(valueOf(await admin.call(settingsApi.get)).public_url).toBe(`https://${name}`);
    const settingsCall = await call(`${proxy}/api/settings`, {
      method: 'PATCH',
      headers,
      body: { local_worker: { trainer: 'touch /tmp/x' } },
    });
    // The call comes from the machine of the proxy, but the actual client may be anywhere.
    expect(settingsCall.status).toBe(403);
  });

  test.each([
    ['X-Real-IP $remote_addr'],
    ['X-Forwarded-Host $host'],
    ['CF-Connecting-IP $remote_addr'],
    ['Fastly-Client-IP $remote_addr'],
  ])('treats a call with the forwarding header "%s" as remote', async header => {
    const { proxy, token } = await openBehind([], text =>
      text
        .replace(/^.*X-Forwarded-(?:For|Proto).*$/gm, '')
        .replace('proxy_buffering off', `proxy_set_header ${header}; proxy_buffering off`),
    );
    // This `Host` is a local address, like in a call without a proxy. So only `header` reveals the proxy.
    const headers = { host: new URL(proxy).host, authorization: `Bearer ${token}` };
    const body = { local_worker: { trainer: 'touch /tmp/x' } };
    const answer = await call(`${proxy}/api/settings`, { method: 'PATCH', headers, body });
    expect([answer.status, JSON.parse(answer.body)]).toEqual([
      403,
      expect.objectContaining({ code: 'only_from_here' }),
    ]);
  });

  test('detects a proxy without forwarding headers by its HTTP version', async () => {
    const { proxy, token } = await openBehind([], text =>
      text.replace(/^.*(?:proxy_set_header|proxy_http_version).*$/gm, ''),
    );
    const answer = await call(`${proxy}/api/settings`, { headers: { authorization: `Bearer ${token}` } });
    expect(JSON.parse(answer.body)).toMatchObject({ local_worker: { command_allowed: false } });
  });

  test('records the address of a client behind a trusted proxy in the audit trail', async () => {
    const { proxy, token, admin } = await openBehind(['--trust-proxy', '127.0.0.1']);
    const headers = { authorization: `Bearer ${token}`, 'x-forwarded-for': '6.6.6.6' };
    const created = await call(`${proxy}/api/admin/workers`, {
      method: 'POST',
      headers,
      body: { name: 'rig-1' },
      from: '127.0.0.7',
    });
    expect(created.status).toBe(200);
    const { entries } = valueOf(await admin.call(auditApi.list, { query: {} }));
    expect(entries.find(({ event_type: type }) => type === 'worker.created')?.address).toBe('127.0.0.7');
  });

  test('rejects an unknown host name behind nginx with 421', async () => {
    const { proxy, token } = await openBehind();
    const headers = { host: 'evil.example', authorization: `Bearer ${token}` };
    expect((await call(`${proxy}/api/queue`, { headers })).status).toBe(421);
    expect((await call(`${proxy}/api/queue`, { headers: { ...headers, host: name } })).status).toBe(200);
  });

  test("passes bodies through nginx to the server, which rejects bodies above the server's limit", async () => {
    const { proxy, token } = await openBehind();
    const headers = { authorization: `Bearer ${token}` };
    const configOfSize = (bytes: number) => ({ method: 'PUT', headers, body: { text: 'x'.repeat(bytes) } });
    expect((await call(`${proxy}/api/configs/large`, configOfSize(900_000))).status).not.toBe(413);
    const largeCall = await call(`${proxy}/api/configs/large`, configOfSize(1_500_000));
    expect([largeCall.status, largeCall.headers['content-type']]).toEqual([
      413,
      expect.stringContaining('application/problem+json'),
    ]);
  });
});
