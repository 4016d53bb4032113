/** The command line as a TLS client: it trusts a server by pin or authority, and sends no request to other servers. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { runTrainyard } from '../support/cli.ts';
import { temporaryFolder } from '../support/processes.ts';
import { startTestServer } from '../support/server.ts';
import { type Identity, makeIdentity } from '../support/tls/identity.ts';
import { httpAnswer, startListener } from '../support/tls/listener.ts';

/** Starts a server, and a TLS listener with this identity in front of the server. */
async function startFront(identity: Identity) {
  const server = await startTestServer();
  onTestFinished(() => server.close());
  await server.createWorker({ name: 'rig-1' });
  const front = await startListener(identity, { to: server.url });
  const run = (...argv: readonly string[]) =>
    runTrainyard([...argv, '--url', front.url], { env: { ADMIN_TOKEN: server.adminToken } });
  return { server, front, run };
}

describe('the command line over TLS', () => {
  test('trusts a server by its pin in every command', async () => {
    const identity = await makeIdentity({ names: ['elsewhere.test'] });
    const { run } = await startFront(identity);
    const listRun = await run('workers', 'list', '--pin', identity.pin);
    expect(listRun).toMatchObject({ code: 0, out: expect.stringContaining('rig-1') as string });
    expect(await run('audit', 'export', '--pin', identity.pin)).toMatchObject({
      code: 0,
      out: expect.stringContaining('worker.created') as string,
    });
    expect((await run('version', '--pin', identity.pin)).out).toContain(' at https://');
    expect((await run('doctor', '--pin', identity.pin)).out).toMatch(/Token +ok +Valid\./);
  });

  test('reads the event stream of a pinned server', async () => {
    const identity = await makeIdentity();
    const { server, run } = await startFront(identity);
    const job = await server.submit({ config: { trainer: 'selftest' } });
    const watching = run('jobs', 'watch', job, '--pin', identity.pin);
    expect((await run('jobs', 'cancel', job, '--yes', '--pin', identity.pin)).code).toBe(0);
    expect((await watching).out).toContain('cancelled');
  });

  test('trusts a server by its certificate authority', async () => {
    const identity = await makeIdentity();
    const { run } = await startFront(identity);
    const file = join(temporaryFolder(), 'ca.pem');
    writeFileSync(file, identity.cert);
    expect((await run('workers', 'list', '--ca-file', file)).code).toBe(0);
  });

  test.each<[string, (otherIdentity: Identity) => readonly string[], RegExp]>([
    [
      'with another pin',
      otherIdentity => ['--pin', otherIdentity.pin],
      /does not match --pin \(it presented sha256:.*Nothing was sent/,
    ],
    ['without a pin for a self-signed certificate', () => [], /Use --pin with the value from the panel/],
  ])('exits with 6 and sends no request %s', async (_what, args, message) => {
    const [serverIdentity, otherIdentity] = [await makeIdentity(), await makeIdentity()];
    const { front, run } = await startFront(serverIdentity);
    for (const command of [
      ['workers', 'list'],
      ['workers', 'create', 'rig-2'],
      ['audit', 'export'],
    ]) {
      const { code, err } = await run(...command, ...args(otherIdentity));
      expect(code).toBe(6);
      expect(err).toMatch(message);
      expect(err).not.toContain('may have been done');
    }
    await front.ended(3);
    expect(front.wire().length).toBeGreaterThan(100);
    expect(front.received()).toBe('');
  });

  test('names the target of a redirect over TLS, and does not follow the redirect', async () => {
    const identity = await makeIdentity();
    const target = await startListener(identity);
    const answer = httpAnswer(302, '', { location: `${target.url}/x?y=z` });
    const front = await startListener(identity, { answer });
    const args = ['--url', front.url, '--pin', identity.pin];
    const { code, err } = await runTrainyard(['workers', 'list', ...args], {
      env: { ADMIN_TOKEN: 'ta_canary' },
    });
    expect(code).toBe(6);
    expect(err).toContain(`redirects to ${target.url}/x. The token was not sent there`);
    expect(target.connections()).toBe(0);
  });
});
