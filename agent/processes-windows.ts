import type { RunCommand } from './gpu-command.ts';
import type { Processes } from './processes.ts';

/** Windows has no groups and no signals: a tree of processes is asked, or made, to end by `taskkill /T`. */
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
    // Detached it would get a console window of its own, and there is no group to lead.
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
    // Without an answer it is asked again: whoever waits for an end does not wait for ever.
    groupLives: leaderPid =>
      startOf(leaderPid).then(
        start => start !== null,
        () => true,
      ),
    ownsGroup: async leader => (await startOf(leader.pid).catch(() => null)) === leader.start,
  };
}
