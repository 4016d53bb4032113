import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { queueApi } from '../../../protocol/queue-api.ts';
import { openFolder } from '../../support/fleet-bench.ts';
import { eventually } from '../../support/notices.ts';
import { startTestServer, type TestServer } from '../../support/server.ts';
import { openServer, patchSettings, readSettings } from './settings-bench.ts';

// Headers that proxies, CDNs and tunnels add.
const forwardingHeaders = [
  'forwarded',
  'via',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-forwarded',
  'x-real-ip',
  'x-client-ip',
  'x-cluster-client-ip',
  'x-original-forwarded-for',
  'x-envoy-external-address',
  'true-client-ip',
  'cf-connecting-ip',
  'cf-ray',
  'cdn-loop',
  'fastly-client-ip',
  'fly-client-ip',
  'x-azure-clientip',
  'x-appengine-user-ip',
];

describe('the setting of the local worker', () => {
  // A worker program that runs until its stdin ends.
  const program = {
    command: [
      process.execPath,
      '-e',
      'process.stdin.resume(); process.stdin.on("end", () => process.exit()); setInterval(() => {}, 1e3)',
      '--',
    ],
    env: {},
  };
  const submitHere = (server: TestServer) =>
    server.admin.call(queueApi.submit, { body: { config: {}, target: 'local' } });
  const waitForLog = (server: TestServer, word: string) =>
    eventually(word, () => server.log.find(line => line.includes(word)));

  test('starts and stops the local worker, and accepts local jobs only while that worker is enabled', async () => {
    const server = await openServer({ agent: program });
    expect(await submitHere(server)).toMatchObject({ failure: { problem: { code: 'target_unavailable' } } });
    expect(await patchSettings(server, { local_worker: { enabled: true, gpus: '0' } })).toMatchObject({
      status: 200,
      body: { local_worker: { enabled: true, state: 'on', gpus: '0' } },
    });
    await waitForLog(server, 'local_worker.started');
    const settings = JSON.parse(
      readFileSync(join(server.dataDir, 'local-worker/worker.json'), 'utf8'),
    ) as unknown;
    expect(settings).toMatchObject({ 'orchestrator-url': server.url, gpus: '0' });
    expect(await submitHere(server)).toMatchObject({ ok: true, value: { status: 'queued' } });

    expect(await patchSettings(server, { local_worker: { enabled: false } })).toMatchObject({
      status: 200,
      body: { local_worker: { enabled: false, gpus: '0' } },
    });
    expect(await submitHere(server)).toMatchObject({ failure: { problem: { code: 'target_unavailable' } } });
    await waitForLog(server, 'local_worker.ended');
    expect(await readSettings(server)).toMatchObject({ local_worker: { state: 'off' } });
    expect(server.log.join('')).not.toContain('local_worker.starts_again');
  });

  test('starts the local worker again after a restart of the server', async () => {
    const dataDir = openFolder();
    const first = await startTestServer({ dataDir, agent: program });
    await patchSettings(first, { local_worker: { enabled: true } });
    await first.close();
    const second = await openServer({ dataDir, agent: program });
    await waitForLog(second, 'local_worker.started');
    expect(await readSettings(second)).toMatchObject({ local_worker: { enabled: true, state: 'on' } });
    expect(await submitHere(second)).toMatchObject({ ok: true });
  });

  test('refuses to set trainer and work folder of the local worker in a request through a proxy', async () => {
    const server = await openServer({ agent: program });
    for (const header of forwardingHeaders)
      for (const body of [{ trainer: 'sh -c id' }, { work_dir: '/tmp' }])
        expect(
          await patchSettings(server, { local_worker: body }, { [header]: 'for=192.0.2.9' }),
        ).toMatchObject({
          status: 403,
          body: { code: 'only_from_here' },
        });
    const forwardedHeaders = { 'x-forwarded-for': '192.0.2.9' };
    expect(
      await patchSettings(server, { local_worker: { gpus: '0,1', trainer: null } }, forwardedHeaders),
    ).toMatchObject({
      status: 200,
      body: { local_worker: { gpus: '0,1', trainer: null, command_allowed: false } },
    });
    expect(
      await patchSettings(server, { local_worker: { trainer: 'node train.ts', work_dir: '/big/jobs' } }),
    ).toMatchObject({
      status: 200,
      body: {
        local_worker: { gpus: '0,1', trainer: 'node train.ts', work_dir: '/big/jobs', command_allowed: true },
      },
    });
  });
});
