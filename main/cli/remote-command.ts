import { Command, Option } from 'commander';
import type { Flags } from '../config.ts';
import { CommandEnd, exitCodes } from './failure.ts';
import { collect, flagsOf, wordList } from './flags.ts';
import type { CliTerminal, Invocation } from './invocation.ts';
import { openRemote, type Remote } from './remote.ts';
import { plainLines } from './table.ts';

/** A command that calls an orchestrator. */
export interface RemoteSpec {
  readonly name: string;
  readonly description: string;
  /** Runs when the group is called without a command. */
  readonly isDefault?: boolean;
  /** Adds the arguments and options. */
  readonly shape?: (command: Command) => Command;
  /** Receives the arguments unparsed. */
  readonly act: (remote: Remote, args: readonly string[]) => Promise<void>;
}

/** Creates a command with these subcommands. */
export function commandGroup(
  invocation: Invocation,
  name: string,
  description: string,
  specs: readonly RemoteSpec[],
): Command {
  const group = new Command(name).description(description);
  for (const spec of specs) {
    const { isDefault = false } = spec;
    group.addCommand(remoteCommand(invocation, spec), { isDefault });
  }
  return group;
}

export function remoteCommand(invocation: Invocation, spec: RemoteSpec): Command {
  const { name, description, shape = command => command, act } = spec;
  return withConnection(withOutput(shape(new Command(name).description(description)))).action(
    async (...given: readonly unknown[]) => {
      const command = given.at(-1);
      if (command instanceof Command) invocation.exit(await run(invocation, command, act));
    },
  );
}

export function withOutput(command: Command): Command {
  // Some commands use -f for another option, as in SimpleTuner.
  const format = command.options.some(({ short }) => short === '-f') ? '--format' : '-f, --format';
  return command
    .option('--json', 'print the whole answer as JSON; with --output, those fields of it')
    .addOption(new Option(`${format} <format>`, '"json" is the same as --json').choices(['table', 'json']))
    .option('-o, --output <fields>', 'print these fields only, as in name,gpu_info.driver', wordList);
}

export const withConnection = (command: Command): Command =>
  command
    .optionsGroup('Which orchestrator:')
    .option('--url <url>', 'where it is (default: on this machine; or SIMPLETUNER_ORCHESTRATOR_URL)')
    .option('--token-file <file>', 'read its token from a file that only you can read')
    .option('--token <token>', 'the token itself, for every user of this machine to see (or ADMIN_TOKEN)')
    .option(
      '--pin <sha256:...>',
      'take a server for it by its key alone, as the panel shows it; may be repeated',
      collect,
    )
    .option('--ca-file <file>', "trust this certificate authority, besides the system's own")
    .option('--data-dir <folder>', 'where an orchestrator of this machine keeps its things')
    .option('--config <file>', 'settings by the names of these options, as JSON');

async function run(invocation: Invocation, command: Command, act: RemoteSpec['act']): Promise<number> {
  const { terminal } = invocation;
  const flags = flagsOf(command);
  invocation.onClosedPipe(() => process.exit(exitCodes.done));
  warnOfToken(terminal, flags);
  try {
    await act(openRemote(flags, invocation), command.args);
    return exitCodes.done;
  } catch (cause) {
    if (!(cause instanceof CommandEnd)) throw cause;
    terminal.err(`${plainLines(cause.failure.message).join('\n')}\n`);
    return cause.failure.code;
  }
}

export function warnOfToken({ err }: CliTerminal, flags: Flags): void {
  if (flags['token'] !== undefined)
    err('The token in the arguments can be seen by every user of this machine: use --token-file\n');
}
