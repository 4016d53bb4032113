import type { Command } from 'commander';
import { exitCodes } from '../../main/cli/failure.ts';
import type { Invocation } from '../../main/cli/invocation.ts';
import { remoteCommand } from '../../main/cli/remote-command.ts';
import { runFleet } from './fleet.ts';
import { addFleetOptions, readOptions } from './options.ts';

/** `npm run demo-fleet`: many simulated workers in one process. */
export const demoFleetCommand = (invocation: Invocation): Command =>
  remoteCommand(invocation, {
    name: 'demo-fleet',
    description: 'Run simulated workers until Ctrl-C. They need no GPU and train nothing',
    shape: addFleetOptions,
    act: remote => runFleet(remote, readOptions(remote.flags), untilSignal(invocation)),
  });

/** The second signal exits immediately; the next demo removes the remaining workers. */
function untilSignal({ onSignal }: Invocation): AbortSignal {
  const controller = new AbortController();
  const stop = (): void => {
    if (controller.signal.aborted) process.exit(exitCodes.interrupted);
    controller.abort();
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) onSignal(signal, stop);
  return controller.signal;
}
