/** The precedence of flags, the config file and the panel, and the settings that survive a restart. */
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { workersApi } from '../../../protocol/admin-api.ts';
import { openFolder } from '../../support/fleet-bench.ts';
import { sendRaw } from '../../support/raw-request.ts';
import { startTestServer, valueOf } from '../../support/server.ts';
import { elsewhere, isLive, open, overNetwork, patch, settingsFile, view } from './settings-bench.ts';

describe('what is fixed', () => {
  const config = {
    host: '127.0.0.1',
    localWorker: { enabled: false, gpus: '0', trainer: null, workDir: null },
    fixedBy: {
      host: '--host',
      'local-worker': '--no-local-worker',
      'local-worker-gpus': '"local-worker-gpus" in c.json',
    },
  } as const;

  test.each<[object, string]>([
    [{ shared: true }, '--host'],
    [{ host: elsewhere }, '--host'],
    [{ local_worker: { enabled: true } }, '--no-local-worker'],
    [{ local_worker: { gpus: '1' } }, '"local-worker-gpus" in c.json'],
  ])('is not changed by %j, and the answer says by what', async (body, by) => {
    const server = await open({ config });
    expect(await patch(server, body)).toMatchObject({
      status: 409,
      body: { code: 'setting_fixed', detail: expect.stringContaining(by) },
    });
  });

  test('is told, may be repeated as it is, and leaves the rest to be set', async () => {
    const server = await open({ config });
    const body = {
      shared: false,
      local_worker: { enabled: false, gpus: '0' },
      public_url: 'https://yard.example',
    };
    expect(await patch(server, body)).toMatchObject({
      status: 200,
      body: {
        public_url: 'https://yard.example',
        network: { fixed_by: '--host' },
        local_worker: {
          gpus: '0',
          fixed_by: { enabled: '--no-local-worker', gpus: expect.any(String), trainer: null },
        },
      },
    });
  });
});

describe('a public address from a flag', () => {
  const config = {
    publicUrl: 'https://yard.example.org',
    fixedBy: { 'public-url': '--public-url' },
  } as const;

  test('is in the settings and in join commands, and a call cannot change it', async () => {
    const server = await open({ config });
    expect(await view(server)).toMatchObject({
      public_url: 'https://yard.example.org',
      public_url_fixed_by: '--public-url',
    });
    const { id } = await server.createWorker({ name: 'rig-1' });
    const joined = valueOf(await server.admin.call(workersApi.createJoinToken, { params: { id }, body: {} }));
    expect(joined.connection_command).toContain('--orchestrator-url https://yard.example.org ');
    expect(await patch(server, { public_url: 'https://other.example.org' })).toMatchObject({
      status: 409,
      body: { code: 'setting_fixed', detail: expect.stringContaining('--public-url') },
    });
  });

  test('is a name that the server answers under', async () => {
    const server = await open({ config });
    const statusUnder = async (host: string) =>
      (await sendRaw(server.url, { path: '/api/session', headers: [['host', host]] })).status;
    expect(await statusUnder('yard.example.org')).toBe(200);
    expect(await statusUnder('other.example.org')).toBe(421);
  });

  test('hides the one that was set, which counts again without the flag', async () => {
    const dataDir = openFolder();
    const first = await startTestServer({ dataDir });
    await patch(first, { public_url: 'https://set.example.org' });
    await first.close();
    const second = await startTestServer({ dataDir, config });
    expect(await view(second)).toMatchObject({ public_url: 'https://yard.example.org' });
    await patch(second, { audit_retention_days: 30 });
    await second.close();
    expect(await view(await open({ dataDir }))).toMatchObject({
      public_url: 'https://set.example.org',
      public_url_fixed_by: null,
    });
  });
});

describe('a restart', () => {
  test('keeps what was set, in a file for its owner alone', async () => {
    const dataDir = openFolder();
    const first = await startTestServer({ dataDir });
    expect(await patch(first, { host: elsewhere, public_url: 'https://yard.example/fleet/' })).toMatchObject({
      status: 200,
    });
    expect((statSync(settingsFile(first)).mode & 0o777).toString(8)).toBe('600');
    await first.close();
    const second = await open({ dataDir });
    expect(await view(second)).toMatchObject({
      network: { host: elsewhere, listening: [second.url, overNetwork(second)] },
      public_url: 'https://yard.example/fleet',
    });
    expect(await isLive(overNetwork(second))).toBe(true);
  });

  test('a flag counts before what was set, which counts again without it', async () => {
    const dataDir = openFolder();
    const first = await startTestServer({ dataDir });
    await patch(first, { host: elsewhere });
    await first.close();
    const config = { host: '127.0.0.1', fixedBy: { host: '--host' } } as const;
    const second = await startTestServer({ dataDir, config });
    expect(await view(second)).toMatchObject({ network: { host: '127.0.0.1', listening: [second.url] } });
    await patch(second, { public_url: 'https://yard.example' });
    await second.close();
    expect(await view(await open({ dataDir }))).toMatchObject({
      network: { host: elsewhere },
      public_url: 'https://yard.example',
    });
  });

  test('without the address that was shared is one for this machine, and says so', async () => {
    const dataDir = openFolder();
    writeFileSync(
      join(dataDir, 'settings.json'),
      JSON.stringify({
        host: '203.0.113.9',
        public_url: null,
        local_worker: { enabled: false, gpus: null, trainer: null, work_dir: null },
      }),
      { mode: 0o600 },
    );
    const server = await open({ dataDir });
    expect(await isLive(server.url)).toBe(true);
    expect(await view(server)).toMatchObject({ network: { host: '203.0.113.9', listening: [server.url] } });
    expect(server.log.join('')).toMatch(/server\.not_listening.*203\.0\.113\.9/);
  });

  test.each([
    ['cut off', '{"host": "127.0', 0o600, /settings\.json is not what was written/],
    ['of somebody else', '{}', 0o644, /settings\.json can be read by others/],
    [
      'with a host that is none',
      '{"host": "here"}',
      0o600,
      /settings\.json is not what was written \(host: /,
    ],
  ])('with a file that is %s is refused', async (_what, text, mode, reason) => {
    const dataDir = openFolder();
    writeFileSync(join(dataDir, 'settings.json'), text, { mode });
    await expect(startTestServer({ dataDir })).rejects.toThrow(reason);
  });
});
