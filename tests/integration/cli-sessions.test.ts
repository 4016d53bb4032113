import { expect, onTestFinished, test } from 'vitest';
import { runTrainyard } from '../support/cli.ts';
import { startTestServer } from '../support/server.ts';

async function openServer() {
  const server = await startTestServer();
  onTestFinished(() => server.close());
  const signIn = async (): Promise<void> => {
    const response = await fetch(`${server.url}/api/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: server.url, 'user-agent': 'probe/1.2' },
      body: JSON.stringify({ token: server.adminToken }),
    });
    expect(response.status).toBe(200);
  };
  const sessions = (...args: readonly string[]) =>
    runTrainyard(['sessions', ...args, '--data-dir', server.dataDir]);
  return { signIn, sessions };
}

test('lists sessions, revokes one by its id, and revokes all', async () => {
  const { signIn, sessions } = await openServer();
  expect(await sessions('list')).toMatchObject({
    code: 0,
    out: '',
    err: 'No browser sessions. To sign in, run "trainyard link"\n',
  });
  for (let count = 0; count < 3; count += 1) await signIn();
  const sessionList = await sessions('list', '-o', 'id,device');
  expect(sessionList.out).toMatch(/^(?:se_\w+\tprobe 1\n){3}$/);
  const id = sessionList.out.split('\t', 1)[0] ?? '';
  expect(await sessions('revoke', id)).toMatchObject({ code: 0, out: expect.stringContaining(id) });
  expect(await sessions('revoke', id)).toMatchObject({ code: 4, err: expect.stringContaining(id) });
  expect(await sessions('revoke', '--all', '--yes', '-o', 'revoked')).toMatchObject({ code: 0, out: '2\n' });
});

test.each([[[]], [['se_1', '--all']], [['no id']]])('exits with 2 for sessions revoke %j', async args => {
  const { sessions } = await openServer();
  expect(await sessions('revoke', ...args)).toMatchObject({ code: 2 });
});
