import { systemClock, machineUptime } from '../clock.ts';
import { runGuard } from '../guard/guard.ts';
import { ownProcesses } from '../process/own-processes.ts';
import { reasonOf } from '../files/failure-text.ts';
import type { Host } from '../worker.ts';

export interface GuardInvocation extends Pick<Host, 'env' | 'onSignal'> {
  readonly err: (text: string) => void;
}

const exitCodes = { failed: 1 } as const;

/** Runs the guard of the run in this folder, as a program. The agent that started it reads its error output. */
export async function runGuardCommand(
  folder: string,
  { env, onSignal, err }: GuardInvocation,
): Promise<number> {
  try {
    return await runGuard({
      run: { path: folder },
      env,
      onSignal,
      pid: process.pid,
      processes: ownProcesses(env),
      clock: systemClock,
      uptime: machineUptime,
    });
  } catch (cause) {
    err(`${reasonOf(cause)}\n`);
    return exitCodes.failed;
  }
}
