import type { RequestSignal } from '../../protocol/requests.ts';
import type { RunCommand } from './run-command.ts';
import type { Processes } from './processes.ts';

/** Starts the process in its own session: the leader's pid is the group's number, and a terminal's Ctrl-C does not reach it. */
const ownSession = { detached: true, windowsHide: true } as const;
export const unixSpawning = { asLeader: ownSession, asSurvivor: ownSession } as const;

/** Returns false when there is no such group, and for 0 and 1, which mean this process's own group and all processes. */
export function signalGroup(leaderPid: number, signal: NodeJS.Signals | 0): boolean {
  if (leaderPid <= 1) return false;
  try {
    process.kill(-leaderPid, signal);
    return true;
  } catch {
    return false;
  }
}

/** Returns false when the process has ended. Throws on any other error. */
export function signalProcess(pid: number, signal: RequestSignal): boolean {
  try {
    return process.kill(pid, signal);
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ESRCH') return false;
    throw cause;
  }
}

/** For macOS and similar systems: reads from `ps` what Linux has in /proc. */
export function unixProcesses(run: RunCommand): Processes {
  const startOf = async (pid: number): Promise<string | null> => {
    const result = await run('ps', ['-o', 'stat=,lstart=', '-p', String(pid)]);
    if (result.kind !== 'exited') throw new Error(`ps could not be asked for process ${pid}: ${result.kind}`);
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
    // After the leader has ended, nothing shows whose group it was. Do not take it for ours.
    ownsGroup: async leader => (await startOf(leader.pid).catch(() => null)) === leader.start,
  };
}
