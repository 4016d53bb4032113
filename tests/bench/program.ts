import { spawn, spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { memoryOf } from '../support/own-processes.ts';

export const root = fileURLToPath(new URL('../../', import.meta.url));

/** A measured program in a separate process. Its log goes to a file, as for a service. */
export interface BenchProgram {
  readonly pid: number;
  readonly url: string;
  readonly folder: string;
  /** Time in ms from the start until the program reports that it is ready. */
  readonly readyMs: number;
  /** Returns the processor time since the start, in seconds. */
  cpuSeconds(): number;
  /** Returns the resident memory in MiB. */
  memoryMib(): number;
  /** Stops the program in an orderly way. */
  end(): Promise<void>;
  /** Kills the program with SIGKILL. */
  kill(): Promise<void>;
  /** Stops the program in an orderly way, and removes its folder. */
  close(): Promise<void>;
}

export const createBenchFolder = (): string => mkdtempSync(join(tmpdir(), 'trainyard-bench-'));

/** Starts a program whose first line is JSON with its `url`. Throws when the program exits without printing that line. */
export async function startProgram(
  argv: readonly string[],
  folder = createBenchFolder(),
): Promise<BenchProgram> {
  const log = openSync(join(folder, 'program.log'), 'a');
  const startedAt = performance.now();
  // The kernel kills the program when this process ends for any reason.
  const child = spawn('setpriv', ['--pdeathsig=KILL', process.execPath, ...argv], {
    cwd: root,
    env: { ...process.env, XDG_CONFIG_HOME: folder },
    stdio: ['ignore', 'pipe', log],
  });
  closeSync(log);
  const exited = new Promise<void>(resolve => child.once('exit', () => resolve()));
  const line = await new Promise<string>((resolve, reject) => {
    if (child.stdout !== null) createInterface({ input: child.stdout }).once('line', resolve);
    child.once('exit', code =>
      reject(new Error(`${argv.join(' ')} exited with code ${code}. See ${folder}/program.log`)),
    );
  });
  const readyMs = performance.now() - startedAt;
  const { url } = JSON.parse(line) as { readonly url: string };
  const pid = child.pid ?? 0;
  const endBy = async (signal: NodeJS.Signals): Promise<void> => {
    child.kill(signal);
    await exited;
  };
  return {
    pid,
    url,
    folder,
    readyMs,
    cpuSeconds: () => cpuSecondsOf(pid),
    memoryMib: () => memoryOf(pid) / 1_048_576,
    end: () => endBy('SIGINT'),
    kill: () => endBy('SIGKILL'),
    async close() {
      await endBy('SIGINT');
      rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

/** Linux reports processor time in hundredths of a second, independent of the kernel's timer frequency. */
const ticksPerSecond = 100;

function cpuSecondsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  // The second field is the name of the program in parentheses, which may contain spaces. Fields 14 and 15 are the user and
  // system time (proc_pid_stat(5)).
  const fieldsFromThird = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [user, system] = fieldsFromThird.slice(11, 13);
  return (Number(user) + Number(system)) / ticksPerSecond;
}

interface ServerOptions {
  /** The port, such as the port of an earlier server; by default, any free port. */
  readonly port?: number;
  /** Path of the built program (see `buildServer`). By default, the server runs from its sources. */
  readonly program?: string;
}

/** Starts the server. By default, its heartbeat timeout is longer than any benchmark. */
export const startServer = (
  folder = createBenchFolder(),
  args: readonly string[] = ['--heartbeat-timeout', '3600'],
  { port = 0, program = 'main/cli.ts' }: ServerOptions = {},
): Promise<BenchProgram> =>
  startProgram(
    [...nodeFlags, program, 'server', '--port', String(port), '--data-dir', folder, '--json', ...args],
    folder,
  );

/** Builds the server as it is shipped, for measurements of memory and start time. Returns the path of the program. */
export function buildServer(): string {
  const args = ['build', '--app', '--logLevel', 'warn'];
  const build = spawnSync(join(root, 'node_modules/.bin/vite'), args, { cwd: root, stdio: 'inherit' });
  if (build.status !== 0) throw new Error('The server could not be built.');
  return 'dist/main/cli.js';
}

/** Flags for Node, to profile the measured program: `BENCH_NODE_FLAGS="--cpu-prof --cpu-prof-dir=/tmp/profile"`. */
const nodeFlags = (process.env['BENCH_NODE_FLAGS'] ?? '').split(' ').filter(flag => flag !== '');

export const adminTokenOf = ({ folder }: Pick<BenchProgram, 'folder'>): string =>
  readFileSync(join(folder, 'admin-token'), 'utf8').trim();

/** Returns the headers of calls with the admin token. */
export const adminHeadersOf = (program: Pick<BenchProgram, 'folder'>) => ({
  authorization: `Bearer ${adminTokenOf(program)}`,
});

/** Makes a GET call with the admin token, and returns the body. Throws when the status is not 2xx. */
export async function readFrom(program: BenchProgram, path: string): Promise<string> {
  const response = await fetch(new URL(path, program.url), { headers: adminHeadersOf(program) });
  if (!response.ok) throw new Error(`${path} returned ${response.status}: ${await response.text()}`);
  return response.text();
}

/** Returns the number of occurrences of a text in the program's log. */
export const countInLog = ({ folder }: BenchProgram, word: string): number =>
  readFileSync(join(folder, 'program.log'), 'utf8').split(word).length - 1;
