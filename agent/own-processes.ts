import { createRunCommand, type RunCommand } from './gpu-command.ts';
import type { Processes } from './processes.ts';
import { linuxProcesses } from './processes-linux.ts';
import { unixProcesses } from './processes-unix.ts';
import { windowsProcesses } from './processes-windows.ts';

export interface ProcessesParts {
  readonly platform: string;
  readonly run: RunCommand;
}

/** @internal */
export function createProcesses({ platform, run }: ProcessesParts): Processes {
  if (platform === 'win32') return windowsProcesses(run);
  return platform === 'linux' ? linuxProcesses() : unixProcesses(run);
}

/** Of the machine on which this runs. */
export const ownProcesses = (env: Readonly<Record<string, string | undefined>>): Processes =>
  createProcesses({
    platform: process.platform,
    // `ps` tells times as the reader's clock shows them, and all must read the same.
    run: createRunCommand({ environment: { ...env, TZ: 'UTC' } }),
  });
