import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { workersApi } from '../../../protocol/admin-api.ts';
import { openFolder } from '../../support/fleet-bench.ts';
import { sendRaw } from '../../support/raw-request.ts';
import { startTestServer, valueOf } from '../../support/server.ts';
import {
  networkHost,
  isLive,
  openServer,
  networkHttpUrl,
  patchSettings,
  settingsFile,
  readSettings,
} from './settings-bench.ts';

describe('fixed settings', () => {
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
    [{ host: networkHost }, '--host'],
    [{ local_worker: { enabled: true } }, '--no-local-worker'],
    [{ local_worker: { gpus: '1' } }, '"local-worker-gpus" in c.json'],
  ])(
    'refuses the change %j of a fixed setting, and names the flag or file that fixes it',
    async (body, source) => {
      const server = await openServer({ config });
      expect(await patchSettings(server, body)).toMatchObject({
        status: 409,
        body: { code: 'setting_fixed', detail: expect.stringContaining(source) },
      });
    },
  );

  test('shows fixed settings, accepts their current values, and changes other settings', async () => {
    const server = await openServer({ config });
    const body = {
      shared: false,
      local_worker: { enabled: false, gpus: '0' },
      public_url: 'https://yard.example',
    };
    expect(await patchSettings(server, body)).toMatchObject({
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

  test('shows the public address from a flag, uses it in join commands, and refuses to change it', async () => {
    const server = await openServer({ config });
    expect(await readSettings(server)).toMatchObject({
      public_url: 'https://yard.example.org',
      public_url_fixed_by: '--public-url',
    });
    const { id } = await server.createWorker({ name: 'rig-1' });
    const joinToken = valueOf(
      await server.admin.call(workersApi.createJoinToken, { params: { id }, body: {} }),
    );
    expect(joinToken.connection_command).toContain('--orchestrator-url https://yard.example.org ');
    expect(await patchSettings(server, { public_url: 'https://other.example.org' })).toMatchObject({
      status: 409,
      body: { code: 'setting_fixed', detail: expect.stringContaining('--public-url') },
    });
  });

  test('accepts requests to the host name of the public address', async () => {
    const server = await openServer({ config });
    const statusUnder = async (host: string) =>
      (await sendRaw(server.url, { path: '/api/session', headers: [['host', host]] })).status;
    expect(await statusUnder('yard.example.org')).toBe(200);
    expect(await statusUnder('other.example.org')).toBe(421);
  });

  test('prefers the flag to the saved public address until the flag is gone', async () => {
    const dataDir = openFolder();
    const first = await startTestServer({ dataDir });
    await patchSettings(first, { public_url: 'https://set.example.org' });
    await first.close();
    const second = await startTestServer({ dataDir, config });
    expect(await readSettings(second)).toMatchObject({ public_url: 'https://yard.example.org' });
    await patchSettings(second, { audit_retention_days: 30 });
    await second.close();
    expect(await readSettings(await openServer({ dataDir }))).toMatchObject({
      public_url: 'https://set.example.org',
      public_url_fixed_by: null,
    });
  });
});

describe('settings after a restart', () => {
  test('keeps settings across a restart, in a file that only its owner can read', async () => {
    const dataDir = openFolder();
    const first = await startTestServer({ dataDir });
    expect(
      await patchSettings(first, { host: networkHost, public_url: 'https://yard.example/fleet/' }),
    ).toMatchObject({
      status: 200,
    });
    expect((statSync(settingsFile(first)).mode & 0o777).toString(8)).toBe('600');
    await first.close();
    const second = await openServer({ dataDir });
    expect(await readSettings(second)).toMatchObject({
      network: { host: networkHost, listening: [second.url, networkHttpUrl(second)] },
      public_url: 'https://yard.example/fleet',
    });
    expect(await isLive(networkHttpUrl(second))).toBe(true);
  });

  test('prefers a flag to the saved setting until the flag is gone', async () => {
    const dataDir = openFolder();
    const first = await startTestServer({ dataDir });
    await patchSettings(first, { host: networkHost });
    await first.close();
    const config = { host: '127.0.0.1', fixedBy: { host: '--host' } } as const;
    const second = await startTestServer({ dataDir, config });
    expect(await readSettings(second)).toMatchObject({
      network: { host: '127.0.0.1', listening: [second.url] },
    });
    await patchSettings(second, { public_url: 'https://yard.example' });
    await second.close();
    expect(await readSettings(await openServer({ dataDir }))).toMatchObject({
      network: { host: networkHost },
      public_url: 'https://yard.example',
    });
  });

  test('listens only on this machine when the shared address does not exist, and logs that', async () => {
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
    const server = await openServer({ dataDir });
    expect(await isLive(server.url)).toBe(true);
    expect(await readSettings(server)).toMatchObject({
      network: { host: '203.0.113.9', listening: [server.url] },
    });
    expect(server.log.join('')).toMatch(/server\.not_listening.*203\.0\.113\.9/);
  });

  test.each([
    ['truncated', '{"host": "127.0', 0o600, /settings\.json is damaged/],
    ['readable by others', '{}', 0o644, /settings\.json can be read by others/],
    ['invalid because of its host', '{"host": "here"}', 0o600, /settings\.json is damaged \(host: /],
  ])('refuses to start with a settings file that is %s', async (_what, text, mode, reason) => {
    const dataDir = openFolder();
    writeFileSync(join(dataDir, 'settings.json'), text, { mode });
    await expect(startTestServer({ dataDir })).rejects.toThrow(reason);
  });
});
