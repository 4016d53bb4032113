import type { Command } from 'commander';
import { workerCommand } from '../../agent/command.ts';
import { version } from '../../protocol/version.ts';
import type { Invocation } from './invocation.ts';

/** The agent that is bundled for rigs, as a command of this program. */
export function localWorkerCommand({ env, terminal, exit, ownCommand, onSignal }: Invocation): Command {
  return workerCommand({
    env,
    exit,
    onSignal,
    version,
    ownCommand: [...ownCommand, 'worker'],
    out: terminal.out,
    err: terminal.err,
  });
}
