import type { Argument, Command, Option } from 'commander';
import type { Flags } from '../../config.ts';
import { JobArgument, type JobQuery } from '../jobs/find.ts';

export interface Candidate {
  readonly word: string;
  readonly about: string;
}

/** The kind of word that fits at the end of the line. */
export type Wanted =
  | { readonly kind: 'words'; readonly candidates: readonly Candidate[] }
  /** Workers or jobs of the orchestrator that the options so far select. */
  | { readonly kind: 'worker'; readonly flags: Flags }
  | { readonly kind: 'job'; readonly flags: Flags; readonly which: JobQuery }
  /** A config in the orchestrator's folder, or also a local file if `orFile` is set. */
  | { readonly kind: 'config'; readonly flags: Flags; readonly orFile: boolean }
  | { readonly kind: 'file' | 'folder' | 'nothing' };

export interface Typed {
  readonly wanted: Wanted;
  /** Prefix of each candidate: the `--option=` of the word being typed. */
  readonly before: string;
  /** Candidates must start with this text. */
  readonly typed: string;
}

/** Parses a line as the program would. `words` are those after the program's name; the last one is being typed. */
export function walk(program: Command, words: readonly string[]): Typed {
  const current = words.at(-1) ?? '';
  const place = words.slice(0, -1).reduce<Place>(step, start(program));
  if (place.pending !== null)
    return { wanted: ofValue(place.pending, place.flags), before: '', typed: current };
  const [, name = '', value = ''] = /^(--[^=]+)=(.*)$/s.exec(current) ?? [];
  const option = place.isRaw ? undefined : optionOf(place.command, name);
  if (option !== undefined && takesValue(option))
    return { wanted: ofValue(option, place.flags), before: `${name}=`, typed: value };
  const wanted = current.startsWith('-') && !place.isRaw ? optionsOf(place) : ofPosition(place);
  return { wanted, before: '', typed: current };
}

/** The parser's position in the line, and the flags so far. */
interface Place {
  readonly command: Command;
  /** Number of the command's arguments so far. */
  readonly position: number;
  /** The option whose value comes next. */
  readonly pending: Option | null;
  /** True after `--`. */
  readonly isRaw: boolean;
  readonly flags: Flags;
}

const start = (command: Command): Place => ({ command, position: 0, pending: null, isRaw: false, flags: {} });

function step(place: Place, word: string): Place {
  const { command, position, pending, isRaw, flags } = place;
  if (pending !== null) return { ...place, pending: null, flags: withFlag(flags, pending, word) };
  if (!isRaw && word === '--') return { ...place, isRaw: true };
  if (!isRaw && word.startsWith('-')) {
    const [name = '', ...rest] = word.split('=');
    const option = optionOf(command, name);
    if (option === undefined) return place;
    if (rest.length > 0) return { ...place, flags: withFlag(flags, option, rest.join('=')) };
    return takesValue(option)
      ? { ...place, pending: option }
      : { ...place, flags: withFlag(flags, option, true) };
  }
  const inner = position === 0 ? command.commands.find(one => one.name() === word) : undefined;
  return inner === undefined ? { ...place, position: position + 1 } : start(inner);
}

const withFlag = (flags: Flags, option: Option, value: unknown): Flags => ({
  ...flags,
  [option.long?.slice(2) ?? '']: value,
});

const optionOf = (command: Command, name: string): Option | undefined =>
  command.options.find(({ long, short }) => long === name || short === name);

const takesValue = (option: Option): boolean => option.required || option.optional;

/** What the placeholder names in angle brackets stand for. */
const meanings: Readonly<Record<string, 'worker' | 'config' | 'config or file' | 'file' | 'folder'>> = {
  worker: 'worker',
  file: 'file',
  folder: 'folder',
  config: 'config or file',
  'config-name': 'config',
};

function ofValue(taker: Option | Argument, flags: Flags): Wanted {
  if (taker.argChoices !== undefined)
    return { kind: 'words', candidates: taker.argChoices.map(word => ({ word, about: '' })) };
  if (taker instanceof JobArgument) return { kind: 'job', flags, which: taker.which };
  const kind = meanings[placeholder(taker)] ?? 'nothing';
  if (kind === 'config' || kind === 'config or file')
    return { kind: 'config', flags, orFile: kind === 'config or file' };
  return kind === 'worker' ? { kind, flags } : { kind };
}

const placeholder = (taker: Option | Argument): string =>
  'flags' in taker ? (/[<[]([^>\]]+)[>\]]/.exec(taker.flags)?.[1] ?? '') : taker.name();

function ofPosition({ command, position, flags }: Place): Wanted {
  const visible = command.createHelp().visibleCommands(command);
  if (position === 0 && command.commands.length > 0) {
    const candidates = visible.map(one => ({ word: one.name(), about: one.description() }));
    return { kind: 'words', candidates };
  }
  const argument = command.registeredArguments[position];
  return argument === undefined ? { kind: 'nothing' } : ofValue(argument, flags);
}

function optionsOf({ command, flags }: Place): Wanted {
  const open = command
    .createHelp()
    .visibleOptions(command)
    // Only options with pairs, as in --label KEY=VALUE, may be repeated.
    .filter(option => flags[option.long?.slice(2) ?? ''] === undefined || placeholder(option).includes('='));
  const candidates = open.map(({ long, short, description }) => ({
    word: long ?? short ?? '',
    about: description,
  }));
  return { kind: 'words', candidates };
}
