import type { Processes } from './processes.ts';
import type { RunCommand } from './run-command.ts';
import type { ProcessJob, WindowsApi } from './windows-api.ts';

const windowsSpawning = {
  // A detached process has no console: it survives its terminal, but Ctrl+Break cannot reach it.
  asLeader: { detached: false, windowsHide: true },
  asSurvivor: { detached: true, windowsHide: true },
} as const;

/**
 * Process functions that use the programs of Windows, for a worker that runs in an installed Node. `taskkill /T` asks a
 * process tree to end; with `/F`, it kills the tree. `taskkill` does not find processes whose parent has ended.
 */
export function windowsProcesses(run: RunCommand): Processes {
  const startOf = async (pid: number): Promise<string | null> => {
    const script = `(Get-Process -Id ${pid}).StartTime.ToFileTimeUtc()`;
    const result = await run('powershell', ['-NoProfile', '-NonInteractive', '-Command', script]);
    if (result.kind !== 'exited')
      throw new Error(`PowerShell could not query process ${pid}: ${result.kind}`);
    const start = result.stdout.trim();
    return /^\d+$/.test(start) ? start : null;
  };
  return {
    ...windowsSpawning,
    holdDescendants() {},
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

export interface NativeWindowsDeps {
  readonly api: WindowsApi;
  readonly run: RunCommand;
  /** The pid of this process. */
  readonly pid: number;
  /** Makes this process ignore Ctrl+Break, which would otherwise end it together with the group. */
  readonly ignoreBreak: () => void;
}

/**
 * Process functions that use the API of Windows, for the executable. The guard is in a job object with all its
 * descendants, so that none can escape (docs/adr/0041-process-trees-on-windows.md). The agent is not in the job object:
 * it controls only the guard. When the guard ends, Windows ends all members.
 */
export function nativeWindowsProcesses({ api, run, pid: ownPid, ignoreBreak }: NativeWindowsDeps): Processes {
  const fallback = windowsProcesses(run);
  let job: ProcessJob | null = null;
  const descendants = (): readonly number[] => (job?.members() ?? []).filter(pid => pid !== ownPid);
  return {
    ...fallback,
    holdDescendants() {
      job ??= api.enterJob();
    },
    async identify(pid) {
      const start = api.startOf(pid);
      return start === null ? null : { pid, start };
    },
    async signalGroup(leaderPid, signal) {
      if (job === null) return fallback.signalGroup(leaderPid, signal);
      if (signal === 'SIGKILL') return descendants().forEach(job.end);
      ignoreBreak();
      api.pressBreak(leaderPid);
    },
    groupLives: async leaderPid =>
      job === null ? api.startOf(leaderPid) !== null : descendants().length > 0,
    ownsGroup: async leader => api.startOf(leader.pid) === leader.start,
  };
}
