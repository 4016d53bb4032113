/**
 * Starts Debian's Redis and PostgreSQL. Each server stores its data on disk in a new folder, and listens only on a socket in that
 * folder. Other users cannot open the folder.
 */
import { spawn, spawnSync } from 'node:child_process';
import { chownSync, existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';
import { createBenchFolder } from '../program.ts';
import { exitOf } from './line-program.ts';

/** Timeout of a start in ms, long enough for a slow disk. */
const startMs = 30_000;

export interface PeerServer {
  readonly folder: string;
  /** Stops the server and removes its folder. */
  close(): Promise<void>;
}

/** Starts Redis. Returns null when Redis is not installed. */
export async function startRedis(): Promise<PeerServer | null> {
  if (spawnSync('redis-server', ['--version']).status !== 0) return null;
  const folder = createBenchFolder();
  const settings = {
    port: '0',
    unixsocket: redisSocketOf(folder),
    dir: folder,
    save: '',
    appendonly: 'yes',
    appendfsync: 'always',
  };
  const argv = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  return startPeer(['redis-server', ...argv], folder);
}

export const redisSocketOf = (folder: string): string => join(folder, 'redis.sock');

/** Starts PostgreSQL. Returns null when PostgreSQL is not installed. */
export async function startPostgres(): Promise<PeerServer | null> {
  const programs = postgresFolder();
  if (programs === null) return null;
  const folder = createBenchFolder();
  const user = postgresUser();
  if (user !== null) chownSync(folder, user.uid, user.gid);
  const data = join(folder, 'data');
  const initdb = spawnSync(
    join(programs, 'initdb'),
    ['--pgdata', data, '--username', 'postgres', '--auth', 'trust', '--encoding', 'UTF8', '--no-sync'],
    { cwd: folder, encoding: 'utf8', ...user },
  );
  if (initdb.status !== 0) throw new Error(`initdb: ${initdb.error?.message ?? initdb.stderr}`);
  const settings = {
    listen_addresses: '',
    unix_socket_directories: folder,
    fsync: 'on',
    synchronous_commit: 'on',
  };
  const argv = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  return startPeer([...asUser(user), join(programs, 'postgres'), '-D', data, ...argv], folder);
}

/** Returns the folder of the newest PostgreSQL from Debian's packages; null when there is none. */
function postgresFolder(): string | null {
  const parent = '/usr/lib/postgresql';
  const versions = existsSync(parent) ? readdirSync(parent).toSorted((a, b) => Number(b) - Number(a)) : [];
  return versions.map(version => join(parent, version, 'bin')).find(existsSync) ?? null;
}

interface User {
  readonly uid: number;
  readonly gid: number;
}

/** Returns the user `postgres` when this process runs as root, because PostgreSQL refuses to run as root; null otherwise. */
function postgresUser(): User | null {
  if (process.getuid?.() !== 0) return null;
  const idOf = (flag: string): number =>
    Number(spawnSync('id', [flag, 'postgres'], { encoding: 'utf8' }).stdout);
  return { uid: idOf('-u'), gid: idOf('-g') };
}

const asUser = (user: User | null): readonly string[] =>
  user === null ? [] : [`--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups'];

/** Starts a server that the kernel kills when this process ends for any reason. */
async function startPeer(argv: readonly string[], folder: string): Promise<PeerServer> {
  const child = spawn('setpriv', ['--pdeathsig=INT', ...argv], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = exitOf(child);
  const output: string[] = [];
  const close = async (): Promise<void> => {
    child.kill('SIGINT');
    await exited;
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  };
  const isReady = new Promise<void>(resolve => {
    for (const input of [child.stdout, child.stderr])
      createInterface({ input }).on('line', line => {
        output.push(line);
        // Both Redis and PostgreSQL print these words.
        if (line.includes('ready to accept connections')) resolve();
      });
  });
  const timeout = setTimeout(startMs, false, { ref: false });
  const isStarted = await Promise.race([isReady.then(() => true), exited.then(() => false), timeout]);
  if (isStarted) return { folder, close };
  await close();
  throw new Error(`${argv.join(' ')} did not start:\n${output.join('\n')}`);
}
