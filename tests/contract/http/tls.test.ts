import { createHash, X509Certificate } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { Agent, request } from 'node:https';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { TLSSocket } from 'node:tls';
import { describe, expect, onTestFinished, test } from 'vitest';
import { workersApi } from '../../../protocol/admin-api.ts';
import { socketLimits } from '../../../main/http/listener/http-listener.ts';
import { createListeners } from '../../../main/http/listener/listeners.ts';
import { createStreamRegistry } from '../../../main/http/listener/stream-registry.ts';
import { openFolder } from '../../support/fleet-bench.ts';
import { startTestServer, valueOf } from '../../support/server.ts';
import {
  networkHost,
  followEvents,
  isLive,
  openServer,
  networkHttpUrl,
  patchSettings,
  settingsFile,
  listSettingsRows,
  readSettings,
} from './settings-bench.ts';
import {
  callTls,
  networkAddress,
  networkUrl,
  interfaces,
  openTlsServer,
  portOf,
  sendRaw,
  handshake,
} from './tls-bench.ts';
import { createRequestTracker } from '../../../main/http/listener/connections.ts';
import { makeCertificate, makeKey } from '../../../main/host/tls/own-certificate.ts';

describe('server with --ssl', () => {
  test('answers other machines over TLS with the certificate in its settings', async () => {
    const server = await openTlsServer();
    const { certificate, protocol } = await handshake(networkUrl(server));
    const { tls, tls_fixed_by: fixedBy, addresses, listening, notice } = (await readSettings(server)).network;
    expect(protocol).toBe('TLSv1.3');
    expect(tls).toMatchObject({ source: 'own', fingerprint: certificate.fingerprint256 });
    const spki = new X509Certificate(certificate.raw).publicKey.export({ type: 'spki', format: 'der' });
    expect(tls?.pin).toBe(`sha256:${createHash('sha256').update(spki).digest('base64')}`);
    expect(tls?.names).toEqual(expect.arrayContaining(['127.0.0.1', networkAddress, 'trainyard.example']));
    expect(fixedBy).toBe('--ssl');
    expect(listening).toEqual([server.url, networkUrl(server)]);
    expect(addresses.map(({ url }) => url).toSorted()).toEqual([server.url, networkUrl(server)].toSorted());
    expect(notice).toBeNull();
    expect(await callTls(`${networkUrl(server)}/health/live`)).toMatchObject({ status: 200 });
  });

  test("serves a client that trusts only the server's own certificate", async () => {
    const server = await openTlsServer();
    const ca = readFileSync(join(server.dataDir, 'tls', 'cert.pem'));
    const tls = { ca, rejectUnauthorized: true };
    expect((await callTls(`${networkUrl(server)}/health/live`, { tls })).status).toBe(200);
    await expect(
      callTls(`${networkUrl(server)}/health/live`, { tls: { rejectUnauthorized: true } }),
    ).rejects.toMatchObject({ code: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
  });

  test('serves this machine over plain HTTP and over TLS, and logs no warning', async () => {
    const server = await openTlsServer();
    expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:/);
    expect(await isLive(server.url)).toBe(true);
    const tls = { rejectUnauthorized: false };
    for (const host of ['127.0.0.1', 'localhost'])
      expect((await callTls(`https://${host}:${portOf(server)}/health/live`, { tls })).status).toBe(200);
    const { certificate } = await handshake(`https://127.0.0.1:${portOf(server)}`);
    for (const name of ['DNS:localhost', 'IP Address:127.0.0.1', 'IP Address:0:0:0:0:0:0:0:1'])
      expect(certificate.subjectaltname).toContain(name);
    expect(server.log.join('')).not.toContain('server.exposed');
    expect((await listSettingsRows(server)).map(({ event_type: type }) => type)).toEqual([
      'settings.certificate_changed',
    ]);
  });

  test('refuses TLS versions below 1.2', async () => {
    const server = await openTlsServer();
    const ciphers = 'DEFAULT:@SECLEVEL=0';
    await expect(
      handshake(networkUrl(server), { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers }),
    ).rejects.toThrow(/protocol version|unsupported protocol/i);
    expect(await handshake(networkUrl(server), { maxVersion: 'TLSv1.2' })).toMatchObject({
      protocol: 'TLSv1.2',
    });
  });

  test('explains the error to a client that speaks plain HTTP, and executes nothing', async () => {
    const server = await openTlsServer();
    const url = networkUrl(server).replace('https', 'http');
    const call =
      `POST /api/admin/workers HTTP/1.1\r\nHost: ${networkAddress}\r\nAuthorization: Bearer ${server.adminToken}\r\n` +
      `Content-Type: application/json\r\nContent-Length: 16\r\n\r\n{"name":"rig-1"}`;
    const answer = await sendRaw(url, call);
    expect(answer).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    expect(answer).toMatch(/\r\n\r\nThis port speaks https: .*https:\/\/.*\n$/);
    expect(answer).not.toMatch(/location:|set-cookie:/i);
    expect(valueOf(await server.admin.call(workersApi.list)).total).toBe(0);
  });

  test.each([
    ['binary data', '\u0000\u0001\u0002'],
    ['a request in lower case', 'get / http/1.1\r\n\r\n'],
    ['an invalid handshake', '\u0016\u0009\u0009\u0000\u0002xx'],
  ])('does not answer %s in plain text', async (_what, text) => {
    const server = await openTlsServer();
    expect(await sendRaw(networkUrl(server), text)).not.toContain('HTTP');
    expect(await isLive(server.url)).toBe(true);
    expect((await callTls(`${networkUrl(server)}/health/live`)).status).toBe(200);
  });

  test('sets a __Host- cookie over TLS, and a cookie without this prefix over plain HTTP on this machine', async () => {
    const server = await openTlsServer();
    const signIn = { method: 'POST', body: { token: server.adminToken } };
    const remoteSignIn = await callTls(`${networkUrl(server)}/api/session`, {
      ...signIn,
      headers: { origin: networkUrl(server), 'sec-fetch-site': 'same-origin' },
    });
    expect(remoteSignIn.status).toBe(200);
    const cookie = String(remoteSignIn.headers['set-cookie']);
    expect(cookie).toMatch(
      /^__Host-trainyard_session=ts_[^;]+; Path=\/;.*; HttpOnly; Secure; SameSite=Strict$/,
    );
    const cookieHeader = (name: string) => ({
      cookie: cookie.split(';', 1)[0]?.replace('__Host-', name) ?? '',
    });
    const settings = `${networkUrl(server)}/api/settings`;
    expect((await callTls(settings, { headers: cookieHeader('__Host-') })).status).toBe(200);
    expect((await callTls(settings, { headers: cookieHeader('') })).status).toBe(401);
    const localSignIn = await fetch(`${server.url}/api/session`, {
      method: 'POST',
      headers: { origin: server.url, 'content-type': 'application/json' },
      body: JSON.stringify({ token: server.adminToken }),
    });
    expect(localSignIn.headers.get('set-cookie')).not.toMatch(/Secure/);
  });

  test('sends events over TLS', async () => {
    const server = await openTlsServer();
    const line = new Promise<string>((resolve, reject) => {
      const outgoing = request(
        `${networkUrl(server)}/api/events`,
        { rejectUnauthorized: false, headers: { authorization: `Bearer ${server.adminToken}` } },
        response => {
          let text = '';
          response.setEncoding('utf8').on('data', (part: string) => {
            text += part;
            if (text.includes('worker.created')) resolve(text);
          });
          void server.createWorker({ name: 'rig-1' });
        },
      );
      onTestFinished(() => void outgoing.destroy());
      outgoing.once('error', reject);
      outgoing.end();
    });
    expect(await line).toContain('rig-1');
  });

  test('shows the same certificate after a restart', async () => {
    const options = { dataDir: openFolder(), addresses: () => interfaces };
    const first = await startTestServer(options);
    expect(await patchSettings(first, { host: networkHost, tls: true })).toMatchObject({ status: 200 });
    const { tls } = (await readSettings(first)).network;
    await first.close();
    const second = await openServer(options);
    expect((await readSettings(second)).network).toMatchObject({
      tls,
      listening: [second.url, networkHttpUrl(second).replace('http', 'https')],
    });
  });

  test.each([['0.0.0.0'], ['::']])(
    'serves this machine over plain HTTP on the shared socket of --host %s',
    async host => {
      const server = await openTlsServer({ config: { host } });
      expect(await isLive(server.url)).toBe(true);
      // Clients on this machine can use plain HTTP at every address of the server.
      expect(await isLive(networkHttpUrl(server))).toBe(true);
    },
  );
});

test('presents a new certificate on new connections without closing old connections', async () => {
  const key = makeKey();
  const identities = await Promise.all(
    ['one', 'two'].map(async name => ({ key, certificate: await makeCertificate(key, [name], Date.now()) })),
  );
  const [first, second] = identities;
  if (first === undefined || second === undefined) throw new Error('a certificate is missing');
  const handler: RequestListener = (_request, response) => response.end('ok');
  const listeners = createListeners(handler, {
    streams: createStreamRegistry(),
    requests: createRequestTracker(),
    limits: socketLimits,
    suspendedHandler: handler,
  });
  onTestFinished(() => listeners.closeAll());
  listeners.setCertificate(first);
  const { port } = await listeners.listen(networkAddress, 0, true);
  const url = `https://${networkAddress}:${port}`;
  const agent = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false });
  onTestFinished(() => agent.destroy());
  const requestCertificateName = (): Promise<string> =>
    new Promise((resolve, reject) => {
      const outgoing = request(url, { agent }, response => {
        const { subjectaltname = '' } = peerCertificateOf(response.socket);
        response
          .resume()
          .once('end', () =>
            resolve(`${subjectaltname}, ${outgoing.reusedSocket ? 'reused connection' : 'new connection'}`),
          );
      });
      outgoing.once('error', reject);
      outgoing.end();
    });
  expect(await requestCertificateName()).toBe('DNS:one, new connection');
  listeners.setCertificate(second);
  expect((await handshake(url)).certificate.subjectaltname).toBe('DNS:two');
  expect(await requestCertificateName()).toBe('DNS:one, reused connection');
});

const peerCertificateOf = (socket: Socket) => {
  if (socket instanceof TLSSocket) return socket.getPeerCertificate();
  throw new Error('the connection does not use TLS');
};

describe('pin of a join command', () => {
  const createJoinCommand = async (
    server: Awaited<ReturnType<typeof openServer>>,
    name: string,
  ): Promise<string> =>
    valueOf(await server.admin.call(workersApi.create, { body: { name } })).connection_command;
  const addresses = () => [{ address: '192.0.2.7', family: 'IPv4', interface: 'eth0' }] as const;

  test('includes the pin in a join command whose URL has an address and the port of the server', async () => {
    const server = await openServer({
      addresses,
      config: { host: '0.0.0.0', isSecure: true, fixedBy: { host: '--host', ssl: '--ssl' } },
    });
    const port = portOf(server);
    const pin = (await readSettings(server)).network.tls?.pin ?? '';
    expect(pin).toMatch(/^sha256:[\w+/]{43}=$/);
    expect(await createJoinCommand(server, 'rig-1')).toContain(
      `--orchestrator-url https://192.0.2.7:${port} --pin ${pin} --name`,
    );
    await patchSettings(server, { public_url: `https://trainyard.example:${port}` });
    expect(await createJoinCommand(server, 'rig-2')).toContain(`trainyard.example:${port} --pin ${pin} `);
    for (const url of [
      'https://trainyard.example',
      'https://proxy.example:8001',
      `http://192.0.2.7:${port}`,
    ]) {
      await patchSettings(server, { public_url: url });
      expect(await createJoinCommand(server, `rig at ${url}`)).not.toContain('--pin');
    }
  });

  test('includes no pin in a join command when the certificate comes from files', async () => {
    const folder = openFolder();
    const files = { certificate: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };
    const key = makeKey();
    writeFileSync(files.key, key);
    writeFileSync(files.certificate, await makeCertificate(key, ['192.0.2.7'], Date.now()));
    const server = await openServer({
      addresses,
      config: {
        host: '0.0.0.0',
        isSecure: true,
        certificateFiles: files,
        fixedBy: { host: '--host', ssl: '--ssl-cert' },
      },
    });
    expect((await readSettings(server)).network.tls).toMatchObject({ source: 'files', names: ['192.0.2.7'] });
    const command = await createJoinCommand(server, 'rig-1');
    expect(command).toContain(`--orchestrator-url https://192.0.2.7:${portOf(server)} --name`);
  });

  test('puts an https URL into the join command when the request came through a proxy with TLS', async () => {
    const server = await openServer();
    const response = await fetch(`${server.url}${workersApi.create.path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${server.adminToken}`,
        'content-type': 'application/json',
        'x-forwarded-proto': 'https',
        'x-forwarded-for': '192.0.2.9',
      },
      body: JSON.stringify({ name: 'rig-1' }),
    });
    expect(await response.text()).toContain('--orchestrator-url https://127.0.0.1:');
  });
});

describe('certificate files', () => {
  test('accepts the host names in the certificate files without --allow-host', async () => {
    const folder = openFolder();
    const files = { certificate: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };
    const key = makeKey();
    writeFileSync(files.key, key);
    const names = ['Yard.Example.org', '*.gpu.example.org', '192.0.2.7'];
    writeFileSync(files.certificate, await makeCertificate(key, names, Date.now()));
    const server = await openTlsServer({ config: { certificateFiles: files, allowHosts: [] } });
    const statusAt = async (host: string) =>
      (await callTls(`${networkUrl(server)}/api/version`, { headers: { host } })).status;
    for (const host of [
      'yard.example.org',
      `yard.example.org:${portOf(server)}`,
      'rig.gpu.example.org',
      '192.0.2.7',
    ])
      expect([host, await statusAt(host)]).toEqual([host, 200]);
    for (const host of ['example.org', 'a.yard.example.org', 'a.b.gpu.example.org', 'gpu.example.org'])
      expect([host, await statusAt(host)]).toEqual([host, 421]);
  });

  test('refuses an unknown host name when the server uses its own certificate', async () => {
    const server = await openTlsServer({ config: { allowHosts: [] } });
    const headers = { host: 'yard.example.org' };
    const { status, body } = await callTls(`${networkUrl(server)}/api/version`, { headers });
    expect([status, body]).toEqual([421, expect.stringContaining('--allow-host yard.example.org')]);
  });

  test('refuses to start when the key file does not match the certificate file, and names both files', async () => {
    const folder = openFolder();
    const files = { certificate: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };
    writeFileSync(files.key, makeKey());
    writeFileSync(files.certificate, await makeCertificate(makeKey(), ['a'], Date.now()));
    await expect(openTlsServer({ config: { certificateFiles: files } })).rejects.toThrow(
      /cert\.pem \(--ssl-cert\) and .*key\.pem \(--ssl-key\): the key does not belong to the certificate/,
    );
  });
});

describe('the TLS setting', () => {
  test('applies the TLS setting immediately, and disconnects only remote clients of plain HTTP', async () => {
    const server = await openServer();
    await patchSettings(server, { host: networkHost });
    const [localStream, networkStream] = [
      await followEvents(server, server.url),
      await followEvents(server, networkHttpUrl(server)),
    ];
    const secureUrl = networkHttpUrl(server).replace('http', 'https');
    // The new setting closes the connection of this request, but only after the answer.
    expect(await patchSettings(server, { tls: true }, {}, networkHttpUrl(server))).toMatchObject({
      status: 200,
      body: {
        network: {
          tls: { source: 'own' },
          tls_fixed_by: null,
          listening: [server.url, secureUrl],
          notice: null,
        },
      },
    });
    expect(await networkStream.ended).toBe('ended');
    expect((await callTls(`${secureUrl}/health/live`)).status).toBe(200);
    expect(await sendRaw(secureUrl, 'GET /health/live HTTP/1.1\r\nHost: 127.0.0.2\r\n\r\n')).toContain(
      'speaks https',
    );
    expect(localStream.isOver()).toBe(false);
    expect(JSON.parse(readFileSync(settingsFile(server), 'utf8'))).toMatchObject({ tls: true });
    expect((await patchSettings(server, { tls: false })).body).toMatchObject({ network: { tls: null } });
    expect(await isLive(networkHttpUrl(server))).toBe(true);
    await expect(handshake(secureUrl)).rejects.toThrow();
    expect(localStream.isOver()).toBe(false);
  });

  test('audits the TLS setting and its certificate', async () => {
    const server = await openServer({ addresses: () => [] });
    await patchSettings(server, { shared: true, tls: true });
    await patchSettings(server, { tls: false });
    const rows = (await listSettingsRows(server)).toReversed();
    expect(rows).toMatchObject([
      { event_type: 'settings.certificate_changed', actor_type: 'system', details: { why: 'made' } },
      { event_type: 'settings.network_changed', details: { host: '0.0.0.0' } },
      { event_type: 'settings.tls_changed', actor_id: 'admin', details: { tls: true, was: false } },
      { event_type: 'settings.tls_changed', details: { tls: false, was: true } },
      { event_type: 'settings.exposed', actor_type: 'system', details: { host: '0.0.0.0' } },
    ]);
    expect(server.log.filter(line => line.includes('server.exposed'))).toHaveLength(1);
  });

  test('refuses to change the TLS setting that a flag fixes', async () => {
    const server = await openTlsServer();
    expect(await patchSettings(server, { tls: false })).toMatchObject({
      status: 409,
      body: { code: 'setting_fixed', detail: expect.stringMatching(/TLS .*fixed by --ssl/) },
    });
    expect(await patchSettings(server, { tls: true })).toMatchObject({ status: 200 });
  });

  test('refuses to enable TLS when clients on this machine would have no socket', async () => {
    const server = await openServer({ config: { host: networkHost, fixedBy: { host: '--host' } } });
    expect((await readSettings(server)).network).toMatchObject({ tls: null, tls_fixed_by: '--host' });
    expect(await patchSettings(server, { tls: true })).toMatchObject({
      status: 409,
      body: { code: 'setting_fixed', detail: expect.stringContaining('or also with --ssl') },
    });
  });

  test('changes nothing when the TLS setting cannot be saved', async () => {
    const server = await openServer();
    await patchSettings(server, { host: networkHost });
    mkdirSync(`${settingsFile(server)}.new`);
    expect(await patchSettings(server, { tls: true })).toMatchObject({ status: 507 });
    expect((await readSettings(server)).network).toMatchObject({ tls: null });
    expect(await isLive(networkHttpUrl(server))).toBe(true);
  });
});

test('audits the start of a server that listens on the network without TLS', async () => {
  const server = await openServer({
    addresses: () => [],
    config: { host: '0.0.0.0', fixedBy: { host: '--host' } },
  });
  expect(await listSettingsRows(server)).toMatchObject([
    { event_type: 'settings.exposed', actor_type: 'system', details: { host: '0.0.0.0' } },
  ]);
  expect(server.log.join('')).toContain('server.exposed');
});
