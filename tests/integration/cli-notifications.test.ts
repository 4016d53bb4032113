import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runTrainyard } from '../support/cli.ts';
import { openReceiver } from '../support/receiver.ts';
import { startTestServer } from '../support/server.ts';

async function openServer() {
  const server = await startTestServer({ config: { notifyAllow: ['127.0.0.1'] } });
  const receiver = await openReceiver(() => 204);
  onTestFinished(() => {
    receiver.close();
    return server.close();
  });
  const urlFile = join(server.dataDir, 'url.txt');
  writeFileSync(urlFile, `${receiver.url}/secret-path\n`);
  const notifications = (args: readonly string[], input?: string) =>
    runTrainyard(['notifications', ...args, '--data-dir', server.dataDir], {
      ...(input !== undefined && { input }),
    });
  return { receiver, urlFile, notifications };
}

test('creates a signed webhook, prints its new secret once on stderr, and sends a test', async () => {
  const { receiver, urlFile, notifications } = await openServer();
  const created = await notifications([
    'channels',
    'create',
    'ci',
    '--kind',
    'webhook',
    '--url-file',
    urlFile,
  ]);
  expect(created).toMatchObject({ code: 0, err: expect.stringMatching(/shown only once: \S{43}\n/) });
  const testRun = await notifications(['channels', 'test', 'ci', '--json']);
  expect(JSON.parse(testRun.out)).toEqual({ ok: true, detail: 'HTTP 204' });
  expect(receiver.received.map(({ path }) => path)).toEqual(['/secret-path']);
  const channelList = await notifications(['channels', 'list']);
  expect(channelList.out).toMatch(/ci +webhook +127\.0\.0\.1/);
  expect(created.out + channelList.out).not.toContain('secret-path');
});

test('reads the target of a channel from standard input in channels create and channels set', async () => {
  const { receiver, notifications } = await openServer();
  const target = JSON.stringify({ kind: 'ntfy', url: receiver.url, topic: 'rigs' });
  expect(await notifications(['channels', 'create', 'phone', '--file', '-'], target)).toMatchObject({
    code: 0,
  });
  const setRun = await notifications(['channels', 'set', 'phone', '--name', 'mobile', '--file', '-'], target);
  expect(setRun.out).toContain('mobile');
  expect(await notifications(['channels', 'test', 'mobile'])).toMatchObject({ code: 0 });
  const disableRun = await notifications(['channels', 'set', 'mobile', '--disable', '--json']);
  expect(JSON.parse(disableRun.out)).toMatchObject({ name: 'mobile', enabled: false });
  const enableRun = await notifications(['channels', 'set', 'mobile', '--enable', '--json']);
  expect(JSON.parse(enableRun.out)).toMatchObject({ enabled: true });
});

test('creates, changes and deletes a notification rule, and keeps settings that a change does not name', async () => {
  const { urlFile, notifications } = await openServer();
  await notifications(['channels', 'create', 'team', '--kind', 'discord', '--url-file', urlFile]);
  const created = await notifications([
    'rules',
    'create',
    'team',
    '--on',
    'job_failed,no_progress',
    '-o',
    'rule_id',
  ]);
  const id = created.out.trim();
  const setRun = await notifications([
    'rules',
    'set',
    id,
    '--user',
    'ana',
    '--tag',
    'faces',
    '--stalled-minutes',
    '5',
    '--disable',
    '--json',
  ]);
  expect(JSON.parse(setRun.out)).toMatchObject({
    events: ['job_failed', 'no_progress'],
    user: 'ana',
    tag: 'faces',
    stalled_minutes: 5,
    enabled: false,
  });
  const all = await notifications([
    'rules',
    'set',
    id,
    '--user',
    'all',
    '--tag',
    'all',
    '--enable',
    '--json',
  ]);
  expect(JSON.parse(all.out)).toMatchObject({ user: null, tag: null, stalled_minutes: 5, enabled: true });
  expect((await notifications(['rules'])).out).toContain('job_failed no_progress');
  expect(await notifications(['rules', 'delete', id, '--yes'])).toMatchObject({ code: 0 });
  expect(await notifications(['channels', 'delete', 'team', '--yes'])).toMatchObject({ code: 0 });
  expect((await notifications(['log'])).err).toContain('No deliveries');
});

test.each([
  [['channels', 'create', 'x'], 2, '--url-file'],
  [['channels', 'create', 'x', '--kind', 'discord'], 2, 'both'],
  [['channels', 'create', 'x', '--kind', 'discord', '--url-file', '/nonexistent'], 2, 'cannot be read'],
  [['channels', 'create', 'x', '--kind', 'discord', '--url-file', '-'], 2, 'terminal'],
  [['channels', 'set', 'x'], 2, '--name'],
  [['channels', 'test', 'x'], 4, 'channels list'],
  [['rules', 'create', 'x', '--on', 'job_exploded'], 2, 'job_exploded'],
  [['rules', 'set', 'x'], 2, '--on'],
  [['rules', 'delete', 'x', '--yes'], 4, 'rules list'],
])('fails for notifications %j with exit code %d', async (args, code, message) => {
  const { notifications } = await openServer();
  expect(await notifications(args)).toMatchObject({ code, err: expect.stringContaining(message) });
});
