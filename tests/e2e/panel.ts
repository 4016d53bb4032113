import { type ChildProcess, spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, type Locator, type Page } from '@playwright/test';
import type { Permission } from '../../protocol/call.ts';
import { WorkerId } from '../../protocol/ids.ts';
import { cliFile } from '../support/program-files.ts';
import { failpoint, failpointLine, orderSignal } from '../support/failpoint.ts';
import { killProcessesOf, ownerVariable } from '../support/own-processes.ts';

/** Signs in through a one-time link, and waits until the panel is shown. */
export async function signIn(
  page: Page,
  orchestrator: Pick<Orchestrator, 'url' | 'signInPath'>,
): Promise<void> {
  await page.goto(orchestrator.url + (await orchestrator.signInPath()));
  await expect(page.getByRole('navigation')).toBeVisible();
}

/** Signs in with a token in the form of the panel, and waits until the panel is shown. */
export async function signInWithToken(page: Page, url: string, token: string): Promise<void> {
  await page.goto(url);
  await enterToken(page, token);
  await expect(page.getByRole('navigation')).toBeVisible();
}

/** Submits a token with the sign-in form. The page must already show the form. */
export async function enterToken(page: Page, token: string): Promise<void> {
  await page.getByLabel('Token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

/** Opens the dialog that adds a worker, and goes to the step that asks for a name. */
export async function openJoinDialog(page: Page): Promise<Locator> {
  await page.getByRole('button', { name: 'Add worker' }).first().click();
  const dialog = page.getByRole('dialog');
  await skipSharing(dialog, button => button.click());
  await expect(dialog.getByLabel('Name', { exact: true })).toBeVisible();
  return dialog;
}

/**
 * Skips the step that offers to share a server that only this machine can reach. The dialog shows this step only if the server is
 * not shared. The first button of the step leaves the server unshared.
 */
export async function skipSharing(dialog: Locator, press: (button: Locator) => Promise<void>): Promise<void> {
  const foot = dialog.locator('.dialog-foot');
  await expect(foot).toBeVisible();
  if ((await dialog.locator('form').count()) === 0) await press(foot.getByRole('button').first());
}

/** On the submit page, selects a config by its name in the server's configs folder. */
export const chooseConfig = (page: Page, name: string): Promise<void> =>
  page.getByLabel('Configuration name').fill(name);

export const rowOf = (page: Page, name: string): Locator =>
  page.getByRole('row', { name: new RegExp(`\\b${name}\\b`) });

/** Opens the menu of a row and selects an item by its name. */
export async function selectMenuItem(page: Page, name: string, item: string): Promise<void> {
  await rowOf(page, name).getByRole('button').last().click();
  await page.getByRole('menuitem', { name: item }).click();
}

const root = fileURLToPath(new URL('../../', import.meta.url));
const quoted = (word: string): string => `'${word.replaceAll("'", String.raw`'\''`)}'`;

/** The command that starts the digits trainer, for the worker's option `--trainer`. */
export const digitsTrainer = `${[process.execPath, join(root, 'examples/digits/train.ts')].map(quoted).join(' ')} --config {config_path} --output {output_dir} --resume-from {resume_from}`;

interface OrchestratorOptions {
  readonly args?: readonly string[];
  /** Names of example configs to put into the configs folder. */
  readonly configs?: readonly string[];
  /** Gives the server a wall clock that `shiftClock` can set. It starts this many milliseconds ahead of the machine's clock. */
  readonly clockShiftMs?: number;
}

export interface Orchestrator {
  readonly dataDir: string;
  readonly url: string;
  readonly token: string;
  /** Returns the path of a link that signs in once. */
  signInPath(): Promise<string>;
  /**
   * Runs a command as if pasted into a terminal on the machine with that name. In the command, `trainyard` runs this checkout.
   */
  paste(command: string, machine?: string): Terminal;
  /** Creates a worker, and starts its agent on its own simulated machine. */
  startRig(name: string, options?: RigOptions): Promise<Rig>;
  /** Creates a worker without an agent. */
  createWorker(worker: NewWorker): Promise<{ readonly id: WorkerId; readonly token: string }>;
  /** Creates an API token and returns it. */
  createToken(name: string, permissions: readonly Permission[]): Promise<string>;
  /** Kills the server with SIGKILL. */
  crash(): Promise<void>;
  /** Stops the server's process with SIGSTOP. Its connections stay open, but it answers nothing. */
  freeze(): void;
  thaw(): void;
  /** Starts the server again with the same address and folder. */
  restart(): Promise<void>;
  /** Sets the server's clock this many milliseconds ahead of the machine's clock. Needs the option `clockShiftMs`. */
  shiftClock(byMs: number): Promise<void>;
  close(): Promise<void>;
  /** Makes an API call and returns the JSON of its response. Throws when the status is not 2xx. */
  call(method: string, path: string, body?: unknown): Promise<Readonly<Record<string, unknown>>>;
  /** Submits a job and returns its id. */
  submit(job: object): Promise<string>;
}

export interface Terminal {
  /** Ends the command with Ctrl-C, and waits until it has exited. */
  interrupt(): Promise<void>;
  /** Resolves with the exit code; null when a signal ended the command. */
  readonly exited: Promise<number | null>;
}

interface NewWorker {
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>>;
}

interface RigOptions {
  readonly trainer?: string;
  /** Which outputs the worker uploads; `all` by default. */
  readonly upload?: 'all' | 'none';
  readonly labels?: Readonly<Record<string, string>>;
}

export interface Rig {
  readonly id: string;
  /** Kills the agent, its guard and its trainer without warning. */
  cutPower(): void;
}

/** Starts a real server as a child process, with an empty data folder. */
export async function startOrchestrator(options: OrchestratorOptions = {}): Promise<Orchestrator> {
  const folder = mkdtempSync(join(tmpdir(), 'trainyard-e2e-'));
  const configs = join(folder, 'configs');
  mkdirSync(configs);
  for (const file of options.configs ?? []) copyFileSync(join(root, file), join(configs, basename(file)));
  const programs = createPrograms(folder);
  const clockFile = join(folder, 'clock-order');
  writeFileSync(clockFile, String(options.clockShiftMs ?? 0));
  const clock = failpoint(new URL('../support/failpoint-calendar.ts', import.meta.url), clockFile);
  const startServer = (port: string): Promise<Server> =>
    programs.server(
      ['server', '--port', port, '--data-dir', folder, '--json', ...(options.args ?? [])],
      options.clockShiftMs === undefined ? null : clock,
    );
  let server = await startServer('0');
  const { url } = server;

  const token = readFileSync(join(folder, 'admin-token'), 'utf8').trim();
  const call = createCaller(url, token);
  const createWorker: Orchestrator['createWorker'] = async worker => {
    const created = await call('POST', '/api/admin/workers', worker);
    return { id: WorkerId.parse(created['worker_id']), token: String(created['token']) };
  };
  return {
    dataDir: folder,
    url,
    token,
    call,
    signInPath: async () => String((await call('POST', '/api/session/link', {}))['path']),
    submit: async job => String((await call('POST', '/api/queue/submit', job))['job_id']),
    createWorker,
    createToken: async (name, permissions) =>
      String((await call('POST', '/api/tokens', { name, permissions }))['token']),
    paste: (command, machine = 'terminal') => createTerminal(programs.shell(machine, command)),
    async startRig(name, { trainer, upload = 'all', labels = {} } = {}) {
      const worker = await createWorker({ name, labels });
      const args = ['worker', '--orchestrator-url', url, '--name', name, '--persistent', '--upload', upload];
      if (trainer !== undefined) args.push('--trainer', trainer);
      programs.node(name, args, { SIMPLETUNER_WORKER_TOKEN: worker.token });
      return { id: worker.id, cutPower: () => programs.cutPower(name) };
    },
    async crash() {
      server.child.kill('SIGKILL');
      await exitOf(server.child);
    },
    freeze: () => void server.child.kill('SIGSTOP'),
    thaw: () => void server.child.kill('SIGCONT'),
    async restart() {
      server = await startServer(new URL(url).port);
    },
    async shiftClock(byMs) {
      writeFileSync(clockFile, String(byMs));
      const changed = server.waitForLog(failpointLine(String(byMs)));
      server.child.kill(orderSignal);
      await changed;
    },
    async close() {
      // A stopped process handles no other signal before SIGCONT.
      server.child.kill('SIGCONT');
      programs.end();
      await exitOf(server.child);
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

function createCaller(url: string, token: string): Orchestrator['call'] {
  return async (method, path, body) => {
    const response = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const reply = (await response.json()) as Readonly<Record<string, unknown>>;
    if (!response.ok) throw new Error(`${method} ${path}: ${String(reply['detail'])}`);
    return reply;
  };
}

interface Server {
  readonly child: ChildProcess;
  readonly url: string;
  /** Resolves when the log of the server contains this line. */
  waitForLog(line: string): Promise<void>;
}

/**
 * Starts programs on simulated machines. A machine is a folder with its own configuration and state. All processes of a machine
 * inherit an environment variable, so that `cutPower` can find and kill them.
 */
function createPrograms(folder: string) {
  const homeOf = (machine: string): string => join(folder, 'machines', machine, '/');
  const launch = (machine: string, argv: readonly string[], env: object = {}): ChildProcess => {
    const home = homeOf(machine);
    mkdirSync(home, { recursive: true });
    const [file = '', ...args] = argv;
    return spawn(file, args, {
      cwd: root,
      env: { ...process.env, XDG_CONFIG_HOME: home, XDG_STATE_HOME: home, [ownerVariable]: home, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      // Ctrl-C reaches all processes of a terminal, so they need a process group.
      detached: true,
    });
  };
  /** Discards the output, so that the pipe does not fill up. */
  const discardOutput = (child: ChildProcess): ChildProcess => {
    child.stdout?.resume();
    child.stderr?.resume();
    return child;
  };
  return {
    node: (machine: string, args: readonly string[], env: object = {}): ChildProcess =>
      discardOutput(launch(machine, [process.execPath, cliFile, ...args], env)),
    shell(machine: string, command: string): ChildProcess {
      const script = `trainyard() { exec ${[process.execPath, cliFile].map(quoted).join(' ')} "$@"; }\n${command}`;
      return discardOutput(launch(machine, ['sh', '-c', script], { HOME: homeOf(machine) }));
    },
    async server(
      args: readonly string[],
      clock: { readonly preload: string; readonly env: object } | null,
    ): Promise<Server> {
      const imports = clock === null ? [] : ['--import', clock.preload];
      const child = launch('server', [process.execPath, ...imports, cliFile, ...args], clock?.env);
      const { stdout, stderr } = child;
      if (stdout === null || stderr === null) throw new Error('the server has no output pipes');
      const log = createInterface({ input: stderr });
      // Each change of the clock adds a listener.
      log.setMaxListeners(0);
      const url = await waitForUrl(child, createInterface({ input: stdout }));
      return {
        child,
        url,
        waitForLog: line => new Promise(resolve => log.on('line', logged => logged === line && resolve())),
      };
    },
    cutPower: (machine: string): void => killProcessesOf(homeOf(machine)),
    end: (): void => killProcessesOf(folder),
  };
}

/** Returns the URL from the first line of the server's output, which is JSON. */
function waitForUrl(server: ChildProcess, lines: ReturnType<typeof createInterface>): Promise<string> {
  return new Promise((resolve, reject) => {
    lines.once('line', line => {
      const ready = JSON.parse(line) as { readonly url: string };
      resolve(ready.url);
    });
    server.once('exit', code => reject(new Error(`the server ended with ${code}`)));
  });
}

function createTerminal(child: ChildProcess): Terminal {
  const exited = exitOf(child);
  return {
    exited,
    async interrupt() {
      // A negative id addresses the whole process group.
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGINT');
      await exited;
    },
  };
}

/** Resolves with the exit code; null when a signal ended the process. */
function exitOf(child: ChildProcess): Promise<number | null> {
  return new Promise(resolve => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve(child.exitCode);
    child.once('exit', code => resolve(code));
  });
}
