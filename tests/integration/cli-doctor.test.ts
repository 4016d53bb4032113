import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import dns from 'node:dns';
import { expect, onTestFinished, test, vi } from 'vitest';
import { version } from '../../protocol/version.ts';
import { runTrainyard } from '../support/cli.ts';
import { startServer, temporaryFolder } from '../support/processes.ts';
import { startTestServer } from '../support/server.ts';

interface CheckResult {
  readonly what: string;
  readonly result: string;
  readonly detail: string;
}

async function doctor(dataDir: string, ...args: readonly string[]) {
  const { code, out, err } = await runTrainyard(['doctor', '--data-dir', dataDir, '--json', ...args]);
  expect(err).toBe('');
  const checks = JSON.parse(out) as readonly CheckResult[];
  return {
    code,
    results: Object.fromEntries(checks.map(({ what, result }) => [what, result])),
    detailOf: (what: string) => checks.find(check => check.what === what)?.detail,
  };
}

test('passes every check on a running server, and reports each fault separately', async () => {
  const server = await startTestServer();
  onTestFinished(() => server.close());
  const { dataDir } = server;
  const healthy = {
    'Data folder': 'ok',
    Disk: 'ok',
    Lock: 'ok',
    Database: 'ok',
    Orchestrator: 'ok',
    Token: 'ok',
  };
  expect(await doctor(dataDir)).toMatchObject({ code: 0, results: healthy });
  const file = join(temporaryFolder(), 'token');
  writeFileSync(file, 'ta_wrong', { mode: 0o600 });
  const wrongTokenRun = await doctor(dataDir, '--token-file', file);
  expect(wrongTokenRun).toMatchObject({ code: 1, results: { ...healthy, Token: 'failed' } });
  expect(wrongTokenRun.detailOf('Token')).toContain('Invalid token');
  const tokenRun = await runTrainyard([
    'tokens',
    'create',
    'nightly',
    '--allow',
    'queue.view',
    '-o',
    'token',
    '--data-dir',
    dataDir,
  ]);
  writeFileSync(file, tokenRun.out, { mode: 0o600 });
  const limited = await doctor(dataDir, '--token-file', file);
  expect(limited).toMatchObject({ code: 0, results: healthy });
  expect(limited.detailOf('Token')).toBe(
    'Valid. It lacks the permission admin.workers, which commands for workers need',
  );
  chmodSync(join(dataDir, 'audit-key'), 0o644);
  const exposedKeyRun = await doctor(dataDir);
  expect(exposedKeyRun).toMatchObject({ code: 1, results: { ...healthy, 'Data folder': 'failed' } });
  expect(exposedKeyRun.detailOf('Data folder')).toContain(`chmod 600 ${join(dataDir, 'audit-key')}`);
  chmodSync(dataDir, 0o770);
  expect((await doctor(dataDir)).detailOf('Data folder')).toContain(`chmod go-w ${dataDir}`);
});

test('suggests --allow-host when the server rejects the host name, and passes when the server allows it', async () => {
  // Only this test resolves the host name, like a name that is known only in the server's network.
  const name = 'yard.example.org';
  const lookup = dns.lookup.bind(dns);
  vi.spyOn(dns, 'lookup').mockImplementation(((host: string, ...rest: never[]) =>
    (lookup as (...all: readonly unknown[]) => void)(host === name ? '127.0.0.1' : host, ...rest)) as never);
  onTestFinished(() => void vi.restoreAllMocks());
  const open = async (allowHosts: readonly string[]) => {
    const server = await startTestServer({ config: { allowHosts } });
    onTestFinished(() => server.close());
    return { server, url: server.url.replace('127.0.0.1', name) };
  };
  const strict = await open([]);
  const refused = await doctor(strict.server.dataDir, '--url', strict.url);
  expect(refused).toMatchObject({ code: 1, results: { Orchestrator: 'failed', Token: 'skipped' } });
  expect(refused.detailOf('Orchestrator')).toContain(`Start it with --allow-host ${name}`);
  const allowing = await open([name]);
  const accepted = await doctor(allowing.server.dataDir, '--url', allowing.url);
  expect(accepted.results).toMatchObject({ Orchestrator: 'ok' });
});

test('reports a killed server and whether its database is intact', async () => {
  const server = await startServer();
  server.kill('SIGKILL');
  await server.exited;
  const { dataDir } = server;
  const killed = await doctor(dataDir);
  expect(killed).toMatchObject({
    code: 1,
    results: { Lock: 'ok', Database: 'ok', Orchestrator: 'failed', Token: 'skipped' },
  });
  expect(killed.detailOf('Orchestrator')).toMatch(/Connection refused\. Check the address and port/);
  writeFileSync(join(dataDir, 'trainyard.db'), 'something else');
  const damagedRun = await doctor(dataDir);
  expect(damagedRun.results).toMatchObject({ Database: 'failed' });
  expect(damagedRun.detailOf('Database')).toContain('The next start of the server restores the last backup');
});

test('keeps the server running and logs the failure when its url file cannot be written', async () => {
  const dataDir = temporaryFolder();
  // A folder with the name of the temporary file makes the write fail, as a full disk does.
  mkdirSync(join(dataDir, 'url.new'));
  const server = await startServer([], dataDir);
  onTestFinished(() => server.kill('SIGKILL'));
  await server.waitForLine(/"event":"server\.not_announced"/);
  const { code, err } = await runTrainyard(['workers', 'list', '--data-dir', dataDir]);
  expect([code, err]).toEqual([6, expect.stringContaining('give its address with --url')]);
  server.kill('SIGTERM');
  expect(await server.exited).toEqual({ code: 0, signal: null });
});

test('writes a report with checks and settings to a new file, without tokens', async () => {
  const server = await startTestServer();
  onTestFinished(() => server.close());
  const { dataDir, adminToken } = server;
  mkdirSync(join(dataDir, 'desktop/logs'), { recursive: true });
  writeFileSync(join(dataDir, 'desktop/logs/main.log'), `seen Bearer ${adminToken}\n`);
  const file = join(temporaryFolder(), 'report.txt');
  const run = () => runTrainyard(['doctor', '--data-dir', dataDir, '--bundle', file]);
  const written = await run();
  expect(written).toMatchObject({ code: 0, err: expect.stringContaining(`Wrote ${file}`) });
  const report = readFileSync(file, 'utf8');
  expect(report).toContain('Database: ok. In use by the orchestrator\n');
  expect(report).toContain(`data_dir: ${dataDir}\n`);
  expect(report).toContain('seen Bearer [redacted]\n');
  expect(report).not.toContain(adminToken);
  const repeatedRun = await run();
  expect(repeatedRun).toMatchObject({ code: 1, err: expect.stringContaining('Cannot write the report') });
  expect(readFileSync(file, 'utf8')).toBe(report);
});

test('skips the checks and explains how to start when there is no data folder', async () => {
  const withoutFolder = await doctor('/nonexistent/folder');
  expect(withoutFolder).toMatchObject({ code: 1, results: { 'Data folder': 'skipped', Token: 'skipped' } });
  expect(withoutFolder.detailOf('Orchestrator')).toContain('Start one with "trainyard server"');
});

test('prints the version of a reachable server, and exits with 0 also when no server is reachable', async () => {
  const server = await startTestServer();
  const withServer = await runTrainyard(['version', '--url', server.url, '--json']);
  await server.close();
  expect(withServer).toMatchObject({ code: 0, err: '' });
  expect(JSON.parse(withServer.out)).toMatchObject({
    version,
    server_version: version,
    server_url: server.url,
  });
  const unreachableServer = await runTrainyard(['version', '--url', server.url]);
  expect(unreachableServer.code).toBe(0);
  expect(unreachableServer.out).toMatch(/^Trainyard +\S+ on Node v.*\nOrchestrator +.*Connection refused/);
});
