import { type Command, InvalidArgumentError } from 'commander';
import type { TemplateParameter } from '../../../protocol/template.ts';
import { type ParameterPlace, typeAtPlace } from '../../../trainers/index.ts';
import { textOf } from '../flags.ts';
import { exitCodes, fail } from '../failure.ts';
import { readConfig } from '../jobs/config-source.ts';
import type { Remote } from '../remote.ts';

/** A parameter from `--ask`. The orchestrator converts the default from text to the type of the parameter. */
interface Asked extends ParameterPlace {
  readonly default: string | null;
}

export const withParameterOptions = (command: Command): Command =>
  command
    .option(
      '--ask <key[=default]>',
      'value to ask for, such as learning_rate or job:gpu_count=1; repeatable',
      addAsked,
    )
    .option(
      '--parameters <file>',
      'JSON, YAML or TOML file with "parameters": labels, help, choices and limits of the values',
    );

const parts = ['config', 'dataloader', 'file', 'job'] as const;

/** Parses `KEY`, `KEY=DEFAULT`, `dataloader:KEY`, `job:FIELD` or `file:PATH:KEY`. */
function addAsked(text: string, before: readonly Asked[] = []): readonly Asked[] {
  const [, place = '', given] = /^([^=]+)(?:=(.*))?$/s.exec(text) ?? [];
  const [, part = 'config', rest = ''] = /^(?:(config|dataloader|job|file):)?(.*)$/s.exec(place) ?? [];
  const colon = rest.lastIndexOf(':');
  const isInFile = part === 'file';
  if (place === '' || rest === '' || (isInFile && colon < 1))
    throw new InvalidArgumentError(
      'Use the form KEY, KEY=DEFAULT, dataloader:KEY, job:FIELD or file:PATH:KEY.',
    );
  const asked: Asked = {
    key: isInFile ? rest.slice(colon + 1) : rest,
    document: parts.find(each => each === part) ?? 'config',
    file: isInFile ? rest.slice(0, colon) : null,
    default: given ?? null,
  };
  return [...before, asked];
}

/** The submission from which the types of parameters are guessed. */
type Source = Parameters<typeof typeAtPlace>[0];

/** Returns the parameters from `--parameters` and `--ask`; null without both options. */
export async function readParameters(
  remote: Remote,
  source: () => Promise<Source>,
): Promise<readonly unknown[] | null> {
  const { flags, terminal } = remote;
  const asked = isAsked(flags['ask']) ? flags['ask'] : [];
  const file = textOf(flags, 'parameters');
  const fromFile = file === null ? [] : await readFile(file, terminal);
  if (asked.length === 0 && file === null) return null;
  const submission = asked.length === 0 ? {} : await source();
  const fromOptions = asked.map(each => ({ ...each, type: typeAtPlace(submission, each) }));
  return [...fromFile, ...fromOptions];
}

const isAsked = (value: unknown): value is readonly Asked[] => Array.isArray(value);

const noun = { noun: 'file of parameters', remedy: 'Give a local file' } as const;

async function readFile(path: string, terminal: Remote['terminal']): Promise<readonly unknown[]> {
  const { config } = await readConfig(path, terminal, noun);
  const { parameters } = config;
  if (!Array.isArray(parameters)) return fail(exitCodes.usage, `${path} has no list "parameters"`);
  const list: readonly unknown[] = parameters;
  return list;
}

/** Describes a parameter in one line, such as "learning_rate: number, default 0.0001, at most 1". */
export function parameterText(parameter: TemplateParameter): string {
  const { key, document: part, file, type, default: value, choices, min, max, label, help } = parameter;
  const facts = [
    type,
    value === null ? 'required' : `default ${JSON.stringify(value)}`,
    ...(choices.length > 0 ? [`one of ${choices.join(', ')}`] : []),
    ...(min === null ? [] : [`at least ${min}`]),
    ...(max === null ? [] : [`at most ${max}`]),
    ...(part === 'config' ? [] : [part === 'file' ? `in ${file ?? ''}` : `in the ${part}`]),
    ...(label === null ? [] : [label]),
    ...(help === null ? [] : [help]),
  ];
  return `${key}: ${facts.join(', ')}`;
}
