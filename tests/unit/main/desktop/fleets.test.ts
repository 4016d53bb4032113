import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdirSync, mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { createFleets, type Vault } from '../../../../main/desktop/fleets.ts';
import { openDesktopSettings } from '../../../../main/desktop/settings.ts';
import { createGateway, type RemoteFleet, parseFleetAddress } from '../../../../main/gateway.ts';
import { makeIdentity } from '../../../support/tls/identity.ts';
import { startListener } from '../../../support/tls/listener.ts';
import { systemApi } from '../../../../protocol/admin-api.ts';

const openServers: (() => void)[] = [];
afterEach(() => {
  for (const close of openServers.splice(0)) close();
});

const newSettingsFile = (): string => join(mkdtempSync(join(tmpdir(), 'trainyard-desktop-')), 'desktop.json');
const noKeyring: Vault = {
  canSeal: async () => false,
  seal: () => Promise.reject(new Error('nothing to seal with')),
  unseal: () => Promise.reject(new Error('nothing to unseal with')),
};
// The keyring of these tests reverses texts instead of encrypting them.
const reverse = (text: string): string => text.split('').toReversed().join('');
const keyring: Vault = {
  canSeal: async () => true,
  seal: async text => reverse(text),
  unseal: async text => reverse(text),
};
const pin = `sha256:${'A'.repeat(43)}=`;
const lab = { name: 'Lab', url: 'https://lab.example:8001/', token: 'tk_secret', pin };

describe('createFleets', () => {
  test('stores fleets readable only by their owner, and returns no tokens', async () => {
    const file = newSettingsFile();
    const outcome = await createFleets(openDesktopSettings(file), keyring).add(lab);
    expect(outcome).toMatchObject({ ok: true });
    const reopened = createFleets(openDesktopSettings(file), keyring);
    expect(reopened.list()).toEqual([
      {
        id: expect.stringMatching(/^f_/),
        name: 'Lab',
        url: 'https://lab.example:8001',
        pin,
        token: 'sealed',
      },
    ]);
    expect(readFileSync(file, 'utf8')).not.toContain('tk_secret');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const [{ id } = { id: '' }] = reopened.list();
    expect(await reopened.reach(id)).toMatchObject({ ok: true, fleet: { token: 'tk_secret' } });
  });

  test('marks a token as plain when no keyring is available', async () => {
    const fleets = createFleets(openDesktopSettings(newSettingsFile()), noKeyring);
    await fleets.add({ ...lab, pin: '' });
    const [fleet] = fleets.list();
    expect(fleet).toMatchObject({ token: 'plain', pin: null });
    expect(await fleets.reach(fleet?.id ?? '')).toMatchObject({ ok: true, fleet: { token: 'tk_secret' } });
  });

  test('reports an error for a token that was sealed on another computer', async () => {
    const settings = openDesktopSettings(newSettingsFile());
    await createFleets(settings, keyring).add(lab);
    const onOtherComputer = createFleets(settings, noKeyring);
    const [{ id } = { id: '' }] = onOtherComputer.list();
    expect(await onOtherComputer.reach(id)).toMatchObject({
      ok: false,
      detail: expect.stringMatching(/cannot be decrypted/),
    });
  });

  test.each([
    ['an invalid address', { url: 'lab' }],
    ['an unsupported protocol', { url: 'ftp://lab.example' }],
    ['a user name and password in the address', { url: 'https://me:word@lab.example' }],
    ['a query in the address', { url: 'https://lab.example/?x' }],
    ['an invalid pin', { pin: 'sha256:abc' }],
    ['a pin for plain HTTP', { url: 'http://lab.example' }],
  ])('refuses a fleet with %s', async (_case, changes) => {
    const fleets = createFleets(openDesktopSettings(newSettingsFile()), noKeyring);
    expect(await fleets.add({ ...lab, ...changes })).toMatchObject({ ok: false });
    expect(fleets.list()).toEqual([]);
  });

  test('requires the token again when the address of a fleet changes', async () => {
    const fleets = createFleets(openDesktopSettings(newSettingsFile()), noKeyring);
    await fleets.add(lab);
    const [{ id } = { id: '' }] = fleets.list();
    const otherAddress = { id, url: 'https://evil.example' };
    expect(await fleets.change(otherAddress)).toMatchObject({
      ok: false,
      detail: expect.stringMatching(/Enter the token again/),
    });
    expect(await fleets.change({ ...otherAddress, token: 'tk_other' })).toMatchObject({ ok: true });
    expect(await fleets.change({ id, name: 'Lab 2' })).toMatchObject({ ok: true });
    expect(await fleets.reach(id)).toMatchObject({
      fleet: { url: 'https://evil.example', token: 'tk_other' },
    });
    expect(fleets.name(id)).toBe('Lab 2');
    expect(fleets.remove(id)).toMatchObject({ ok: true });
    expect(await fleets.reach(id)).toMatchObject({ ok: false });
    expect(await fleets.change({ id })).toMatchObject({ ok: false });
  });
});

describe('openDesktopSettings', () => {
  test.each(['{', '[]', '{"fleets": 3}', ''])('uses the defaults when the file contains %j', text => {
    const file = newSettingsFile();
    writeFileSync(file, text);
    expect(openDesktopSettings(file).now).toMatchObject({ fleets: [], shown: null, runs_own: true });
  });

  test('applies a change that cannot be saved, and returns the error', () => {
    const file = newSettingsFile();
    mkdirSync(file);
    const settings = openDesktopSettings(`${file}/no/such/folder.json`);
    expect(settings.change({ runs_own: false })).toBeInstanceOf(Error);
    expect(settings.now.runs_own).toBe(false);
  });
});

interface FakeOrchestrator {
  readonly fleet: RemoteFleet;
  readonly calls: { method: string; url: string; headers: IncomingHttpHeaders; body: string }[];
}

/**
 * Starts a server that records its calls. `/api/gone` closes the connection, `/api/away` redirects, `/api/events` streams,
 * and `/api/no` returns 409.
 */
async function startFakeOrchestrator(): Promise<FakeOrchestrator> {
  const calls: FakeOrchestrator['calls'] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (part: Buffer) => {
      body += part.toString();
    });
    request.on('end', () => {
      calls.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers, body });
      if (request.url === '/api/gone') return request.socket.destroy();
      if (request.url === '/api/away')
        return response.writeHead(302, { location: 'http://evil.example/' }).end();
      if (request.url === '/api/events') {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        return response.write('id: 1\ndata: {}\n\n');
      }
      return response
        .writeHead(request.url === '/api/no' ? 409 : 200, {
          'content-type': 'application/json',
          'set-cookie': 'a=b',
          'access-control-allow-origin': '*',
        })
        .end('{"status":"live"}');
    });
  });
  await new Promise<void>(resolve => {
    server.listen(0, '127.0.0.1', resolve);
  });
  openServers.push(() => {
    server.close();
    server.closeAllConnections();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const address = parseFleetAddress({ url, pin: null });
  if (!address.ok) throw new Error(address.detail);
  return { calls, fleet: { ...address.value, token: 'tk_far' } };
}

async function startGateway(fleet: () => RemoteFleet | null, port = 0) {
  const panelDir = mkdtempSync(join(tmpdir(), 'trainyard-panel-'));
  mkdirSync(join(panelDir, 'assets'));
  writeFileSync(join(panelDir, 'index.html'), '<title>own panel</title>');
  const gateway = await createGateway({ panelDir, port, fleet });
  openServers.push(gateway.close);
  const callGateway = (
    path: string,
    init: Omit<RequestInit, 'headers'> & { readonly headers?: Readonly<Record<string, string>> } = {},
  ): Promise<Response> =>
    fetch(gateway.origin + path, {
      redirect: 'manual',
      ...init,
      headers: { authorization: `Bearer ${gateway.bearer}`, ...init.headers },
    });
  return { gateway, callGateway };
}

describe('the gateway to a fleet', () => {
  test("forwards calls with the fleet's token, and without the page's cookies, origin and tokens", async () => {
    const orchestrator = await startFakeOrchestrator();
    const { gateway, callGateway } = await startGateway(() => orchestrator.fleet);
    const response = await callGateway('/api/queue/submit?x=1', {
      method: 'POST',
      body: '{"a":1}',
      headers: {
        'content-type': 'application/json',
        'idempotency-key': 'k',
        origin: gateway.origin,
        cookie: 'secret=1',
        'x-worker-token': 'wt_x',
      },
    });
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual(await systemApi.live.reply.parseAsync({ status: 'live' }));
    expect(response.headers.get('set-cookie')).toBeNull();
    expect(response.headers.get('access-control-allow-origin')).toBeNull();
    const [call] = orchestrator.calls;
    expect(call).toMatchObject({ method: 'POST', url: '/api/queue/submit?x=1', body: '{"a":1}' });
    expect(call?.headers).toMatchObject({ authorization: 'Bearer tk_far', 'idempotency-key': 'k' });
    for (const name of ['cookie', 'origin', 'x-worker-token', 'referer'])
      expect(call?.headers).not.toHaveProperty(name);
    expect(JSON.stringify(orchestrator.calls)).not.toContain(gateway.bearer);
  });

  test('forwards error responses and event streams of the fleet', async () => {
    const orchestrator = await startFakeOrchestrator();
    const { callGateway } = await startGateway(() => orchestrator.fleet);
    expect((await callGateway('/api/no')).status).toBe(409);
    const abort = new AbortController();
    const { body, headers } = await callGateway('/api/events', {
      headers: { 'last-event-id': '7' },
      signal: abort.signal,
    });
    expect(headers.get('content-type')).toBe('text/event-stream');
    const first = await body?.pipeThrough(new TextDecoderStream()).getReader().read();
    expect(first?.value).toBe('id: 1\ndata: {}\n\n');
    abort.abort();
    expect(orchestrator.calls.at(-1)?.headers['last-event-id']).toBe('7');
  });

  test('aborts the call when the fleet is unreachable or redirects, or when no fleet is selected', async () => {
    const orchestrator = await startFakeOrchestrator();
    const { callGateway } = await startGateway(() => orchestrator.fleet);
    for (const path of ['/api/gone', '/api/away']) await expect(callGateway(path)).rejects.toThrow();
    expect(orchestrator.calls).toHaveLength(2);
    const withoutFleet = await startGateway(() => null);
    await expect(withoutFleet.callGateway('/api/queue')).rejects.toThrow();
  });

  test('checks the pin of the fleet for calls and streams before it sends a token', async () => {
    const [identity, otherIdentity] = [await makeIdentity(), await makeIdentity()];
    const orchestrator = await startFakeOrchestrator();
    const secure = await startListener(identity, { to: orchestrator.fleet.url });
    const fleetOf = (pinned: string): RemoteFleet => {
      const address = parseFleetAddress({ url: secure.url, pin: pinned });
      if (!address.ok) throw new Error(address.detail);
      return { ...address.value, token: 'tk_far' };
    };
    const withPin = await startGateway(() => fleetOf(identity.pin));
    expect((await withPin.callGateway('/api/queue')).status).toBe(200);
    const abort = new AbortController();
    const { body } = await withPin.callGateway('/api/events', { signal: abort.signal });
    const first = await body?.pipeThrough(new TextDecoderStream()).getReader().read();
    expect(first?.value).toContain('id: 1');
    abort.abort();
    const receivedBefore = secure.received();
    const withWrongPin = await startGateway(() => fleetOf(otherIdentity.pin));
    await expect(withWrongPin.callGateway('/api/queue')).rejects.toThrow();
    expect(secure.received()).toBe(receivedBefore);
    expect(orchestrator.calls.map(({ url }) => url)).toEqual(['/api/queue', '/api/events']);
  });

  test("serves the app's own panel, and no pages of the fleet", async () => {
    const orchestrator = await startFakeOrchestrator();
    const { callGateway } = await startGateway(() => orchestrator.fleet);
    const page = await callGateway('/jobs/j_1');
    expect(await page.text()).toContain('own panel');
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    for (const path of ['/docs', '/agent/install.sh', '/metrics', '/x'])
      expect((await callGateway(path)).status).toBe(404);
    expect(orchestrator.calls).toEqual([]);
  });

  test("rejects calls without the bearer token of the app's window, and calls at another host name", async () => {
    const orchestrator = await startFakeOrchestrator();
    const { gateway, callGateway } = await startGateway(() => orchestrator.fleet);
    for (const authorization of ['', 'Bearer', 'Bearer x', `Bearer ${gateway.bearer}x`, gateway.bearer]) {
      const response = await callGateway('/api/queue', { headers: { authorization } });
      expect(response.status).toBe(401);
      expect((await callGateway('/', { headers: { authorization } })).status).toBe(401);
    }
    const { port } = new URL(gateway.origin);
    const atOtherAddress = await fetch(`http://localhost:${port}/api/queue`, {
      headers: { authorization: `Bearer ${gateway.bearer}` },
    });
    expect(atOtherAddress.status).toBe(421);
    expect(orchestrator.calls).toEqual([]);
  });

  test('creates a new bearer token at each start, and uses another port when its port is taken', async () => {
    const first = await startGateway(() => null);
    const port = Number(new URL(first.gateway.origin).port);
    const second = await startGateway(() => null, port);
    expect(second.gateway.origin).not.toBe(first.gateway.origin);
    expect(second.gateway.bearer).not.toBe(first.gateway.bearer);
    first.gateway.close();
  });
});
