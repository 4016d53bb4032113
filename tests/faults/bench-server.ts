import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import type { Failpoint } from '../support/failpoint.ts';
import type { Resources } from '../support/invariants.ts';
import { eventually } from '../support/notices.ts';
import { descriptorsOf, memoryOf, signal } from '../support/own-processes.ts';
import { type Program, root, startProgram } from '../support/processes.ts';

/** T of all fault tests, in seconds. All other spans depend on it. */
export const timeoutS = 4;

export interface StartOptions {
  readonly failpoint?: Failpoint;
  /** Additional flags. */
  readonly args?: readonly string[];
}

/** The orchestrator under test: one folder and one port, and any number of processes, one after the other. */
export interface BenchServer {
  readonly url: string;
  readonly dataDir: string;
  readonly databaseFile: string;
  readonly adminToken: string;
  readonly pid: number;
  isOwn(pid: number): boolean;
  /** The output of all its processes. */
  lines(): readonly string[];
  /** Starts a process and waits until it accepts calls. Throws with its output when it ends instead. */
  start(options?: StartOptions): Promise<void>;
  /** Starts a process without waiting for anything. */
  launch(options?: StartOptions): Program;
  /** Starts another orchestrator on the same folder, which does not belong to this server. */
  rival(): Program;
  /** Sends SIGKILL and waits for the end. */
  die(): Promise<void>;
  /** Waits until the process has ended by itself. */
  ended(): Program['exited'];
  /** Refer to the process that was started last. */
  readonly said: Program['said'];
  readonly kill: Program['kill'];
  /** The resources of the first process before any call. */
  readonly baseline: Resources;
  /** Records the baseline now, unless there is one. `start` does this automatically. */
  noteBaseline(): void;
  resources(): Resources;
}

export interface ServerDeps {
  readonly dataDir: string;
  readonly port: number;
  readonly env: Readonly<Record<string, string>>;
}

export function createBenchServer({ dataDir, port, env }: ServerDeps): BenchServer {
  const programs: Program[] = [];
  let baseline: Resources | null = null;
  const current = (): Program => {
    const program = programs.at(-1);
    if (program === undefined) throw new Error('the server has not been started');
    return program;
  };
  const command = (ownPort: number, preload: readonly string[] = []): readonly string[] => [
    process.execPath,
    ...preload,
    join(root, 'main/cli.ts'),
    'server',
    '--port',
    String(ownPort),
    '--data-dir',
    dataDir,
    '--heartbeat-timeout',
    String(timeoutS),
    '--json',
  ];
  const launch = ({ failpoint, args = [] }: StartOptions = {}): Program => {
    const preload = failpoint === undefined ? [] : ['--import', failpoint.preload];
    const program = startProgram([...command(port, preload), ...args], {
      env: { ...env, ...failpoint?.env },
    });
    programs.push(program);
    return program;
  };
  const resources = (): Resources => ({
    descriptors: descriptorsOf(current().pid),
    memory: memoryOf(current().pid),
  });
  const noteBaseline = (): void => {
    baseline ??= resources();
  };
  return {
    url: `http://127.0.0.1:${port}`,
    dataDir,
    databaseFile: join(dataDir, 'trainyard.db'),
    get adminToken() {
      return readFileSync(join(dataDir, 'admin-token'), 'utf8').trim();
    },
    get pid() {
      return current().pid;
    },
    isOwn: pid => programs.some(program => program.pid === pid),
    lines: () => programs.flatMap(({ lines }) => lines),
    launch,
    rival: () => startProgram(command(0), { env }),
    async start(options) {
      await launch(options).said(/^\{"ready":true/);
      noteBaseline();
    },
    noteBaseline,
    async die() {
      signal(current().pid, 'SIGKILL');
      await current().exited;
    },
    ended: () => current().exited,
    kill: name => void signal(current().pid, name),
    said: pattern => current().said(pattern),
    get baseline() {
      if (baseline === null) throw new Error('the server was never ready');
      return baseline;
    },
    resources,
  };
}

/**
 * A port that stays reserved for this server while it is down. It is outside the range that the system uses for
 * outgoing connections, so no retry of an agent can occupy it or connect to itself.
 */
export async function stablePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    const probe = createServer();
    const free = await new Promise<boolean>(resolve => {
      probe.once('error', () => resolve(false));
      probe.listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!free) continue;
    await new Promise(resolve => probe.close(resolve));
    return port;
  }
}

/** The server closes an idle connection after six seconds. */
const restMs = 10_000;

/**
 * Waits until the descriptors of disconnected clients are closed. Returns the resources of that same look, because at
 * the next one a folder may be open for syncing.
 */
export async function whenCalm(server: BenchServer): Promise<Resources> {
  let seen = server.resources();
  const isCalm = (): boolean => {
    seen = server.resources();
    return seen.descriptors.length <= server.baseline.descriptors.length;
  };
  await eventually('the end of all connections', isCalm, restMs).catch(() => {});
  return seen;
}
