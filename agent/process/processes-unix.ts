import { readdirSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import type { RequestSignal } from '../../protocol/requests.ts';
import type { RunCommand } from './run-command.ts';
import type { Processes } from './processes.ts';

/**
 * Starts the process in its own session. Its pid is then also the id of its group, and Ctrl-C in a terminal does not
 * reach it.
 */
const ownSession = { detached: true, windowsHide: true } as const;
const unixSpawning = { asLeader: ownSession, asSurvivor: ownSession, holdDescendants() {} } as const;

/**
 * Returns false when there is no such group. Rejects 0 and 1, which would signal the agent's own group or all
 * processes.
 */
function signalGroup(leaderPid: number, signal: NodeJS.Signals | 0): boolean {
  if (leaderPid <= 1) return false;
  try {
    process.kill(-leaderPid, signal);
    return true;
  } catch {
    return false;
  }
}

/** Returns false when the process has ended. Throws on any other error. */
function signalProcess(pid: number, signal: RequestSignal): boolean {
  try {
    return process.kill(pid, signal);
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ESRCH') return false;
    throw cause;
  }
}

/** Process functions for macOS and similar systems. They use `ps`, because there is no /proc. */
export function unixProcesses(run: RunCommand): Processes {
  const startOf = async (pid: number): Promise<string | null> => {
    const result = await run('ps', ['-o', 'stat=,lstart=', '-p', String(pid)]);
    if (result.kind !== 'exited') throw new Error(`ps could not query process ${pid}: ${result.kind}`);
    const [, state = '', start = ''] = /^\s*(\S+)\s+(\S.*?)\s*$/.exec(result.stdout) ?? [];
    return start === '' || state.startsWith('Z') ? null : start;
  };
  return {
    ...unixSpawning,
    async identify(pid) {
      const start = await startOf(pid);
      return start === null ? null : { pid, start };
    },
    async signalGroup(leaderPid, signal) {
      signalGroup(leaderPid, signal);
    },
    async signal({ pid, start }, signal) {
      if ((await startOf(pid)) !== start) return 'gone';
      return signalProcess(pid, signal) ? 'sent' : 'gone';
    },
    groupLives: async leaderPid => signalGroup(leaderPid, 0),
    // After the leader has ended, the owner of the group is unknown, so assume that it is not ours.
    ownsGroup: async leader => (await startOf(leader.pid).catch(() => null)) === leader.start,
  };
}

/** Fields 3 to 6 and 22 of `/proc/PID/stat` (proc(5)). */
interface Stat {
  readonly state: string;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** Start time, in clock ticks since boot. */
  readonly start: string;
}

export function linuxProcesses(proc = '/proc'): Processes {
  const boot = readOr(`${proc}/sys/kernel/random/boot_id`, '').trim();
  const statOf = (pid: number): Stat | null => parseStat(readOr(`${proc}/${pid}/stat`, ''));
  // Ticks restart at 0 with each boot, so the start time includes the boot id.
  const startOf = ({ start }: Stat): string => `${boot}/${start}`;

  const members = (group: number): readonly Stat[] =>
    pidsIn(proc)
      .map(statOf)
      .filter(stat => stat !== null)
      .filter(stat => stat.group === group && isAlive(stat));

  return {
    ...unixSpawning,
    async identify(pid) {
      const stat = statOf(pid);
      return stat === null || !isAlive(stat) ? null : { pid, start: startOf(stat) };
    },
    async signalGroup(leaderPid, signal) {
      signalGroup(leaderPid, signal);
    },
    async signal({ pid, start }, signal) {
      const stat = statOf(pid);
      if (stat === null || !isAlive(stat) || startOf(stat) !== start) return 'gone';
      if (!handlesSignal(readOr(`${proc}/${pid}/status`, ''), signal)) return 'unheard';
      return signalProcess(pid, signal) ? 'sent' : 'gone';
    },
    // In a container without an init process, zombies remain, and the group exists long after its last member has ended.
    async groupLives(leaderPid) {
      if (!signalGroup(leaderPid, 0)) return false;
      try {
        return members(leaderPid).length > 0;
      } catch {
        // On an error, assume that the group is alive. Callers repeat the check for a limited time.
        return true;
      }
    },
    async ownsGroup(leader) {
      const stat = statOf(leader.pid);
      if (stat !== null && isAlive(stat)) return startOf(stat) === leader.start;
      // The system does not reuse the leader's pid while the group has members, except after a reboot.
      const left = members(leader.pid);
      return leader.start.startsWith(`${boot}/`) && left.some(({ session }) => session === leader.pid);
    },
  };
}

const isAlive = ({ state }: Stat): boolean => !/[ZXx]/.test(state);

/** Whether a process catches a signal, or blocks it to read it later. Parses the masks in `/proc/PID/status` (proc(5)). */
function handlesSignal(status: string, signal: RequestSignal): boolean {
  const bit = 1n << BigInt(constants.signals[signal] - 1);
  return [/^SigCgt:\s*([0-9a-f]+)$/m, /^SigBlk:\s*([0-9a-f]+)$/m].some(mask => {
    const [, digits = '0'] = mask.exec(status) ?? [];
    return (BigInt(`0x${digits}`) & bit) !== 0n;
  });
}

/** Returns null when there is no process. The process name is in parentheses, and may contain parentheses and spaces. */
export function parseStat(text: string): Stat | null {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [state = '', parent, group, session] = fields;
  const start = fields[19];
  if (start === undefined) return null;
  return { state, parent: Number(parent), group: Number(group), session: Number(session), start };
}

/**
 * Returns `otherwise` when the file does not exist. Throws when the system lacks file descriptors or memory, because
 * then the process may still run.
 */
function readOr(file: string, otherwise: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && /^(EMFILE|ENFILE|ENOMEM)$/.test(String(cause.code)))
      throw cause;
    return otherwise;
  }
}

const pidsIn = (proc: string): readonly number[] =>
  readdirSync(proc)
    .filter(name => /^\d+$/.test(name))
    .map(Number);
