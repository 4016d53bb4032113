import { createRunCommand, type RunCommand } from './run-command.ts';
import type { Processes } from './processes.ts';
import { linuxProcesses, unixProcesses } from './processes-unix.ts';

export interface ProcessesDeps {
  readonly platform: string;
  readonly run: RunCommand;
}

/** @internal */
export function createProcesses({ platform, run }: ProcessesDeps): Processes {
  if (platform === 'win32') return windowsProcesses(run);
  return platform === 'linux' ? linuxProcesses() : unixProcesses(run);
}

/** Returns the process functions for the platform of this machine. */
export const ownProcesses = (env: Readonly<Record<string, string | undefined>>): Processes =>
  createProcesses({
    platform: process.platform,
    // `ps` prints start times in the local time zone, which may change. In UTC, the text is always the same.
    run: createRunCommand({ environment: { ...env, TZ: 'UTC' } }),
  });

/** Windows has no process groups and no signals. `taskkill /T` asks a process tree to end, and with `/F` it ends the tree. */
function windowsProcesses(run: RunCommand): Processes {
  const startOf = async (pid: number): Promise<string | null> => {
    const question = `(Get-Process -Id ${pid}).StartTime.ToFileTimeUtc()`;
    const result = await run('powershell', ['-NoProfile', '-NonInteractive', '-Command', question]);
    if (result.kind !== 'exited')
      throw new Error(`PowerShell could not query process ${pid}: ${result.kind}`);
    const start = result.stdout.trim();
    return /^\d+$/.test(start) ? start : null;
  };
  return {
    // Windows has no process groups, and a detached process would open a console window.
    asLeader: { detached: false, windowsHide: true },
    asSurvivor: { detached: true, windowsHide: true },
    async identify(pid) {
      const start = await startOf(pid);
      return start === null ? null : { pid, start };
    },
    async signalGroup(leaderPid, signal) {
      const force = signal === 'SIGKILL' ? ['/F'] : [];
      await run('taskkill', ['/PID', String(leaderPid), '/T', ...force]);
    },
    signal: async () => 'unable',
    // On an error, assume that the group is alive. Callers repeat the check for a limited time.
    groupLives: leaderPid =>
      startOf(leaderPid).then(
        start => start !== null,
        () => true,
      ),
    ownsGroup: async leader => (await startOf(leader.pid).catch(() => null)) === leader.start,
  };
}
