/**
 * Starts the app with one of three drivers: the current Electron, Electron 33 from the npm registry, or the stand-in
 * (stand-in/register.ts), which runs the app without Electron.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  _electron,
  chromium,
  type ElectronApplication,
  expect,
  type Page,
  test as base,
} from '@playwright/test';
import { type Orchestrator, startOrchestrator } from '../../e2e/panel.ts';
import type { DriverOptions } from '../../../playwright.desktop.config.ts';
import type { Inspection, Order } from './stand-in/control.ts';

/** Environment variables with the paths of the Electron programs. tests/desktop/run.ts sets them. */
export const electronVariables = {
  electron: 'TRAINYARD_ELECTRON',
  'electron-33': 'TRAINYARD_ELECTRON_33',
} as const;

const root = fileURLToPath(new URL('../../../', import.meta.url));
const entry = join(root, 'dist/main/desktop.js');
const register = new URL('stand-in/register.ts', import.meta.url).href;

export interface App {
  readonly page: Page;
  /** Electron itself; null with the stand-in. */
  readonly electron: ElectronApplication | null;
  /** Returns the calls that the stand-in has recorded. Rejects when the driver is Electron. */
  readonly inspect: () => Promise<Inspection>;
  /** Makes the stand-in execute an order, and returns the result. Rejects when the driver is Electron. */
  readonly order: (order: Order) => Promise<unknown>;
  /** Resolves with the exit code when the app has ended. */
  readonly exited: Promise<number | null>;
  readonly kill: (signal: NodeJS.Signals) => void;
}

export interface Started {
  readonly dataDir: string;
  readonly args?: readonly string[];
}

interface Fixtures {
  readonly dataDir: string;
  /** An orchestrator in a separate process. */
  readonly orchestrator: Orchestrator;
  readonly start: (started: Started) => Promise<App>;
}

export const test = base.extend<Fixtures & DriverOptions>({
  driver: ['stand-in', { option: true }],
  dataDir: async ({ driver }, use) => {
    const folder = mkdtempSync(join(tmpdir(), `trainyard-${driver}-`));
    await use(folder);
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  },
  orchestrator: async ({ driver }, use, info) => {
    info.annotations.push({ type: 'driver', description: driver });
    const orchestrator = await startOrchestrator();
    await use(orchestrator);
    await orchestrator.close();
  },
  start: async ({ driver }, use) => {
    const apps: App[] = [];
    await use(async started => {
      const app = driver === 'stand-in' ? await startStandIn(started) : await startElectron(driver, started);
      apps.push(app);
      return app;
    });
    for (const app of apps) app.kill('SIGKILL');
    await Promise.all(apps.map(({ exited }) => exited));
  },
});

/**
 * Writes settings with which the app connects to a remote orchestrator and starts no embedded one. Call it before the app's first
 * start.
 */
export function useRemoteOrchestrator(
  dataDir: string,
  { url, token }: { readonly url: string; readonly token: string },
): void {
  const fleet = {
    id: 'f_0123456789',
    name: 'Workstation',
    url,
    pin: null,
    token: { kept: 'plain', text: token },
  };
  mkdirSync(join(dataDir, 'desktop'), { recursive: true });
  const settings = { fleets: [fleet], shown: fleet.id, runs_own: false };
  writeFileSync(join(dataDir, 'desktop/desktop.json'), JSON.stringify(settings));
}

const environment = (dataDir: string): Record<string, string> => ({
  ...Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  ),
  // The app must not use the settings of the user who runs the tests.
  XDG_CONFIG_HOME: join(dataDir, 'config'),
  TRAINYARD_NODE: process.execPath,
});

const argumentsOf = ({ dataDir, args = [] }: Started): readonly string[] => [
  '--data-dir',
  dataDir,
  '--port',
  '0',
  ...args,
];

async function startElectron(driver: 'electron' | 'electron-33', started: Started): Promise<App> {
  const executablePath = process.env[electronVariables[driver]] ?? '';
  const electron = await _electron.launch({
    executablePath,
    // Electron 33 accepts no entry point as an argument, so its folder already contains the app.
    args: [...(driver === 'electron' ? [entry] : []), ...argumentsOf(started)],
    env: environment(started.dataDir),
  });
  const child = electron.process();
  const page = await electron.firstWindow();
  return {
    page,
    electron,
    inspect: () => Promise.reject(new Error('only the stand-in can be inspected')),
    order: () => Promise.reject(new Error('only the stand-in accepts orders')),
    exited: exitOf(child),
    kill: signal => void child.kill(signal),
  };
}

async function startStandIn(started: Started): Promise<App> {
  const child = fork(entry, argumentsOf(started), {
    cwd: root,
    execArgv: ['--import', register],
    env: environment(started.dataDir),
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (text: Buffer) => {
      output = (output + text.toString()).slice(-4_000);
    });
  const order = createOrders(child);
  const exited = exitOf(child);
  const userData = join(started.dataDir, 'desktop');
  const ready = join(userData, 'stand-in-ready');
  let isOver = false;
  void exited.then(() => {
    isOver = true;
  });
  await expect.poll(() => isOver || existsSync(ready), { timeout: 30_000 }).toBe(true);
  if (isOver) throw new Error(`the app has ended: ${output}`);
  const [port] = readFileSync(join(userData, 'chromium/DevToolsActivePort'), 'utf8').split('\n');
  const browser = await chromium.connectOverCDP(`http://127.0.0.1:${port}`);
  const page = browser.contexts()[0]?.pages()[0];
  if (page === undefined) throw new Error('the stand-in has no page');
  return {
    page,
    electron: null,
    inspect: async () => (await order({ do: 'inspect' })) as Inspection,
    order,
    exited,
    kill: signal => void child.kill(signal),
  };
}

function createOrders(child: ChildProcess): App['order'] {
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  let last = 0;
  child.on('message', (reply: { readonly id: number; readonly value?: unknown; readonly error?: string }) => {
    const pending = waiting.get(reply.id);
    waiting.delete(reply.id);
    if (reply.error === undefined) pending?.resolve(reply.value);
    else pending?.reject(new Error(reply.error));
  });
  return order => {
    last += 1;
    const pending = Promise.withResolvers<unknown>();
    waiting.set(last, pending);
    child.send({ id: last, order });
    return pending.promise;
  };
}

function exitOf(child: ChildProcess): Promise<number | null> {
  return new Promise(resolve => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve(child.exitCode);
    child.once('exit', code => resolve(code));
  });
}
