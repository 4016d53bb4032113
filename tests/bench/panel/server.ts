import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fillLargeFleet, type LargeFleet, type Scale } from '../../support/large-fleet.ts';

export interface LargeServer extends LargeFleet {
  readonly url: string;
  close(): Promise<void>;
}

/** A real server in a process of its own, with as much in its store; for as long as the bench takes nobody is silent. */
export async function startLargeServer(scale: Scale): Promise<LargeServer> {
  const folder = mkdtempSync(join(tmpdir(), 'trainyard-bench-'));
  const fleet = await fillLargeFleet(folder, scale);
  const args = ['main/cli.ts', 'server', '--port', '0', '--data-dir', folder, '--heartbeat-timeout', '3600'];
  const server = spawn(process.execPath, [...args, '--json'], {
    env: { ...process.env, XDG_CONFIG_HOME: folder },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const url = await readyUrl(server);
  return {
    ...fleet,
    url,
    async close() {
      await ended(server);
      rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

const readyUrl = (server: ChildProcess): Promise<string> =>
  new Promise((resolve, reject) => {
    if (server.stdout === null) throw new Error('the server has no stdout');
    createInterface({ input: server.stdout }).once('line', line => {
      const ready = JSON.parse(line) as { readonly url: string };
      resolve(ready.url);
    });
    server.once('exit', code => reject(new Error(`the server ended with ${code}`)));
  });

const ended = (child: ChildProcess): Promise<void> =>
  new Promise(resolve => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve();
    child.once('exit', () => resolve());
    child.kill('SIGINT');
    return undefined;
  });
