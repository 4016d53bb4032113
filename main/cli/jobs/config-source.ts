import { readFileSync } from 'node:fs';
import type { TrainerConfig } from '../../../protocol/job.ts';
import { formatOf, parseConfigText, parseFailure } from '../../../trainers/index.ts';
import { exitCodes, fail, reasonOf } from '../failure.ts';
import type { CliTerminal } from '../invocation.ts';

/** A config and where it comes from. */
interface ConfigSource {
  /** Name of the source for messages. */
  readonly label: string;
  readonly config: TrainerConfig;
}

type Format = NonNullable<ReturnType<typeof formatOf>>;

/** The path that means standard input. Files that a config from standard input names are relative to the current folder. */
const standardInput = '-';

export const isStandardInput = (path: string): boolean => path === standardInput;

/** The noun for the file in messages, and the remedy when the file cannot be read. */
interface SourceNoun {
  readonly noun: string;
  readonly remedy: string;
}

const configNoun = {
  noun: 'config',
  remedy: 'Give a local file, or the name of a config on the orchestrator',
} as const;

/**
 * Reads an object from a JSON, YAML or TOML file or from standard input. `what` names the kind of file in messages. Ends the
 * command if there is no object.
 */
export async function readConfig(
  path: string,
  { stdin }: Pick<CliTerminal, 'stdin'>,
  what: SourceNoun = configNoun,
): Promise<ConfigSource> {
  const isInput = isStandardInput(path);
  const label = isInput ? 'Standard input' : path;
  const text = isInput ? await readInputText(stdin, what) : readFileText(path, what);
  const format = isInput ? guessFormat(text) : (formatOf(path) ?? 'json');
  const parsed = parseConfigText(text, format);
  if (!parsed.ok)
    return fail(exitCodes.usage, `${label} is not valid ${format.toUpperCase()}: ${parseFailure(parsed)}`);
  return isObject(parsed.value)
    ? { label, config: parsed.value }
    : fail(exitCodes.usage, `${label} is not an object: a ${what.noun} has the form {"key": value, ...}`);
}

const isObject = (value: unknown): value is TrainerConfig =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function readFileText(path: string, { noun, remedy }: SourceNoun): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    return fail(exitCodes.usage, `The ${noun} cannot be read: ${reasonOf(cause)}. ${remedy}`);
  }
}

async function readInputText(stdin: CliTerminal['stdin'], { noun }: SourceNoun): Promise<string> {
  if (stdin === null)
    return fail(
      exitCodes.usage,
      `"-" reads the ${noun} from standard input, but that is the terminal. Give a file, or a pipe such as "cat FILE | ..."`,
    );
  const text = await stdin();
  return text.trim() === '' ? fail(exitCodes.usage, `Standard input is empty: it must be a ${noun}`) : text;
}

/**
 * Guesses the format from the first line with content. A TOML file starts with a table or `key = value`.
 *
 * @internal
 */
export function guessFormat(text: string): Format {
  const first = text
    .replace(/^\ufeff/, '')
    .split('\n')
    .map(line => line.trim())
    .find(line => line !== '' && !line.startsWith('#'));
  if (first === undefined) return 'yaml';
  if (/^\[{1,2}[\w."' -]*[A-Za-z][\w."' -]*\]{1,2}\s*(?:#.*)?$/.test(first)) return 'toml';
  if (/^[{[]/.test(first)) return 'json';
  return /^(?:[\w-]+|"[^"]*"|'[^']*')(?:\.(?:[\w-]+|"[^"]*"|'[^']*'))*\s*=/.test(first) ? 'toml' : 'yaml';
}
