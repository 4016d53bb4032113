import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { tokensApi } from '../../protocol/tokens-api.ts';
import { runTrainyard } from '../support/cli.ts';
import { startTestServer, valueOf } from '../support/server.ts';

async function openServer() {
  const server = await startTestServer();
  onTestFinished(() => server.close());
  const run = (args: readonly string[], answer?: string) =>
    runTrainyard([...args, '--data-dir', server.dataDir], { ...(answer !== undefined && { answer }) });
  return { server, run };
}

test('creates, lists and restores backups after a confirmation, and undoes the restore', async () => {
  const { server, run } = await openServer();
  await server.createWorker({ name: 'rig-1' });
  const created = await run(['backup', 'create', '-o', 'name']);
  const name = created.out.trim();
  await server.createWorker({ name: 'rig-2' });
  const declined = await run(['backup', 'restore', name], 'n');
  expect(declined).toMatchObject({ code: 1, err: 'Cancelled: nothing was changed\n' });
  expect(declined.questions.join('')).toContain(name);
  const restored = await run(['backup', 'restore', name], 'y');
  expect(restored).toMatchObject({ code: 0, out: expect.stringContaining(name) });
  const [, saved = ''] = /trainyard backup restore (before-restore-\S+\.db)/.exec(restored.err) ?? [];
  expect(restored.out).toContain(saved);
  expect((await run(['backup', 'list'])).out).toMatch(/before-restore-\S+ +restore/);
  const names = async () => (await run(['workers', 'list', '-o', 'name'])).out;
  expect(await names()).toBe('rig-1\n');
  const undoRun = await run(['backup', 'restore', saved, '--yes', '--json']);
  expect(JSON.parse(undoRun.out)).toMatchObject({ restored: { name: saved }, saved: { kind: 'restore' } });
  expect((await names()).split('\n').toSorted()).toEqual(['', 'rig-1', 'rig-2']);
  expect(await run(['audit', 'verify'])).toMatchObject({ code: 0 });
});

test('fails with a specific exit code and reason when a backup cannot be restored', async () => {
  const { server, run } = await openServer();
  expect(await run(['backup', 'restore'])).toMatchObject({ code: 2 });
  expect(await run(['backup', 'restore', 'no-such-backup', '--yes'])).toMatchObject({
    code: 4,
    err: expect.stringContaining('trainyard backup list'),
  });
  const name = (await run(['backup', 'create', '-o', 'name'])).out.trim();
  const { token } = valueOf(
    await server.admin.call(tokensApi.create, { body: { name: 'viewer', permissions: ['queue.view'] } }),
  );
  const runWithoutPermission = await runTrainyard(['backup', 'restore', name, '--yes', '--url', server.url], {
    env: { ADMIN_TOKEN: token },
  });
  expect(runWithoutPermission).toMatchObject({ code: 3, err: expect.stringContaining('admin.tokens') });
  writeFileSync(join(server.dataDir, 'backups', name), 'no database');
  expect(await run(['backup', 'restore', name, '--yes'])).toMatchObject({
    code: 7,
    err: expect.stringContaining('Nothing was changed'),
  });
});
