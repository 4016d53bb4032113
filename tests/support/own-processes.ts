import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { eventually } from './notices.ts';

/**
 * All processes of a fault test inherit this environment variable. Its value is their owner. Tests use the variable to find a
 * guard or trainer whose parent has ended.
 */
export const ownerVariable = 'TRAINYARD_TEST_OWNER';

/** Returns the command line of a process, which every user of the machine can read. */
export const argvOf = (pid: number): string => read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim();

/** Returns the environment of a process, which only the user of that process can read. */
export const environmentOf = (pid: number): string => read(`/proc/${pid}/environ`);

/** Returns true when a process is alive. A zombie counts as dead, although the process table still contains it. */
export function isAlive(pid: number): boolean {
  const stat = read(`/proc/${pid}/stat`);
  const state = stat.slice(stat.lastIndexOf(')') + 2).charAt(0);
  return state !== '' && state !== 'Z' && state !== 'X';
}

/** Returns the pids of running processes whose owner starts with this text. Returns none on systems without /proc. */
export function processesOf(owner: string): readonly number[] {
  if (!existsSync('/proc/self/environ')) return [];
  const mark = `\0${ownerVariable}=${owner}`;
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(Number)
    .filter(pid => pid !== process.pid && `\0${environmentOf(pid)}`.includes(mark) && isAlive(pid));
}

/** Kills all processes whose owner starts with this text. Searches up to 20 times, because a process may start another one. */
export function killProcessesOf(owner: string): void {
  for (let round = 0; round < 20; round += 1) {
    const left = processesOf(owner);
    if (left.length === 0) return;
    for (const pid of left) signal(pid, 'SIGKILL');
  }
}

/** Sends a signal. Returns false when the process no longer exists. */
export function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    process.kill(pid, name);
    return true;
  } catch {
    return false;
  }
}

export const untilDead = (pid: number, timeoutMs?: number): Promise<true> =>
  eventually(`the end of process ${pid}`, () => !isAlive(pid), timeoutMs);

/** Returns the resident memory of a process, in bytes. */
export function memoryOf(pid: number): number {
  const [, kib] = /^VmRSS:\s+(\d+) kB$/m.exec(read(`/proc/${pid}/status`)) ?? [];
  return Number(kib ?? 0) * 1_024;
}

/** Returns the target of each open descriptor of a process: a path, `socket:[inode]`, `anon_inode:[eventpoll]`, ... */
export function descriptorsOf(pid: number): readonly string[] {
  const folder = `/proc/${pid}/fd`;
  try {
    return readdirSync(folder).map(name => link(`${folder}/${name}`));
  } catch {
    return [];
  }
}

function link(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return 'gone';
  }
}

/** Reads a file below /proc. Returns an empty text if the process has ended or belongs to another user. */
function read(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}
