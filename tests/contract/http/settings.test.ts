import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { auditApi, workersApi } from '../../../protocol/admin-api.ts';
import { settingsApi } from '../../../protocol/settings-api.ts';
import { adminClient, valueOf } from '../../support/server.ts';
import {
  networkHost,
  followEvents,
  isLive,
  occupy,
  openServer,
  networkHttpUrl,
  patchSettings,
  settingsFile,
  listSettingsRows,
  readSettings,
} from './settings-bench.ts';

test('listens only on this machine at first, and returns all settings', async () => {
  const addresses = [
    { address: '127.0.0.1', family: 'IPv4', interface: 'lo' },
    { address: '172.17.0.1', family: 'IPv4', interface: 'docker0' },
    { address: '192.0.2.7', family: 'IPv4', interface: 'eth0' },
    { address: 'fd00::7', family: 'IPv6', interface: 'eth0' },
  ] as const;
  const server = await openServer({ addresses: () => addresses });
  const port = Number(new URL(server.url).port);
  const notListening = { listening: false, note: null };
  expect(await readSettings(server)).toEqual({
    version: expect.stringMatching(/^\d+\./),
    network: {
      host: '127.0.0.1',
      port,
      shared: false,
      fixed_by: null,
      tls: null,
      tls_fixed_by: null,
      listening: [server.url],
      addresses: [
        { url: `http://192.0.2.7:${port}`, interface: 'eth0', family: 'IPv4', ...notListening },
        { url: `http://[fd00::7]:${port}`, interface: 'eth0', family: 'IPv6', ...notListening },
        {
          url: `http://172.17.0.1:${port}`,
          interface: 'docker0',
          family: 'IPv4',
          ...notListening,
          note: 'virtual',
        },
        { url: server.url, interface: 'lo', family: 'IPv4', listening: true, note: 'loopback' },
      ],
      notice: null,
    },
    public_url: null,
    public_url_fixed_by: null,
    configs_dir: join(server.dataDir, 'configs'),
    data_dir: server.dataDir,
    local_worker: {
      enabled: false,
      state: 'off',
      gpus: null,
      trainer: null,
      work_dir: null,
      fixed_by: { enabled: null, gpus: null, trainer: null, work_dir: null },
      command_allowed: true,
      has_sample: true,
    },
    audit: { retention_days: null, fixed_by: null },
    gpu_troubles: { missing: true, errors: true, held: true },
    electricity: { price_per_kwh: null, currency: null },
  });
  expect(existsSync(settingsFile(server))).toBe(false);
});

describe('invalid settings', () => {
  test.each<[unknown, number, string, RegExp]>([
    [{ shared: 'yes' }, 400, 'invalid_request', /^shared: /],
    [{ shared: null }, 400, 'invalid_request', /^shared: /],
    [{ shared: true, host: '0.0.0.0' }, 400, 'invalid_request', /either shared or host/],
    [{ host: 'yard.lan' }, 400, 'invalid_request', /^host: .*IP address/],
    [{ host: '127.0.0.1:80' }, 400, 'invalid_request', /^host: /],
    [{ host: '' }, 400, 'invalid_request', /^host: /],
    [
      { host: '203.0.113.9' },
      409,
      'address_unavailable',
      /^203\.0\.113\.9 is not an address of this machine/,
    ],
    // Linux can listen on this address, but no client can connect to it.
    [{ host: '255.255.255.255' }, 409, 'address_unavailable', /is not an address of this machine/],
    [{ public_url: 'yard.example' }, 400, 'invalid_request', /^public_url: .*http or https/],
    [{ public_url: 'ftp://yard.example' }, 400, 'invalid_request', /^public_url: /],
    [{ public_url: 'https://ada:secret@yard.example' }, 400, 'invalid_request', /^public_url: /],
    [{ public_url: 'https://yard.example/?a=1' }, 400, 'invalid_request', /^public_url: /],
    [{ public_url: 'https://yard.example/#top' }, 400, 'invalid_request', /^public_url: /],
    [{ public_url: '' }, 400, 'invalid_request', /^public_url: /],
    [{ public_url: `https://${'y'.repeat(500)}` }, 400, 'invalid_request', /^public_url: /],
    [{ local_worker: true }, 400, 'invalid_request', /^local_worker: /],
    [{ local_worker: { enabled: 'on' } }, 400, 'invalid_request', /^local_worker\.enabled: /],
    [{ local_worker: { gpus: 'all' } }, 400, 'invalid_request', /^local_worker\.gpus: .*numbers of GPUs/],
    [{ local_worker: { gpus: '' } }, 400, 'invalid_request', /^local_worker\.gpus: /],
    [{ local_worker: { trainer: ' ' } }, 400, 'invalid_request', /^local_worker\.trainer: /],
    [{ local_worker: { trainer: 'a\nb' } }, 400, 'invalid_request', /^local_worker\.trainer: /],
    [{ local_worker: { work_dir: 'jobs' } }, 400, 'invalid_request', /jobs is not an absolute path/],
    [{ local_worker: { color: 'red' } }, 400, 'invalid_request', /color/],
    [{ tls: 'yes' }, 400, 'invalid_request', /^tls: /],
    [{ tls: null }, 400, 'invalid_request', /^tls: /],
    [{ port: 80 }, 400, 'invalid_request', /port/],
    [[], 400, 'invalid_request', /./],
    // The public address is valid, but the server applies no part of a request with an invalid host.
    [{ public_url: 'https://yard.example', host: '203.0.113.9' }, 409, 'address_unavailable', /./],
  ])('refuses the settings %j and changes nothing', async (body, status, code, detail) => {
    const server = await openServer();
    const before = await readSettings(server);
    expect(await patchSettings(server, body)).toMatchObject({
      status,
      body: { code, detail: expect.stringMatching(detail) },
    });
    expect(await readSettings(server)).toEqual(before);
    expect(await listSettingsRows(server)).toEqual([]);
    expect(existsSync(settingsFile(server))).toBe(false);
  });
});

describe('sharing on the network', () => {
  test('listens on the network immediately without disconnecting local clients', async () => {
    const server = await openServer();
    const localStream = await followEvents(server, server.url);
    expect(await isLive(networkHttpUrl(server))).toBe(false);
    expect(await patchSettings(server, { host: networkHost })).toMatchObject({
      status: 200,
      body: { network: { host: networkHost, listening: [server.url, networkHttpUrl(server)] } },
    });
    expect(await isLive(networkHttpUrl(server))).toBe(true);
    expect(await isLive(server.url)).toBe(true);
    await server.createWorker({ name: 'rig-1' });
    await server.watch.until('an event on a stream that was opened before the change', event =>
      event.kind === 'worker' ? event : null,
    );
    expect(localStream.isOver()).toBe(false);
  });

  test('stops listening on the network immediately, and disconnects only network clients', async () => {
    const server = await openServer();
    await patchSettings(server, { host: networkHost });
    const [localStream, networkStream] = [
      await followEvents(server, server.url),
      await followEvents(server, networkHttpUrl(server)),
    ];
    // The new setting closes the connection of this request, but only after the answer.
    expect(await patchSettings(server, { shared: false }, {}, networkHttpUrl(server))).toMatchObject({
      status: 200,
      body: { network: { host: '127.0.0.1', shared: false, listening: [server.url] } },
    });
    expect(await networkStream.ended).toBe('ended');
    expect(await isLive(networkHttpUrl(server))).toBe(false);
    await server.createWorker({ name: 'rig-1' });
    await server.watch.until('an event on the local stream', event =>
      event.kind === 'worker' ? event : null,
    );
    expect(localStream.isOver()).toBe(false);
  });

  test('changes nothing when the port is in use on the network address', async () => {
    const server = await openServer();
    const occupant = await occupy(networkHost, Number(new URL(server.url).port));
    expect(
      await patchSettings(server, { host: networkHost, public_url: 'https://yard.example' }),
    ).toMatchObject({
      status: 409,
      body: {
        code: 'address_unavailable',
        detail: expect.stringMatching(
          /^Port \d+ on 127\.0\.0\.2 is in use by another program.*Nothing was changed$/,
        ),
      },
    });
    expect(await readSettings(server)).toMatchObject({
      network: { host: '127.0.0.1', listening: [server.url] },
      public_url: null,
    });
    expect(await listSettingsRows(server)).toEqual([]);
    await new Promise(resolve => occupant.close(resolve));
    expect(await patchSettings(server, { host: networkHost })).toMatchObject({ status: 200 });
  });

  test('changes nothing when the settings cannot be saved', async () => {
    const server = await openServer();
    // A folder with the name of the temporary file makes the write fail.
    mkdirSync(`${settingsFile(server)}.new`);
    expect(await patchSettings(server, { host: networkHost, local_worker: { enabled: true } })).toMatchObject(
      {
        status: 507,
        body: { code: 'storage', detail: expect.stringContaining('settings.json cannot be written') },
      },
    );
    expect(await readSettings(server)).toMatchObject({
      network: { host: '127.0.0.1', listening: [server.url] },
      local_worker: { enabled: false, state: 'off' },
    });
    expect(await isLive(networkHttpUrl(server))).toBe(false);
    expect(await listSettingsRows(server)).toEqual([]);
  });

  test('warns about unencrypted sharing in the answer and in the log', async () => {
    const server = await openServer({ addresses: () => [] });
    const { body } = await patchSettings(server, { shared: true });
    expect(body).toMatchObject({
      network: { host: '0.0.0.0', shared: true, notice: expect.stringContaining('unencrypted') },
    });
    expect(server.log.filter(line => line.includes('server.exposed'))).toHaveLength(1);
    expect((await patchSettings(server, { shared: false })).body).toMatchObject({
      network: { notice: null },
    });
    expect(server.log.filter(line => line.includes('server.exposed'))).toHaveLength(1);
  });

  test('allows users to sign in at the network address, and accepts only pages from that address', async () => {
    const server = await openServer();
    await patchSettings(server, { host: networkHost });
    const signIn = (url: string, origin: string) =>
      fetch(`${url}/api/session`, {
        method: 'POST',
        headers: { origin, 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' },
        body: JSON.stringify({ token: server.adminToken }),
      });
    const networkUrl = networkHttpUrl(server);
    expect((await signIn(networkUrl, server.url)).status).toBe(403);
    const signedIn = await signIn(networkUrl, networkUrl);
    expect(signedIn.status).toBe(200);
    const cookie = signedIn.headers.get('set-cookie')?.split(';', 1)[0] ?? '';
    const patchAsPage = (origin: string) =>
      fetch(`${networkUrl}/api/settings`, {
        method: 'PATCH',
        headers: { cookie, origin, 'content-type': 'application/json' },
        body: JSON.stringify({ public_url: 'https://yard.example' }),
      });
    expect((await patchAsPage(server.url)).status).toBe(403);
    expect((await patchAsPage(networkUrl)).status).toBe(200);
  });
});

describe('address of a join command', () => {
  const addresses = [
    { address: '172.17.0.1', family: 'IPv4', interface: 'docker0' },
    { address: '192.0.2.7', family: 'IPv4', interface: 'eth0' },
  ] as const;

  test.each([
    ['0.0.0.0', 'http://192.0.2.7:'],
    ['127.0.0.1', 'http://127.0.0.1:'],
  ])('builds the join command of a server that listens on %s with the URL %s', async (host, url) => {
    const server = await openServer({
      addresses: () => addresses,
      config: { host, fixedBy: { host: '--host' } },
    });
    const body = { name: 'rig-1' };
    expect(valueOf(await server.admin.call(workersApi.create, { body })).connection_command).toContain(
      `--orchestrator-url ${url}${new URL(server.url).port} `,
    );
  });
});

describe('the public address', () => {
  test('uses the public address in join commands until it is removed', async () => {
    const server = await openServer();
    const commandFor = async (name: string): Promise<string> =>
      valueOf(await server.admin.call(workersApi.create, { body: { name } })).connection_command;
    expect(await commandFor('rig-1')).toContain(`--orchestrator-url ${server.url} `);
    await patchSettings(server, { public_url: ' https://yard.example:8443/fleet/ ' });
    expect(await commandFor('rig-2')).toContain('--orchestrator-url https://yard.example:8443/fleet ');
    expect((await patchSettings(server, { public_url: null })).body).toMatchObject({ public_url: null });
    expect(await commandFor('rig-3')).toContain(`--orchestrator-url ${server.url} `);
  });
});

test('audits each change of the settings once, and records nothing when no setting changes', async () => {
  const server = await openServer({ addresses: () => [] });
  await patchSettings(server, {
    shared: true,
    public_url: 'https://yard.example',
    local_worker: { gpus: '0' },
  });
  await patchSettings(server, { shared: true });
  await patchSettings(server, {});
  const rows = (await listSettingsRows(server)).filter(({ event_type: type }) => type !== 'settings.exposed');
  expect(rows.toReversed()).toMatchObject([
    { event_type: 'settings.network_changed', details: { host: '0.0.0.0', was: '127.0.0.1' } },
    { event_type: 'settings.public_url_changed', details: { public_url: 'https://yard.example', was: null } },
    { event_type: 'settings.local_worker_changed', details: { enabled: false, gpus: '0' } },
  ]);
  for (const row of rows)
    expect(row).toMatchObject({
      actor_id: 'admin',
      target_type: 'settings',
      address: expect.stringContaining('127.0.0.1'),
    });
  expect(valueOf(await server.admin.call(auditApi.verify))).toMatchObject({ valid: true });
});

test('applies concurrent changes of the settings one after the other', async () => {
  const server = await openServer();
  const answers = await Promise.all([
    patchSettings(server, { host: networkHost }),
    patchSettings(server, { public_url: 'https://yard.example' }),
    patchSettings(server, { local_worker: { gpus: '0' } }),
    patchSettings(server, { host: networkHost }),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  expect(await readSettings(server)).toMatchObject({
    network: { host: networkHost, listening: [server.url, networkHttpUrl(server)] },
    public_url: 'https://yard.example',
    local_worker: { gpus: '0' },
  });
  expect(await listSettingsRows(server)).toHaveLength(3);
});

test('answers the typed API client on the network address', async () => {
  const server = await openServer();
  await patchSettings(server, { host: networkHost });
  const client = adminClient(networkHttpUrl(server), server.adminToken);
  expect(valueOf(await client.call(settingsApi.get)).network.host).toBe(networkHost);
});
