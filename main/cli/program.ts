import { Command, CommanderError } from 'commander';
import { version } from '../../protocol/version.ts';
import { commands } from './commands.ts';
import { exitCodes } from './failure.ts';
import type { Invocation } from './invocation.ts';

/** Runs the `trainyard` program; returns its exit code. */
export async function runCli(argv: readonly string[], parts: Omit<Invocation, 'exit'>): Promise<number> {
  let code = 0;
  const exit = (value: number): void => {
    code = value;
  };
  const program = await createProgram({ ...parts, exit }, argv[0]);
  try {
    await program.parseAsync([...argv], { from: 'user' });
    return code;
  } catch (cause) {
    if (!(cause instanceof CommanderError)) throw cause;
    return cause.exitCode === 0 ? exitCodes.done : exitCodes.usage;
  }
}

/** Creates the program with all commands, or with only the one that `first` names, which loads faster. */
async function createProgram(invocation: Invocation, first = ''): Promise<Command> {
  const { out, err } = invocation.terminal;
  const program = new Command('trainyard')
    .description('Turns a workstation and some GPU boxes into one training fleet')
    .version(version)
    .enablePositionalOptions()
    .addHelpText(
      'after',
      '\nExit codes: 0 done, 1 failed, 2 wrong usage, 3 no right, 4 not found, 5 conflict, 6 unreachable,\n' +
        '7 refused, 8 the job that was waited for did not complete',
    )
    .showHelpAfterError('With --help it says what it takes')
    .configureOutput({ writeOut: out, writeErr: err })
    .exitOverride();
  const wanted = commands.get(first);
  for (const load of wanted === undefined ? commands.values() : [wanted])
    program.addCommand((await load())(invocation));
  if (wanted === undefined) {
    const { completeCommand } = await import('./completion/complete.ts');
    const complete = completeCommand(invocation, () => program);
    program.addCommand(complete, { hidden: true });
  }
  inherit(program);
  return program;
}

/** Makes nested commands throw with an exit code too, instead of ending the process. */
function inherit(parent: Command): void {
  for (const command of parent.commands) {
    command.copyInheritedSettings(parent);
    inherit(command);
  }
}
