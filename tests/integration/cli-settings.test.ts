import { expect, onTestFinished, test } from 'vitest';
import { tokensApi } from '../../protocol/tokens-api.ts';
import { runTrainyard } from '../support/cli.ts';
import { startTestServer, type TestServer, valueOf } from '../support/server.ts';

async function openServer(
  options: Parameters<typeof startTestServer>[0] = {},
): Promise<TestServer & { run(...args: readonly string[]): ReturnType<typeof runTrainyard> }> {
  const server = await startTestServer(options);
  onTestFinished(() => server.close());
  return { ...server, run: (...args) => runTrainyard([...args, '--data-dir', server.dataDir]) };
}

test('shows settings as a table, by name, and as JSON', async () => {
  const { run } = await openServer({
    config: { publicUrl: 'https://yard.example.org', fixedBy: { 'public-url': '--public-url' } },
  });
  const all = await run('settings');
  expect(all).toMatchObject({ code: 0, err: '' });
  expect(all.out).toMatch(/^SETTING +VALUE +OVERRIDDEN BY\nshared +no\nhost +127\.0\.0\.1\ntls +no\n/);
  expect(all.out).toMatch(/^public_url +https:\/\/yard\.example\.org +--public-url$/m);
  expect(all.out).toMatch(/^local_worker\.gpus +none$/m);
  expect((await run('settings', 'get')).out).toBe(all.out);
  const selectedSettings = await run(
    'settings',
    'get',
    'audit_retention_days',
    'gpu_troubles.held',
    '-o',
    'name,value',
  );
  expect(selectedSettings.out).toBe('audit_retention_days\t\ngpu_troubles.held\ttrue\n');
  const { out } = await run('settings', 'get', '--json');
  expect(JSON.parse(out)).toMatchObject({
    network: { shared: false },
    public_url: 'https://yard.example.org',
    public_url_fixed_by: '--public-url',
  });
});

test('changes several settings together, and prints the new values', async () => {
  const { run } = await openServer();
  const changed = await run(
    'settings',
    'set',
    'public_url=https://yard.example.org/',
    'audit_retention_days=90',
    'local_worker.gpus=0,1',
    'gpu_troubles.held=no',
  );
  expect(changed).toMatchObject({ code: 0, err: '' });
  expect(changed.out).toMatch(
    /^SETTING .*\npublic_url +https:\/\/yard\.example\.org\naudit_retention_days +90\nlocal_worker\.gpus +0,1\ngpu_troubles\.held +no\n$/,
  );
  const price = await run('settings', 'set', 'electricity.price_per_kwh=0.32', 'electricity.currency=EUR');
  expect(price.out).toMatch(/\nelectricity\.price_per_kwh +0\.32\nelectricity\.currency +EUR\n$/);
  const removed = await run('settings', 'set', 'public_url=none', 'local_worker.gpus=none');
  expect(removed.out).toMatch(/\npublic_url +none\nlocal_worker\.gpus +none\n$/);
  expect((await run('settings', 'get', 'audit_retention_days', '-o', 'value')).out).toBe('90\n');
});

test.each([
  [['set', 'colour=red'], 2, /^Unknown setting "colour"\. Known settings: shared, host, tls, /],
  [['get', 'colour'], 2, /^Unknown setting "colour"/],
  [['set', 'public_url'], 2, /^"public_url" is not in the form NAME=VALUE/],
  [['set', 'shared=maybe'], 2, /^shared: expected yes or no, not "maybe"/],
  [['set', 'shared=none'], 2, /^shared: expected yes or no/],
  [['set', 'audit_retention_days=soon'], 2, /^audit_retention_days: expected number/],
  [['set', 'public_url=yard'], 2, /^public_url: expected an http or https address/],
  [['set', 'shared=yes', 'host=127.0.0.1'], 2, /use either shared or host/],
  [['set', 'host=203.0.113.9'], 5, /203\.0\.113\.9 is not an address of this machine/],
])('refuses settings %j with a reason, and changes nothing', async (args, code, reason) => {
  const { run } = await openServer();
  const before = (await run('settings', '--json')).out;
  const failedRun = await run('settings', ...args);
  expect(failedRun).toMatchObject({ code, out: '' });
  expect(failedRun.err).toMatch(reason);
  expect((await run('settings', '--json')).out).toBe(before);
});

test('exits with 5 when a setting is fixed by a flag', async () => {
  const { run } = await openServer({
    config: { publicUrl: 'https://yard.example.org', fixedBy: { 'public-url': '--public-url' } },
  });
  const failedRun = await run('settings', 'set', 'public_url=https://other.example.org');
  expect(failedRun).toMatchObject({ code: 5, err: expect.stringContaining('--public-url') });
});

const codeIn = (link: string): string => /#sign-in=(\S+)$/m.exec(link)?.[1] ?? '';

async function signInWith(server: TestServer, code: string): Promise<number> {
  const response = await fetch(`${server.url}/api/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: server.url },
    body: JSON.stringify({ code }),
  });
  return response.status;
}

test('creates a sign-in link that works once, and warns when only this machine can open it', async () => {
  const server = await openServer();
  const printedLink = await server.run('link');
  expect(printedLink.code).toBe(0);
  expect(printedLink.out).toMatch(
    new RegExp(`^Open +${server.url}/#sign-in=\\S+\nValid +once, within 10 minutes\n$`),
  );
  expect(printedLink.err).toContain(`Warning: ${server.url} works on this machine only`);
  const code = codeIn(printedLink.out);
  expect([await signInWith(server, code), await signInWith(server, code)]).toEqual([200, 401]);
  expect(server.log.join('')).not.toContain(code);
});

test('creates a sign-in link with the public address, without a warning', async () => {
  const server = await openServer();
  await server.run('settings', 'set', 'public_url=https://yard.example.org/fleet');
  const printedLink = await server.run('link', '-o', 'url');
  expect(printedLink).toMatchObject({ code: 0, err: '' });
  expect(printedLink.out).toMatch(/^https:\/\/yard\.example\.org\/fleet\/#sign-in=\S+\n$/);
});

test('refuses to create a sign-in link for a token without the permission', async () => {
  const { run, admin } = await openServer();
  const body = { name: 'ada', permissions: ['queue.view' as const], expires_in_s: null };
  const { token } = valueOf(await admin.call(tokensApi.create, { body }));
  expect(await run('link', '--token', token)).toMatchObject({ code: 3, out: '' });
});
