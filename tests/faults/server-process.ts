import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import type { Failpoint } from '../support/failpoint.ts';
import type { Resources } from '../support/invariants.ts';
import { eventually } from '../support/notices.ts';
import { descriptorsOf, memoryOf, signal } from '../support/own-processes.ts';
import { type Program, root, startProgram } from '../support/processes.ts';

/** Heartbeat timeout of all fault tests in seconds. All other time spans follow from it. */
export const heartbeatTimeoutS = 4;

export interface StartOptions {
  readonly failpoint?: Failpoint;
  /** Additional command-line arguments. */
  readonly args?: readonly string[];
}

/** The orchestrator under test: a series of processes that use the same folder and port, one at a time. */
export interface ServerProcess {
  readonly url: string;
  readonly dataDir: string;
  readonly databaseFile: string;
  readonly adminToken: string;
  readonly pid: number;
  /** Returns true if the process with this pid was started by `start` or `launch`. */
  isOwn(pid: number): boolean;
  /** The log lines of all processes so far. */
  lines(): readonly string[];
  /** Starts a process. Resolves when the process accepts calls. Throws with its output when the process ends before that. */
  start(options?: StartOptions): Promise<void>;
  /** Starts a process without waiting until it accepts calls. */
  launch(options?: StartOptions): Program;
  /** Starts another orchestrator process on the same folder. */
  startOnSameFolder(): Program;
  /** Kills the process with SIGKILL, and waits for its end. */
  killAndWait(): Promise<void>;
  /** Resolves with the exit of the newest process when it has ended. */
  ended(): Program['exited'];
  /** Resolves with the next line of the newest process that matches a pattern. */
  readonly waitForLine: Program['waitForLine'];
  /** Sends a signal to the newest process. */
  readonly kill: Program['kill'];
  /** Resources of the first process before any call. Throws when no process has been ready. */
  readonly baseline: Resources;
  /** Measures the baseline, unless it is already measured. `start` calls this; callers of `launch` must call it. */
  measureBaseline(): void;
  resources(): Resources;
}

export interface ServerDeps {
  readonly dataDir: string;
  readonly port: number;
  readonly env: Readonly<Record<string, string>>;
}

export function createServerProcess({ dataDir, port, env }: ServerDeps): ServerProcess {
  const programs: Program[] = [];
  let baseline: Resources | null = null;
  const current = (): Program => {
    const program = programs.at(-1);
    if (program === undefined) throw new Error('the server has not been started');
    return program;
  };
  const command = (serverPort: number, nodeArgs: readonly string[] = []): readonly string[] => [
    process.execPath,
    ...nodeArgs,
    join(root, 'main/cli.ts'),
    'server',
    '--port',
    String(serverPort),
    '--data-dir',
    dataDir,
    '--heartbeat-timeout',
    String(heartbeatTimeoutS),
    '--json',
  ];
  const launch = ({ failpoint, args = [] }: StartOptions = {}): Program => {
    const nodeArgs = failpoint === undefined ? [] : ['--import', failpoint.preload];
    const program = startProgram([...command(port, nodeArgs), ...args], {
      env: { ...env, ...failpoint?.env },
    });
    programs.push(program);
    return program;
  };
  const resources = (): Resources => ({
    descriptors: descriptorsOf(current().pid),
    memory: memoryOf(current().pid),
  });
  const measureBaseline = (): void => {
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
    startOnSameFolder: () => startProgram(command(0), { env }),
    async start(options) {
      await launch(options).waitForLine(/^\{"ready":true/);
      measureBaseline();
    },
    measureBaseline,
    async killAndWait() {
      signal(current().pid, 'SIGKILL');
      await current().exited;
    },
    ended: () => current().exited,
    kill: name => void signal(current().pid, name),
    waitForLine: pattern => current().waitForLine(pattern),
    get baseline() {
      if (baseline === null) throw new Error('the server was never ready');
      return baseline;
    },
    resources,
  };
}

/**
 * Returns a port that only this server uses, even while it is down. The port is outside the range of outgoing
 * connections, so no reconnecting agent can occupy it or connect to itself.
 */
export async function reservePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    const probe = createServer();
    const isFree = await new Promise<boolean>(resolve => {
      probe.once('error', () => resolve(false));
      probe.listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!isFree) continue;
    await new Promise(resolve => probe.close(resolve));
    return port;
  }
}

/** The server closes an idle connection after six seconds, so wait a little longer. */
const connectionLimitMs = 10_000;

/**
 * Waits until the server has closed the descriptors of ended connections. Returns the resources of the last measurement, because
 * a further measurement could count a folder that is open for a sync.
 */
export async function waitForClosedConnections(server: ServerProcess): Promise<Resources> {
  let resources = server.resources();
  const areClosed = (): boolean => {
    resources = server.resources();
    return resources.descriptors.length <= server.baseline.descriptors.length;
  };
  // On a timeout, continue: the caller reports the remaining descriptors.
  await eventually('the end of all connections', areClosed, connectionLimitMs).catch(() => {});
  return resources;
}
