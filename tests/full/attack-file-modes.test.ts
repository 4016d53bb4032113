/**
 * Even with umask 0, other users can never read a file of the orchestrator or the agent (docs/internals/faults.md,
 * S20).
 */
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { backupApi } from '../../protocol/backup-api.ts';
import { configsApi } from '../../protocol/configs-api.ts';
import { settingsApi } from '../../protocol/settings-api.ts';
import { tokensApi } from '../../protocol/tokens-api.ts';
import { killProcessesOf, ownerVariable } from '../support/own-processes.ts';
import { watchModes } from '../support/mode-watch.ts';
import { root, startProgram, temporaryFolder } from '../support/processes.ts';
import { adminClient, createShortcuts, valueOf } from '../support/server.ts';
import { watchEvents } from '../support/watch.ts';

const startWithUmaskZero = (argv: readonly string[], env: Readonly<Record<string, string>>) =>
  startProgram(['/bin/sh', '-c', 'umask 000; exec "$0" "$@"', process.execPath, ...argv], { env });

const isWindows = process.platform === 'win32';

test.skipIf(isWindows)(
  'creates every file of the server and the agent with private modes under umask 0',
  async () => {
    const folder = temporaryFolder();
    // Other users must be able to reach the folder, so that only the modes below it protect the files.
    chmodSync(folder, 0o755);
    const env = { [ownerVariable]: folder };
    onTestFinished(() => killProcessesOf(folder));
    const [dataDir, home] = [join(folder, 'data'), join(folder, 'home')];
    mkdirSync(home, { mode: 0o755 });
    // Skip the files that the trainer writes. They have public modes, but are inside a private folder.
    const modes = watchModes(folder, path => path !== home && !/\/output\/./.test(path));
    onTestFinished(() => modes.close());

    const startServer = async (...args: readonly string[]) => {
      const server = startWithUmaskZero(
        [join(root, 'main/cli.ts'), 'server', '--port', '0', '--data-dir', dataDir, '--json', ...args],
        env,
      );
      const [line] = await server.waitForLine(/^\{"ready":true.*/);
      const { url } = JSON.parse(line) as { readonly url: string };
      const admin = adminClient(url, readFileSync(join(dataDir, 'admin-token'), 'utf8').trim());
      return { ...server, url, admin, ...createShortcuts(admin) };
    };
    const server = await startServer();
    const { admin } = server;
    valueOf(await admin.call(tokensApi.create, { body: { name: 'ada', permissions: ['queue.view'] } }));
    const { id, token } = await server.createWorker({ name: 'rig-1' });
    valueOf(await admin.call(configsApi.put, { params: { name: 'flux' }, body: { model_family: 'flux' } }));
    valueOf(await admin.call(settingsApi.change, { body: { public_url: 'https://yard.example' } }));
    valueOf(await admin.call(backupApi.make));
    modes.recordNow();

    const watch = await watchEvents(server.url, readFileSync(join(dataDir, 'admin-token'), 'utf8').trim());
    onTestFinished(() => watch.close());
    const trainer = join(folder, 'trainer.cjs');
    writeFileSync(
      trainer,
      `const { writeFileSync } = require('node:fs');
     const config = JSON.parse(require('node:fs').readFileSync(process.argv[2], 'utf8'));
     writeFileSync(process.argv[3] + '/mine', 'x');
     console.log(process.umask()); process.exitCode = config.code;`,
      { mode: 0o600 },
    );
    const agent = startWithUmaskZero(
      [
        join(root, 'agent/main.ts'),
        '--orchestrator-url',
        server.url,
        '--name',
        'rig-1',
        '--persistent',
        '--trainer',
        `'${process.execPath}' '${trainer}' {config_path} {output_dir}`,
      ],
      { ...env, SIMPLETUNER_WORKER_TOKEN: token, XDG_STATE_HOME: home, XDG_CONFIG_HOME: home },
    );
    await watch.worker(id, 'idle');
    for (const code of [0, 3]) {
      const job = await server.submit({ config: { code }, dataloader: [] });
      const { status } = await watch.jobEnd(job);
      expect(status).toBe(code === 0 ? 'completed' : 'failed');
      modes.recordNow();
      // Proves that the umask applied to all processes.
      const output = join(home, 'trainyard/rig-1/jobs', job, 'output');
      expect(statSync(join(output, 'mine')).mode & 0o777).toBe(0o666);
      expect(statSync(output).mode & 0o777).toBe(0o700);
    }
    agent.kill('SIGTERM');
    await agent.exited;
    server.kill('SIGTERM');
    await server.exited;
    modes.recordNow();
    const restarted = await startServer('--audit-retention-days', '30', '--ssl');
    modes.recordNow();
    restarted.kill('SIGKILL');
    await restarted.exited;
    modes.recordNow();

    expect(modes.open()).toEqual([]);
    expect(modes.recordedCount()).toBeGreaterThan(20);
    const names = [
      'admin-token',
      'audit-key',
      'audit-head',
      'settings.json',
      'trainyard.db',
      'backups',
      'configs',
      'tls',
      'tls/key.pem',
      'tls/cert.pem',
    ];
    for (const name of names) expect(statSync(join(dataDir, name)).mode & 0o077).toBe(0);
  },
  60_000,
);
