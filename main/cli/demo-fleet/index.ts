import type { Command } from 'commander';
import { exitCodes } from '../failure.ts';
import type { Invocation } from '../invocation.ts';
import { remoteCommand } from '../remote-command.ts';
import { runFleet } from './fleet.ts';
import { addFleetOptions, readOptions } from './options.ts';

/** `trainyard demo-fleet`: many simulated workers without a machine for each. */
export const demoFleetCommand = (invocation: Invocation): Command =>
  remoteCommand(invocation, {
    name: 'demo-fleet',
    description: 'Run simulated workers until Ctrl-C. They need no GPU and train nothing',
    shape: addFleetOptions,
    act: remote => runFleet(remote, readOptions(remote.flags), untilSignal(invocation)),
  });

/** The second signal ends the program at once; the next demo removes what is left. */
function untilSignal({ onSignal }: Invocation): AbortSignal {
  const over = new AbortController();
  const stop = (): void => {
    if (over.signal.aborted) process.exit(exitCodes.interrupted);
    over.abort();
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) onSignal(signal, stop);
  return over.signal;
}
