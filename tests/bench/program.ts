import { spawn, spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { memoryOf } from '../support/own-processes.ts';

export const root = fileURLToPath(new URL('../../', import.meta.url));

/** A program that is measured, in a process of its own; what it logs goes into a file, as that of a service does. */
export interface BenchProgram {
  readonly pid: number;
  readonly url: string;
  readonly folder: string;
  /** From its start until it said that it is ready. */
  readonly readyMs: number;
  /** Of the processors, in seconds, since it was started. */
  cpuSeconds(): number;
  /** Resident, in MiB. */
  memoryMib(): number;
  /** Ends it in an orderly way. */
  end(): Promise<void>;
  /** At once, by SIGKILL. */
  kill(): Promise<void>;
  /** Removes its folder, too. */
  close(): Promise<void>;
}

export const benchFolder = (): string => mkdtempSync(join(tmpdir(), 'trainyard-bench-'));

/** Of its first line on stdout, which is JSON and has the address. */
export async function startProgram(argv: readonly string[], folder = benchFolder()): Promise<BenchProgram> {
  const log = openSync(join(folder, 'program.log'), 'a');
  const begun = performance.now();
  // The kernel ends it when this process is gone, however that ended.
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
      reject(new Error(`${argv.join(' ')} ended with ${code}: see ${folder}/program.log`)),
    );
  });
  const readyMs = performance.now() - begun;
  const { url } = JSON.parse(line) as { readonly url: string };
  const pid = child.pid ?? 0;
  const leave = async (signal: NodeJS.Signals): Promise<void> => {
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
    end: () => leave('SIGINT'),
    kill: () => leave('SIGKILL'),
    async close() {
      await leave('SIGINT');
      rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

/** Linux counts a hundred ticks a second, whatever the kernel's own clock does. */
const ticksASecond = 100;

function cpuSecondsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  const [user, system] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13);
  return (Number(user) + Number(system)) / ticksASecond;
}

/** What is not as usual about a server. */
interface ServerTerms {
  /** That of an earlier one; any free one unless told. */
  readonly port?: number;
  /** See `buildServer`; the sources unless told. */
  readonly program?: string;
}

/** The server of the sources; nobody is silent for as long as a bench takes, unless told. */
export const startServer = (
  folder = benchFolder(),
  args: readonly string[] = ['--heartbeat-timeout', '3600'],
  { port = 0, program = 'main/cli.ts' }: ServerTerms = {},
): Promise<BenchProgram> =>
  startProgram(
    [...nodeFlags, program, 'server', '--port', String(port), '--data-dir', folder, '--json', ...args],
    folder,
  );

/** As it is shipped: what it takes of memory, and how long it takes to start, is that of the built program. */
export function buildServer(): string {
  const args = ['build', '--app', '--logLevel', 'warn'];
  const built = spawnSync(join(root, 'node_modules/.bin/vite'), args, { cwd: root, stdio: 'inherit' });
  if (built.status !== 0) throw new Error('the program could not be built');
  return 'dist/main/cli.js';
}

/** For a profile of what is measured: `BENCH_NODE_FLAGS="--cpu-prof --cpu-prof-dir=/tmp/profile"`. */
const nodeFlags = (process.env['BENCH_NODE_FLAGS'] ?? '').split(' ').filter(flag => flag !== '');

export const adminTokenOf = ({ folder }: BenchProgram): string =>
  readFileSync(join(folder, 'admin-token'), 'utf8').trim();

/** Of a person, or a script, with the admin token. */
export const adminHeadersOf = (program: BenchProgram) => ({
  authorization: `Bearer ${adminTokenOf(program)}`,
});

/** What a server answers to a call with the admin token; throws when it is refused. */
export async function readFrom(program: BenchProgram, path: string): Promise<string> {
  const answer = await fetch(new URL(path, program.url), { headers: adminHeadersOf(program) });
  if (!answer.ok) throw new Error(`${path} was answered ${answer.status}: ${await answer.text()}`);
  return answer.text();
}

/** How often a word stands in what it has logged. */
export const countInLog = ({ folder }: BenchProgram, word: string): number =>
  readFileSync(join(folder, 'program.log'), 'utf8').split(word).length - 1;
