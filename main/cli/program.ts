import { Command, CommanderError } from 'commander';
import { version } from '../../protocol/version.ts';
import { demoCommand } from './demo.ts';
import type { Invocation } from './invocation.ts';
import { serverCommand } from './server.ts';
import { localWorkerCommand } from './worker.ts';

const usageError = 2;

/** Runs the `trainyard` program; answers with its exit code. */
export async function runCli(argv: readonly string[], parts: Omit<Invocation, 'exit'>): Promise<number> {
  let code = 0;
  const invocation: Invocation = {
    ...parts,
    exit: value => {
      code = value;
    },
  };
  const { out, err } = parts.terminal;
  const program = new Command('trainyard')
    .description('Turns a workstation and some GPU boxes into one training fleet')
    .version(version)
    .enablePositionalOptions()
    .configureOutput({ writeOut: out, writeErr: err })
    .exitOverride();
  for (const makeCommand of [serverCommand, localWorkerCommand, demoCommand]) {
    program.addCommand(makeCommand(invocation).copyInheritedSettings(program));
  }
  try {
    await program.parseAsync([...argv], { from: 'user' });
    return code;
  } catch (cause) {
    if (!(cause instanceof CommanderError)) throw cause;
    return cause.exitCode === 0 ? 0 : usageError;
  }
}
