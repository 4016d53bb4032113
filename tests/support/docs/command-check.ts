import { type Argument, Command, type Option } from 'commander';
import { commands } from '../../../main/cli/commands.ts';
import { type Block, isShell, placeOf, textOf } from './blocks.ts';
import { argumentsOf, splitCommands } from './shell-words.ts';

/** Creates all commands of the CLI, to check command lines without running them. */
export async function createCommands(): Promise<Command> {
  const nothing = (): void => {};
  const program = new Command('trainyard').version('0').enablePositionalOptions();
  for (const load of commands.values())
    program.addCommand(
      (await load())({
        env: {},
        terminal: {
          out: nothing,
          err: nothing,
          outScreen: () => null,
          errScreen: () => null,
          ask: null,
          stdin: null,
        },
        ownCommand: [],
        onSignal: nothing,
        onClosedPipe: nothing,
        exit: nothing,
      }),
    );
  return program;
}

/** Returns the part of a block that may contain commands. */
function shellTextOf(block: Block): string {
  const text = textOf(block);
  if (isShell(block)) return text;
  if (block.language === 'powershell') return text.replaceAll('`\n', '\\\n');
  if (block.language !== 'ini') return '';
  return text
    .replaceAll('\\\n', ' ')
    .split('\n')
    .filter(line => line.startsWith('ExecStart='))
    .map(line => line.slice('ExecStart='.length))
    .join('\n');
}

/** Returns the problems of the `trainyard` commands in a block, one line each. */
export function findBadCommands(program: Command, block: Block): readonly string[] {
  return splitCommands(shellTextOf(block)).flatMap(words => {
    const args = argumentsOf(words);
    const problem = args === null ? null : findProblem(program, args);
    return problem === null ? [] : [`${placeOf(block)}: trainyard ${args?.join(' ')}: ${problem}`];
  });
}

/** Returns true for a word that the reader must replace, or that marks an omission. */
const isPlaceholder = (word: string): boolean => word.includes('...') || word.includes('$');

/** Returns why the program would refuse this command line; null when it would accept it. */
function findProblem(program: Command, words: readonly string[]): string | null {
  let command = program;
  const args: string[] = [];
  const rest = words.filter(word => word !== '...');
  const isWhole = rest.length === words.length;
  while (rest.length > 0) {
    const word = rest.shift() ?? '';
    if (word === '--') args.push(...rest.splice(0));
    else if (word.startsWith('-') && word !== '-') {
      const [name = '', ...parts] = word.split('=');
      if (['--help', '-h', '--version'].includes(name)) return null;
      const option = command.options.find(({ long, short }) => long === name || short === name);
      if (option === undefined) return `${command.name()} has no option ${name}`;
      if (!option.required && !option.optional) continue;
      const value = parts.length > 0 ? parts.join('=') : rest.shift();
      if (value === undefined) {
        if (isWhole && option.required) return `${name} needs a value`;
      } else if (!isChoice(option, value)) return `${name} cannot be ${value}`;
    } else {
      const inner = args.length === 0 ? findCommand(command, word) : undefined;
      if (inner === undefined) args.push(word);
      else command = inner;
    }
  }
  return findBadArguments(command, args, isWhole);
}

const findCommand = (command: Command, name: string): Command | undefined =>
  command.commands.find(candidate => candidate.name() === name || candidate.aliases().includes(name));

/** Returns why the command would refuse these arguments; null when it would accept them. `isWhole`: no argument is omitted. */
function findBadArguments(command: Command, args: readonly string[], isWhole: boolean): string | null {
  const known = command.registeredArguments;
  const [first] = args;
  if (known.length === 0 && first !== undefined) return `${command.name()} has no command ${first}`;
  const isGroup = command.commands.length > 0 && command.name() !== 'worker';
  if (isGroup && isWhole) return `${command.name()} needs a command`;
  const needed = known.filter(({ required }) => required).length;
  if (isWhole && args.length < needed) return `${known[args.length]?.name()} is missing`;
  if (args.length > known.length && known.at(-1)?.variadic !== true)
    return `${args[known.length]} is one argument too many`;
  const invalid = args.find((value, index) => known[index] !== undefined && !isChoice(known[index], value));
  return invalid === undefined ? null : `${invalid} is not a possible value`;
}

/** Returns true if the value is one of the choices, a list of choices or a placeholder, or if any value is possible. */
const isChoice = ({ argChoices }: Option | Argument, value: string): boolean =>
  argChoices === undefined ||
  isPlaceholder(value) ||
  value.split(',').every(part => argChoices.includes(part));
