/** `npm start`: starts the desktop app if possible, otherwise the server with the panel in a browser. See docs/desktop.md. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { constants } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { requiredFiles, backgroundBuilds, planStart, type StartPlan } from './start-plan.ts';

const root = resolve(fileURLToPath(new URL('../', import.meta.url)));
const options = process.argv.slice(2);
/** The options of the app or the server. */
const args = options.filter(option => option !== '--headless');

const vite = join(root, 'node_modules/vite/bin/vite.js');
const buildPanel = join(root, 'dev/build-panel.ts');

const log = (line: string): void => void process.stderr.write(`${line}\n`);

/** Returns the time of the last change below a folder. */
function lastChangeIn(folder: string): number {
  const entries = readdirSync(join(root, folder), { withFileTypes: true, recursive: true });
  const times = entries.flatMap(entry =>
    entry.isFile() ? [statSync(join(entry.parentPath, entry.name)).mtimeMs] : [],
  );
  return Math.max(0, ...times);
}

/** Returns true if a built file is missing or older than its sources. */
const isStale = ([file, sources]: readonly [string, readonly string[]]): boolean => {
  const path = join(root, file);
  if (!existsSync(path)) return true;
  const builtAt = statSync(path).mtimeMs;
  return sources.some(folder => lastChangeIn(folder) > builtAt);
};

/** Finds the program that the package `electron` has downloaded. Importing the package would block during the download. */
function findElectron(): string | null {
  const folder = join(root, 'node_modules/electron');
  const pathFile = join(folder, 'path.txt');
  if (!existsSync(pathFile)) return null;
  const program = join(
    process.env['ELECTRON_OVERRIDE_DIST_PATH'] ?? join(folder, 'dist'),
    readFileSync(pathFile, 'utf8'),
  );
  return existsSync(program) ? program : null;
}

/** Starts a program in the same process group, so that Ctrl-C in the terminal reaches it directly. */
const open = (program: string, argv: readonly string[], env: NodeJS.ProcessEnv): ChildProcess =>
  spawn(program, argv, { cwd: root, env, stdio: 'inherit' });

/**
 * Starts the server from its sources, so that only the panel must be built. With `waitsForMessage`, the server loads its modules
 * now, but listens only after a message.
 */
function openServer(waitsForMessage: boolean): ChildProcess {
  const argv = [join(root, 'main/cli.ts'), 'server', ...(waitsForMessage ? ['--once-told'] : []), ...args];
  return spawn(process.execPath, argv, {
    cwd: root,
    stdio: waitsForMessage ? ['inherit', 'inherit', 'inherit', 'ipc'] : 'inherit',
  });
}

/** Waits until the child exits, and passes signals on to it. Resolves with the exit code. */
function endOf(child: ChildProcess): Promise<number> {
  const forwardSignal = (signal: NodeJS.Signals): void => void child.kill(signal);
  for (const signal of ['SIGTERM', 'SIGHUP'] as const) process.on(signal, forwardSignal);
  process.on('SIGINT', () => undefined);
  return new Promise(done => {
    child.once('error', cause => {
      log(`${child.spawnfile} cannot be started: ${cause.message}`);
      done(1);
    });
    // As in shells, the code for a signal is 128 plus its number.
    child.once('exit', (code, signal) =>
      done(code ?? 128 + (signal === null ? 0 : constants.signals[signal])),
    );
  });
}

/** Runs a program in the background, and kills it when this program ends. Calls `onEnd` with the reason of a failure, or null. */
function runInBackground(argv: readonly string[], onEnd: (failure: string | null) => void): void {
  const child = spawn(process.execPath, argv, { cwd: root, stdio: ['ignore', 'ignore', 'pipe'] });
  let errors = '';
  child.stderr.on('data', (text: Buffer) => {
    errors = (errors + text.toString()).slice(-2_000);
  });
  child.once('exit', code => onEnd(code === 0 ? null : firstLine(errors)));
  process.once('exit', () => child.kill());
}

const fetchElectron = (): void =>
  runInBackground([join(root, 'node_modules/electron/install.js')], failure =>
    log(
      failure === null
        ? 'Electron was downloaded. Run "npm start" again to open the window'
        : `Electron could not be downloaded (${failure}). Use the panel in the browser: only the window is missing`,
    ),
  );

/** Builds the worker program for rigs in the background, if needed. The server detects the finished program. */
function buildWorker(): void {
  if (!Object.entries(backgroundBuilds(process.platform, process.arch)).some(isStale)) return;
  runInBackground([join(root, 'dev/worker/run.ts')], failure => {
    if (failure !== null)
      log(`The worker program could not be built (${failure}). Run "npm run build:worker" to see why`);
  });
}

const isBuilt = (kind: StartPlan['kind']): boolean => !Object.entries(requiredFiles[kind]).some(isStale);

/** Builds missing and outdated files. Resolves with false if the build fails. */
async function build(kind: StartPlan['kind']): Promise<boolean> {
  if (isBuilt(kind)) return true;
  log('Building files that are missing or older than their sources');
  const argv = kind === 'app' ? [vite, 'build', '--app', '--logLevel', 'warn'] : [buildPanel];
  const child = open(process.execPath, argv, process.env);
  return (await endOf(child)) === 0;
}

const firstLine = (text: string): string => text.trim().split('\n', 1)[0] ?? 'no reason given';

async function start(): Promise<number> {
  const plan = planStart(
    {
      platform: process.platform,
      env: process.env,
      isRoot: process.getuid?.() === 0,
      electron: findElectron(),
    },
    options.includes('--headless'),
  );
  if (plan.kind === 'app') {
    if (!(await build('app'))) return 1;
    buildWorker();
    const env = { ...process.env, TRAINYARD_NODE: process.execPath };
    return endOf(open(plan.electron, [join(root, 'dist/main/desktop.js'), ...args], env));
  }
  log(plan.why);
  // Building the panel and loading the server take longest, so run both in parallel.
  const waitsForBuild = !isBuilt('headless');
  const server = openServer(waitsForBuild);
  const ended = endOf(server);
  if (!(await build('headless'))) {
    if (server.connected) server.disconnect();
    return 1;
  }
  if (waitsForBuild && server.connected) server.send('go on');
  // Start background work last, so that it does not slow down the start.
  buildWorker();
  if (plan.fetches) fetchElectron();
  return ended;
}

process.exitCode = await start();
