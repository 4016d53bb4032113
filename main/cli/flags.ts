import { type Command, InvalidArgumentError } from 'commander';
import { plainIssues } from '../../protocol/plain-issue.ts';
import type { Flags } from '../config.ts';
import { exitCodes, fail } from './failure.ts';

/**
 * Returns the option values by long name, such as `data-dir`, as in the help and in config files. `--format json` also sets
 * `json`, and `--force` also sets `yes`.
 */
export function flagsOf(command: Command): Flags {
  const values = command.opts<Readonly<Record<string, unknown>>>();
  const flags = Object.fromEntries(
    command.options.map(option => [option.long?.slice(2) ?? '', values[option.attributeName()]]),
  );
  return {
    ...flags,
    ...(flags['format'] === 'json' && { json: true }),
    ...(flags['force'] === true && { yes: true }),
  };
}

/** Returns null when the flag was not given. */
export function textOf(flags: Flags, name: string): string | null {
  const value = flags[name];
  return typeof value === 'string' ? value : null;
}

/** Returns null when the flag was not given. */
export function numberOf(flags: Flags, name: string): number | null {
  const value = flags[name];
  return typeof value === 'number' ? value : null;
}

export const isOn = (flags: Flags, name: string): boolean => flags[name] === true;

type Labels = Readonly<Record<string, string>>;

/** Collects `--label KEY=VALUE`, which can be repeated. */
export function addLabel(text: string, before: Labels = {}): Labels {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('Use the form KEY=VALUE.');
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
}

/** Parses comma-separated names. */
export function wordList(text: string): readonly string[] {
  const names = text.split(',').map(name => name.trim());
  if (names.includes('')) throw new InvalidArgumentError('Give names separated by commas.');
  return names;
}

/**
 * Parses comma-separated names and rejects unknown ones. `what` is the noun for messages; `aliases` are accepted, but not
 * suggested.
 */
export function wordsAmong(
  what: string,
  knownWords: readonly string[],
  aliases: readonly string[] = [],
): (text: string) => readonly string[] {
  return text => {
    const words = wordList(text);
    const unknown = words.find(word => !knownWords.includes(word) && !aliases.includes(word));
    if (unknown === undefined) return words;
    throw new InvalidArgumentError(`Unknown ${what} "${unknown}". Known: ${knownWords.join(', ')}.`);
  };
}

/** Parses a whole number with at most nine digits. */
export function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('Give a whole number.');
  return Number(text);
}

/** Parses the page size of a list. */
export function pageSize(text: string): number {
  const size = wholeNumber(text);
  if (size >= 1 && size <= maxPageSize) return size;
  throw new InvalidArgumentError(`Give a whole number from 1 to ${maxPageSize}.`);
}

/** Maximum page size of the orchestrator. */
const maxPageSize = 500;

/** Parses a number that can have decimals. */
export function decimal(text: string): number {
  if (!/^\d{1,9}(\.\d+)?$/.test(text)) throw new InvalidArgumentError('Give a number.');
  return Number(text);
}

const unitSeconds: Readonly<Record<string, number>> = { '': 1, s: 1, m: 60, h: 3_600, d: 86_400 };

/** Parses a time span; returns seconds. */
export function timeSpan(text: string): number {
  const [, amount = '', unit = ''] = /^(\d{1,9}(?:\.\d+)?)([smhd]?)$/.exec(text) ?? [];
  const seconds = unitSeconds[unit];
  if (amount === '' || seconds === undefined)
    throw new InvalidArgumentError('Give seconds, or a time such as 90s, 30m, 12h or 2d.');
  return Number(amount) * seconds;
}

/** Collects the values of a repeatable option. */
export const collect = (value: string, earlier: readonly string[] = []): readonly string[] => [
  ...earlier,
  value,
];

/** Adds examples at the end of the help of a command. */
export const withExamples = (command: Command, examples: readonly string[]): Command =>
  examples.length === 0
    ? command
    : command.addHelpText('after', `\nExamples:\n${examples.map(each => `  $ ${each}`).join('\n')}`);

interface Schema<T> {
  safeParse(
    value: unknown,
    messages: typeof plainIssues,
  ):
    | { readonly success: true; readonly data: T }
    | {
        readonly success: false;
        readonly error: {
          readonly issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[];
        };
      };
}

/** Validates flags and arguments against a schema of the protocol. Ends the command when they are invalid. */
export function readInput<T>(
  schema: Schema<T>,
  value: unknown,
  /** The name of each field in messages. */
  names: Readonly<Record<string, string>>,
): T {
  const parsed = schema.safeParse(value, plainIssues);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const field = String(issue?.path[0] ?? '');
  const rejected = givenText(value, issue?.path ?? []);
  return fail(exitCodes.usage, `${names[field] ?? field}: ${issue?.message ?? 'not valid'}${rejected}`);
}

/** Returns the rejected value in quotation marks if it is short. */
function givenText(value: unknown, path: readonly PropertyKey[]): string {
  const rejected = path.reduce<unknown>(
    (at, key) =>
      typeof at === 'object' && at !== null
        ? Object.entries(at).find(([name]) => name === String(key))?.[1]
        : undefined,
    value,
  );
  const isShown =
    typeof rejected === 'number' ||
    (typeof rejected === 'string' && rejected.trim() !== '' && rejected.length <= 100);
  return isShown ? ` (given: ${JSON.stringify(rejected)})` : '';
}
