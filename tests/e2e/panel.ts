import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, type Page } from '@playwright/test';

/** Through a one-time link, until the panel is there: before that the browser has no session to take elsewhere. */
export async function signIn(page: Page, orchestrator: Orchestrator): Promise<void> {
  await page.goto(orchestrator.url + (await orchestrator.signInPath()));
  await expect(page.getByRole('navigation')).toBeVisible();
}

const root = fileURLToPath(new URL('../../', import.meta.url));

export interface Orchestrator {
  readonly url: string;
  readonly token: string;
  /** A path that signs in, once. */
  signInPath(): Promise<string>;
  /** Another program of ours, told where the orchestrator is; ended with the test. */
  start(args: readonly string[]): void;
  /** What a person would paste into a terminal; `trainyard` is the program of this checkout. The answer ends it. */
  paste(command: string): () => Promise<void>;
  close(): Promise<void>;
  /** As a script would. */
  call(method: string, path: string, body?: unknown): Promise<Readonly<Record<string, unknown>>>;
}

/** A real server in a process of its own, with an empty data folder. */
export async function startOrchestrator(): Promise<Orchestrator> {
  const folder = mkdtempSync(join(tmpdir(), 'trainyard-e2e-'));
  const started: ChildProcess[] = [];
  const run = (args: readonly string[]): ChildProcess => {
    const child = spawn('node', ['main/cli.ts', ...args], {
      cwd: root,
      env: { ...process.env, XDG_CONFIG_HOME: folder, XDG_STATE_HOME: join(folder, 'state') },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    started.push(child);
    return child;
  };
  const url = await readyUrl(run(['server', '--port', '0', '--data-dir', folder, '--json']));
  const tokenFile = join(folder, 'admin-token');
  const token = readFileSync(tokenFile, 'utf8').trim();
  const call: Orchestrator['call'] = async (method, path, body) => {
    const response = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return (await response.json()) as Readonly<Record<string, unknown>>;
  };
  return {
    url,
    token,
    call,
    signInPath: async () => String((await call('POST', '/api/session/link', {}))['path']),
    paste(command) {
      const script = `trainyard() { exec node '${join(root, 'main/cli.ts')}' "$@"; }\n${command}`;
      const child = spawn('sh', ['-c', script], {
        cwd: folder,
        env: { ...process.env, XDG_CONFIG_HOME: folder, XDG_STATE_HOME: join(folder, 'state') },
        stdio: 'ignore',
      });
      started.push(child);
      return () => ended(child);
    },
    start: args => void run([...args, '--url', url, '--token-file', tokenFile]),
    async close() {
      // The youngest first: what works with the server says goodbye to it.
      for (const child of started.toReversed()) await ended(child);
      rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

function readyUrl(server: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    if (server.stdout === null) throw new Error('the server has no stdout');
    createInterface({ input: server.stdout }).once('line', line => {
      const ready = JSON.parse(line) as { readonly url: string };
      resolve(ready.url);
    });
    server.once('exit', code => reject(new Error(`the server ended with ${code}`)));
  });
}

function ended(child: ChildProcess): Promise<void> {
  return new Promise(resolve => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve();
    child.once('exit', () => resolve());
    child.kill('SIGINT');
  });
}
