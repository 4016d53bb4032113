import { Command, CommanderError } from 'commander';
import { version } from '../../protocol/version.ts';
import { commands } from './commands.ts';
import { exitCodes } from './failure.ts';
import type { Invocation } from './invocation.ts';

/** Width of the help in characters when the output is not a terminal. */
const defaultWidth = 80;

/** The parts of an invocation that come from the process. */
export type ProgramDeps = Omit<Invocation, 'exit'>;

/** Runs the `trainyard` program; returns its exit code. */
export const runCli = (argv: readonly string[], deps: ProgramDeps): Promise<number> =>
  runProgram(argv, deps, invocation => createProgram(invocation, argv[0]));

/**
 * Runs a program with the usage errors and exit codes of `trainyard`; returns its exit code.
 *
 * @internal
 */
export async function runProgram(
  argv: readonly string[],
  deps: ProgramDeps,
  create: (invocation: Invocation) => Command | Promise<Command>,
): Promise<number> {
  let code = 0;
  const exit = (value: number): void => {
    code = value;
  };
  const program = await create({ ...deps, exit });
  const { out, err } = deps.terminal;
  program
    .showHelpAfterError('For usage, run the command with --help')
    .configureOutput({
      writeOut: out,
      writeErr: err,
      getOutHelpWidth: () => deps.terminal.outScreen()?.columns ?? defaultWidth,
      getErrHelpWidth: () => deps.terminal.errScreen()?.columns ?? defaultWidth,
    })
    .configureHelp({ minWidthToWrap: 12 })
    .exitOverride();
  inherit(program);
  try {
    await program.parseAsync([...argv], { from: 'user' });
    return code;
  } catch (cause) {
    if (!(cause instanceof CommanderError)) throw cause;
    return cause.exitCode === 0 ? exitCodes.done : exitCodes.usage;
  }
}

const exitCodesText =
  'Exit codes: 0 success, 1 failure, 2 usage error, 3 permission denied, 4 not found, 5 conflict, ' +
  '6 orchestrator unreachable, 7 request rejected, 8 the job did not complete';

/** Creates the program with all commands. If `first` names a command, loads only that command, which is faster. */
async function createProgram(invocation: Invocation, first = ''): Promise<Command> {
  const program: Command = new Command('trainyard')
    .description('Run training jobs on a fleet of GPU machines')
    .version(version)
    .enablePositionalOptions()
    .helpCommand('help [command]', 'print the help of a command (for its commands: trainyard COMMAND help)')
    .addHelpText(
      'after',
      () =>
        `\n${program.createHelp().boxWrap(exitCodesText, invocation.terminal.outScreen()?.columns ?? defaultWidth)}`,
    );
  const selected = commands.get(first);
  for (const load of selected === undefined ? commands.values() : [selected])
    program.addCommand((await load())(invocation));
  if (selected === undefined) {
    const { completeCommand } = await import('./completion/complete.ts');
    const complete = completeCommand(invocation, () => program);
    program.addCommand(complete, { hidden: true });
  }
  return program;
}

/**
 * Applies the settings of the parent to nested commands, so that they throw an error with an exit code instead of ending the
 * process.
 */
function inherit(parent: Command): void {
  for (const command of parent.commands) {
    command.copyInheritedSettings(parent);
    inherit(command);
  }
}
