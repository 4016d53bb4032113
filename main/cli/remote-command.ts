import { Command, Option } from 'commander';
import type { Flags } from '../config.ts';
import { CommandEnd, exitCodes } from './failure.ts';
import { collect, flagsOf, withExamples, wordList } from './flags.ts';
import type { CliTerminal, Invocation } from './invocation.ts';
import { openRemote, type Remote } from './remote.ts';
import { plainLines } from './table.ts';

/** Registers signal handlers, for commands that clean up after an interrupt. */
type Signals = Pick<Invocation, 'onSignal'>;

/** A command that calls an orchestrator. */
export interface RemoteSpec {
  readonly name: string;
  readonly description: string;
  /** Command lines for the end of the help. */
  readonly examples?: readonly string[];
  /** If true, the command runs when the user names only its group. */
  readonly isDefault?: boolean;
  /** True for a command whose output has one format only. The help then omits the options for the output. */
  readonly hasFixedOutput?: boolean;
  /** Adds the arguments and options. */
  readonly shape?: (command: Command) => Command;
  /** Runs the command. `args` are the user's words, not parsed. */
  readonly act: (remote: Remote, args: readonly string[], signals: Signals) => Promise<void>;
}

/** Creates a command that groups these subcommands. */
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

/** Creates the command for a spec, with the options for the connection and the output. */
export function remoteCommand(invocation: Invocation, spec: RemoteSpec): Command {
  const { name, description, examples = [], hasFixedOutput = false, shape = each => each, act } = spec;
  const shaped = shape(new Command(name).description(description));
  const own = new Set(shaped.options);
  const withOptions = withOutput(shaped);
  // The options stay, but hidden, because earlier versions accepted them.
  if (hasFixedOutput) for (const option of withOptions.options) if (!own.has(option)) option.hideHelp();
  const command = withConnection(withOptions);
  return withExamples(command, examples).action(async (...given: readonly unknown[]) => {
    const self = given.at(-1);
    if (self instanceof Command) invocation.exit(await run(invocation, self, act));
  });
}

export function withOutput(command: Command): Command {
  // Some commands use -f for another option, as in SimpleTuner.
  const format = command.options.some(({ short }) => short === '-f') ? '--format' : '-f, --format';
  return command
    .option('--json', 'print JSON: all fields, or those of --output')
    .addOption(
      new Option(`${format} <format>`, 'output format; "json" is the same as --json').choices([
        'table',
        'json',
      ]),
    )
    .option('-o, --output <fields>', 'print only these fields, such as name,gpu_info.driver', wordList);
}

export const withConnection = (command: Command): Command =>
  command
    .optionsGroup('Connection:')
    .option(
      '--url <url>',
      'URL of the orchestrator (default: $SIMPLETUNER_ORCHESTRATOR_URL, or the orchestrator on this machine)',
    )
    .option('--token-file <file>', 'file with the access token; only you may be able to read it')
    .option(
      '--token <token>',
      'access token, visible to all users of this machine (default: $ADMIN_TOKEN, or the admin token in --data-dir)',
    )
    .option(
      '--pin <sha256:...>',
      'trust only a server with this key, as the panel shows it; repeatable',
      collect,
    )
    .option('--ca-file <file>', 'also trust this certificate authority (a PEM file)')
    .option(
      '--data-dir <folder>',
      'data folder of the orchestrator on this machine (default on Linux: ~/.local/share/trainyard)',
    )
    .option('--config <file>', 'JSON file with values for the options of this command');

async function run(invocation: Invocation, command: Command, act: RemoteSpec['act']): Promise<number> {
  const { terminal } = invocation;
  const flags = flagsOf(command);
  invocation.onClosedPipe(() => process.exit(exitCodes.done));
  warnOfToken(terminal, flags);
  try {
    await act(openRemote(flags, invocation), command.args, invocation);
    return exitCodes.done;
  } catch (cause) {
    if (!(cause instanceof CommandEnd)) throw cause;
    terminal.err(`${plainLines(cause.failure.message).join('\n')}\n`);
    return cause.failure.code;
  }
}

/** Warns when the token is an argument, because other users of the machine can read arguments. */
export function warnOfToken({ err }: CliTerminal, flags: Flags): void {
  if (flags['token'] !== undefined)
    err('Warning: every user of this machine can see a token in the arguments. Use --token-file\n');
}
