import { createRunCommand, type RunCommand } from './run-command.ts';
import type { Processes } from './processes.ts';
import { linuxProcesses, unixProcesses } from './processes-unix.ts';
import { nativeWindowsProcesses, windowsProcesses } from './processes-windows.ts';
import { openWindowsApi } from './windows-api.ts';

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
export function ownProcesses(env: Readonly<Record<string, string | undefined>>): Processes {
  // `ps` prints start times in the local time zone, which may change. In UTC, the text is always the same.
  const run = createRunCommand({ environment: { ...env, TZ: 'UTC' } });
  const api = openWindowsApi(env);
  if (api === null) return createProcesses({ platform: process.platform, run });
  return nativeWindowsProcesses({ api, run, pid: process.pid, ignoreBreak });
}

const ignored = (): void => {};
function ignoreBreak(): void {
  if (!process.listeners('SIGBREAK').includes(ignored)) process.on('SIGBREAK', ignored);
}
