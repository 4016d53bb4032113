import type { Argument, Command, Option } from 'commander';
import type { Flags } from '../../config.ts';
import { JobArgument, type JobQuery } from '../jobs/find.ts';

export interface Candidate {
  readonly word: string;
  readonly about: string;
}

/** The kind of word that can complete the command line. */
export type Expected =
  | { readonly kind: 'words'; readonly candidates: readonly Candidate[] }
  /** Names of workers, pools, open launches, templates or jobs. The flags select the orchestrator to ask for the names. */
  | { readonly kind: 'worker' | 'pool' | 'launch' | 'template'; readonly flags: Flags }
  | { readonly kind: 'job'; readonly flags: Flags; readonly which: JobQuery }
  /** Names of configs in the orchestrator's folder; with `orFile` also local files. */
  | { readonly kind: 'config'; readonly flags: Flags; readonly orFile: boolean }
  | { readonly kind: 'file' | 'folder' | 'nothing' };

export interface Typed {
  readonly expected: Expected;
  /** Prefix of each candidate: `--option=` if the value of an option is typed in the same word. */
  readonly before: string;
  /** The part of the word that the user has typed so far. Candidates must start with it. */
  readonly typed: string;
}

/** Parses a command line as the program would. `words` are the words after the program's name; the last one is being typed. */
export function walk(program: Command, words: readonly string[]): Typed {
  const current = words.at(-1) ?? '';
  const state = words.slice(0, -1).reduce<Position>(step, start(program));
  if (state.pending !== null)
    return { expected: candidatesForValue(state.pending, state.flags), before: '', typed: current };
  const [, name = '', value = ''] = /^(--[^=]+)=(.*)$/s.exec(current) ?? [];
  const option = state.isRaw ? undefined : optionOf(state.command, name);
  if (option !== undefined && takesValue(option))
    return { expected: candidatesForValue(option, state.flags), before: `${name}=`, typed: value };
  const expected =
    current.startsWith('-') && !state.isRaw ? candidatesForOptions(state) : candidatesForPosition(state);
  return { expected, before: '', typed: current };
}

/** The parser's position in the line, and the flags before it. */
interface Position {
  readonly command: Command;
  /** Number of the command's arguments so far. */
  readonly position: number;
  /** The option whose value comes next. */
  readonly pending: Option | null;
  /** True after `--`. */
  readonly isRaw: boolean;
  readonly flags: Flags;
}

const start = (command: Command): Position => ({
  command,
  position: 0,
  pending: null,
  isRaw: false,
  flags: {},
});

function step(state: Position, word: string): Position {
  const { command, position, pending, isRaw, flags } = state;
  if (pending !== null) return { ...state, pending: null, flags: withFlag(flags, pending, word) };
  if (!isRaw && word === '--') return { ...state, isRaw: true };
  if (!isRaw && word.startsWith('-')) {
    const [name = '', ...rest] = word.split('=');
    const option = optionOf(command, name);
    if (option === undefined) return state;
    if (rest.length > 0) return { ...state, flags: withFlag(flags, option, rest.join('=')) };
    return takesValue(option)
      ? { ...state, pending: option }
      : { ...state, flags: withFlag(flags, option, true) };
  }
  const inner = position === 0 ? command.commands.find(one => one.name() === word) : undefined;
  return inner === undefined ? { ...state, position: position + 1 } : start(inner);
}

const withFlag = (flags: Flags, option: Option, value: unknown): Flags => ({
  ...flags,
  [option.long?.slice(2) ?? '']: value,
});

const optionOf = (command: Command, name: string): Option | undefined =>
  command.options.find(({ long, short }) => long === name || short === name);

const takesValue = (option: Option): boolean => option.required || option.optional;

/** Maps the placeholder of an option or argument, such as `worker` in `<worker>`, to the kind of value. */
const placeholderKinds: Readonly<
  Record<string, 'worker' | 'pool' | 'launch' | 'template' | 'config' | 'config or file' | 'file' | 'folder'>
> = {
  worker: 'worker',
  pool: 'pool',
  template: 'template',
  launch: 'launch',
  file: 'file',
  folder: 'folder',
  config: 'config or file',
  'config-name': 'config',
};

function candidatesForValue(target: Option | Argument, flags: Flags): Expected {
  if (target.argChoices !== undefined)
    return { kind: 'words', candidates: target.argChoices.map(word => ({ word, about: '' })) };
  if (target instanceof JobArgument) return { kind: 'job', flags, which: target.which };
  const kind = placeholderKinds[placeholder(target)] ?? 'nothing';
  if (kind === 'config' || kind === 'config or file')
    return { kind: 'config', flags, orFile: kind === 'config or file' };
  const isNamed = kind === 'worker' || kind === 'pool' || kind === 'launch' || kind === 'template';
  return isNamed ? { kind, flags } : { kind };
}

const placeholder = (target: Option | Argument): string =>
  'flags' in target ? (/[<[]([^>\]]+)[>\]]/.exec(target.flags)?.[1] ?? '') : target.name();

function candidatesForPosition({ command, position, flags }: Position): Expected {
  const visible = command.createHelp().visibleCommands(command);
  if (position === 0 && command.commands.length > 0) {
    const candidates = visible.map(one => ({ word: one.name(), about: one.description() }));
    return { kind: 'words', candidates };
  }
  const argument = command.registeredArguments[position];
  return argument === undefined ? { kind: 'nothing' } : candidatesForValue(argument, flags);
}

function candidatesForOptions({ command, flags }: Position): Expected {
  const open = command
    .createHelp()
    .visibleOptions(command)
    // An option can be repeated only if its value is a pair, as in --label KEY=VALUE.
    .filter(option => flags[option.long?.slice(2) ?? ''] === undefined || placeholder(option).includes('='));
  const candidates = open.map(({ long, short, description }) => ({
    word: long ?? short ?? '',
    about: description,
  }));
  return { kind: 'words', candidates };
}
