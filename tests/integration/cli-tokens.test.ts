import { expect, onTestFinished, test } from 'vitest';
import { runTrainyard } from '../support/cli.ts';
import { startTestServer } from '../support/server.ts';

async function openServer() {
  const server = await startTestServer();
  onTestFinished(() => server.close());
  const tokens = (args: readonly string[], answer?: string) =>
    runTrainyard(['tokens', ...args, '--data-dir', server.dataDir], {
      ...(answer !== undefined && { answer }),
    });
  return { server, tokens };
}

test('creates a token with limited permissions, lists it, and revokes it by name', async () => {
  const { server, tokens } = await openServer();
  expect(await tokens(['list'])).toMatchObject({ out: '', err: expect.stringContaining('tokens create') });
  const created = await tokens([
    'create',
    'nightly',
    '--allow',
    'queue.view,queue.submit',
    '--expires',
    '90d',
    '-o',
    'token',
  ]);
  expect(created).toMatchObject({ code: 0, err: expect.stringContaining('only once') });
  const asNightly = (...args: readonly string[]) =>
    runTrainyard([...args, '--url', server.url], { env: { ADMIN_TOKEN: created.out.trim() } });
  expect(await asNightly('queue', 'status')).toMatchObject({ code: 0 });
  expect(await asNightly('queue', 'pause')).toMatchObject({
    code: 3,
    err: expect.stringContaining('queue.manage'),
  });
  const tokenList = await tokens(['list']);
  expect(tokenList.out).toMatch(/nightly +queue\.view queue\.submit +\d{4}-/);
  expect(tokenList.out).not.toContain(created.out.trim());
  expect(await tokens(['revoke', 'nightly'], 'n')).toMatchObject({
    code: 1,
    err: 'Cancelled: nothing was changed\n',
  });
  expect(await tokens(['revoke', 'nightly'], 'y')).toMatchObject({
    code: 0,
    out: expect.stringContaining('nightly'),
  });
  expect(await asNightly('queue', 'status')).toMatchObject({ code: 3 });
});

test.each([
  [['create', 'x', '--allow', ''], 2, '--allow'],
  [['create', 'x', '--allow', 'root'], 2, 'root'],
  [['create', 'a\nb', '--allow', 'queue.view'], 2, 'NAME'],
  [['create', 'x', '--allow', 'queue.view', '--expires', 'soon'], 2, 'soon'],
  [['create', 'admin', '--allow', 'queue.view'], 5, 'in use'],
  [['revoke', 'nobody'], 4, 'nobody'],
])('fails for tokens %j with exit code %d', async (args, code, message) => {
  const { tokens } = await openServer();
  expect(await tokens(args)).toMatchObject({ code, err: expect.stringContaining(message) });
});
