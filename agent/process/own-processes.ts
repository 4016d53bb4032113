import { createRunCommand, type RunCommand } from './run-command.ts';
import type { Processes } from './processes.ts';
import { linuxProcesses } from './processes-linux.ts';
import { unixProcesses } from './processes-unix.ts';
import { windowsProcesses } from './processes-windows.ts';

export interface ProcessesDeps {
  readonly platform: string;
  readonly run: RunCommand;
}

/** @internal */
export function createProcesses({ platform, run }: ProcessesDeps): Processes {
  if (platform === 'win32') return windowsProcesses(run);
  return platform === 'linux' ? linuxProcesses() : unixProcesses(run);
}

/** Process functions for the platform of this machine. */
export const ownProcesses = (env: Readonly<Record<string, string | undefined>>): Processes =>
  createProcesses({
    platform: process.platform,
    // `ps` prints start times in the local time zone. With UTC, every agent process reads the same text.
    run: createRunCommand({ environment: { ...env, TZ: 'UTC' } }),
  });
