import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { queueApi } from '../../protocol/queue-api.ts';
import type { Client } from '../../protocol/client.ts';
import { overwriteBytes } from '../contract/store/bench.ts';
import {
  type Program,
  type ProgramOptions,
  root,
  type ServerProgram,
  startProgram,
  startServer,
  temporaryFolder,
  trainyard,
} from '../support/processes.ts';
import { adminClient, createShortcuts, valueOf } from '../support/server.ts';

/** Starts a server, which is killed after the test. */
export async function openServer(
  dataDir = temporaryFolder(),
  args: readonly string[] = [],
  options: ProgramOptions = {},
): Promise<ServerProgram> {
  const server = await startServer(args, dataDir, options);
  onTestFinished(() => server.kill('SIGKILL'));
  return server;
}

/** Starts a server that is expected to fail, without waiting for the result. */
export function startFailing(dataDir: string, args: readonly string[] = []): Program {
  const server = trainyard(['server', '--port', '0', '--data-dir', dataDir, ...args]);
  onTestFinished(() => server.kill('SIGKILL'));
  return server;
}

/** Resolves with the output and the exit code of a server that fails to start. Rejects when it starts. */
export async function failureOf(
  server: Program,
): Promise<{ readonly code: number; readonly output: string }> {
  const outcome = await Promise.race([
    server.exited,
    server.waitForLine(/listens on|"ready":true/).catch(() => null),
  ]);
  const { code } =
    outcome !== null && 'code' in outcome ? outcome : await exitOrThrow(server, outcome !== null);
  return { code: code ?? -1, output: server.lines.join('\n') };
}

function exitOrThrow(server: Program, ready: boolean): Program['exited'] {
  if (ready)
    throw new Error(`the server became ready, but was expected to fail:\n${server.lines.join('\n')}`);
  return server.exited;
}

export interface Admin extends ReturnType<typeof createShortcuts> {
  readonly token: string;
  readonly client: Client;
  /** Returns the ids of all jobs. */
  jobs(): Promise<ReadonlySet<string>>;
}

export function adminOf({ url, dataDir }: Pick<ServerProgram, 'url' | 'dataDir'>): Admin {
  const token = readFileSync(join(dataDir, 'admin-token'), 'utf8').trim();
  const client = adminClient(url, token);
  return {
    token,
    client,
    ...createShortcuts(client),
    async jobs() {
      const query = { include_completed: 'true', limit: 500 } as const;
      return new Set(valueOf(await client.call(queueApi.list, { query })).entries.map(({ id }) => id));
    },
  };
}

/** Stops a server in an orderly way, so that the database file contains all data. */
export async function stop(server: ServerProgram): Promise<void> {
  server.kill('SIGTERM');
  await server.exited;
}

/** Submits a job, and returns the raw response. */
export const postJob = (url: string, token: string, config: object): Promise<Response> =>
  fetch(`${url}/api/queue/submit`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ config }),
  });

export const database = (dataDir: string): string => join(dataDir, 'trainyard.db');

/** Overwrites the third page of a database. */
export const damage = (file: string): void => overwriteBytes(file, 2 * 4_096, Buffer.alloc(4_096, 0x5a));

/**
 * True when a file system of limited size can be mounted. That requires root, and some containers do not allow it.
 */
export const canMount = process.platform === 'linux' && process.getuid?.() === 0 && mounts();

function mounts(): boolean {
  const folder = temporaryFolder();
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', folder], { stdio: 'ignore' });
    execFileSync('umount', [folder]);
    return true;
  } catch {
    return false;
  }
}

/** Suffix for test titles that explains why a test is skipped. */
export const needsMount = canMount ? '' : ' (skipped: needs the right to mount a tmpfs)';

export interface SmallDisk {
  readonly path: string;
  /** Fills the disk completely. */
  fill(): void;
  /** Fills the disk except for this number of KiB. */
  fillBut(kiB: number): void;
  free(): void;
  makeReadOnly(): void;
}

/** Mounts a disk of this size, which keeps its data in memory. The disk is unmounted after the test. */
export function mountDisk(kiB: number): SmallDisk {
  const path = temporaryFolder();
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${kiB}k`, 'tmpfs', path]);
  onTestFinished(() => void execFileSync('umount', ['--lazy', path]));
  const ballast = join(path, 'ballast');
  const fill = (): void => {
    try {
      for (;;) writeFileSync(ballast, Buffer.alloc(4_096), { flag: 'a' });
    } catch (cause) {
      if (!(cause instanceof Error) || !('code' in cause) || cause.code !== 'ENOSPC') throw cause;
    }
  };
  return {
    path,
    fill,
    fillBut(left) {
      fill();
      truncateSync(ballast, statSync(ballast).size - left * 1_024);
    },
    free: () => writeFileSync(ballast, ''),
    makeReadOnly: () => void execFileSync('mount', ['-o', 'remount,ro', path]),
  };
}

/**
 * Creates the data folder of a stopped server. It contains a backup with two jobs, and a database with these jobs and a
 * third one.
 */
export async function makeData(): Promise<string> {
  const dataDir = temporaryFolder();
  await withServer(dataDir, async server => {
    for (const n of [1, 2]) await adminOf(server).submit({ config: { n } });
  });
  await withServer(dataDir, async server => {
    await server.waitForLine(/"event":"backup.made"/);
    await adminOf(server).submit({ config: { n: 3 } });
  });
  return dataDir;
}

async function withServer(dataDir: string, work: (server: ServerProgram) => Promise<unknown>): Promise<void> {
  const server = await startServer([], dataDir);
  try {
    await work(server);
  } finally {
    await stop(server);
  }
}

/** Copies a data folder, with the modes of its files. */
export function copyData(dataDir: string, target = temporaryFolder()): string {
  mkdirSync(target, { recursive: true, mode: 0o700 });
  cpSync(dataDir, target, { recursive: true });
  return target;
}

export const backupsOf = (dataDir: string): readonly string[] =>
  readdirSync(join(dataDir, 'backups')).map(name => join(dataDir, 'backups', name));

/** Returns the mode of each file and folder below this folder. */
export const modesBelow = (folder: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    readdirSync(folder, { recursive: true }).map(name => [
      String(name),
      (statSync(join(folder, String(name))).mode & 0o777).toString(8),
    ]),
  );

/** Starts the server from a shell that runs this script first. */
export function serverUnder(script: string, dataDir: string): Program {
  const server = [process.execPath, join(root, 'main/cli.ts'), 'server', '--json', '--port', '0'];
  const argv = ['sh', '-c', `${script}; exec "$@"`, 'sh', ...server, '--data-dir', dataDir];
  const program = startProgram(argv);
  onTestFinished(() => program.kill('SIGKILL'));
  return program;
}
