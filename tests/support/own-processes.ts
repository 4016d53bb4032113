import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { eventually } from './notices.ts';

/**
 * Every process that is started for a fault test has this in its environment, and passes it on to what it starts: so a
 * guard or a trainer is found even when its parent is gone.
 */
export const ownerVariable = 'TRAINYARD_TEST_OWNER';

/** What a process was started with, as every user of the machine can see it. */
export const argvOf = (pid: number): string => read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim();

/** What its own user can see of it besides. */
export const environmentOf = (pid: number): string => read(`/proc/${pid}/environ`);

/** A zombie is dead, whatever the process table says. */
export function isAlive(pid: number): boolean {
  const stat = read(`/proc/${pid}/stat`);
  const state = stat.slice(stat.lastIndexOf(')') + 2).charAt(0);
  return state !== '' && state !== 'Z' && state !== 'X';
}

/** Living processes of this owner, or of all whose name begins like this. */
export function processesOf(owner: string): readonly number[] {
  if (!existsSync('/proc/self/environ')) return [];
  const mark = `\0${ownerVariable}=${owner}`;
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(Number)
    .filter(pid => pid !== process.pid && `\0${environmentOf(pid)}`.includes(mark) && isAlive(pid));
}

/** SIGKILL to every process of this owner, until none is left: one may just be starting another. */
export function killProcessesOf(owner: string): void {
  for (let round = 0; round < 20; round += 1) {
    const left = processesOf(owner);
    if (left.length === 0) return;
    for (const pid of left) signal(pid, 'SIGKILL');
  }
}

/** False when there is no such process any more. */
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

/** Resident memory in bytes. */
export function memoryOf(pid: number): number {
  const [, kib] = /^VmRSS:\s+(\d+) kB$/m.exec(read(`/proc/${pid}/status`)) ?? [];
  return Number(kib ?? 0) * 1_024;
}

/** What each open descriptor of a process is: a path, `socket:[inode]`, `anon_inode:[eventpoll]`, ... */
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

/** Empty for a process that is gone, or another user's. */
function read(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}
