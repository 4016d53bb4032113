import type { RunCommand } from './run-command.ts';
import type { Processes } from './processes.ts';

/** Windows has no process groups and no signals. `taskkill /T` asks a process tree to end, and with `/F` it ends the tree. */
export function windowsProcesses(run: RunCommand): Processes {
  const startOf = async (pid: number): Promise<string | null> => {
    const question = `(Get-Process -Id ${pid}).StartTime.ToFileTimeUtc()`;
    const result = await run('powershell', ['-NoProfile', '-NonInteractive', '-Command', question]);
    if (result.kind !== 'exited')
      throw new Error(`PowerShell could not be asked for process ${pid}: ${result.kind}`);
    const start = result.stdout.trim();
    return /^\d+$/.test(start) ? start : null;
  };
  return {
    // A detached process would open its own console window, and Windows has no group to lead.
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
    // Count the group as alive when the answer is unknown. Callers ask again, and their wait is limited.
    groupLives: leaderPid =>
      startOf(leaderPid).then(
        start => start !== null,
        () => true,
      ),
    ownsGroup: async leader => (await startOf(leader.pid).catch(() => null)) === leader.start,
  };
}
