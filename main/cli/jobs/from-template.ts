import { type Command, InvalidArgumentError } from 'commander';
import { templatesApi } from '../../../protocol/templates-api.ts';
import { exitCodes, fail } from '../failure.ts';
import { readInput, textOf } from '../flags.ts';
import type { Remote } from '../remote.ts';
import { aboutFields } from './about.ts';
import type { Parents } from './parents.ts';
import { printSweep } from './sweep.ts';

type Values = Readonly<Record<string, string>>;

export const withTemplateOptions = (command: Command): Command =>
  command
    .option('--template <template>', 'submit from this template instead of a config')
    .option(
      '--set <key=value>',
      'value that the template asks for, such as learning_rate=1e-4; repeatable',
      addValue,
    );

/** Collects `--set KEY=VALUE`. The orchestrator converts the texts to the types of the template. */
function addValue(text: string, before: Values = {}): Values {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('Use the form KEY=VALUE.');
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
}

/** The request field of each option that a user can combine with a template. The template decides about all others. */
const fields = {
  ...aboutFields,
  priority: 'priority',
  'after-on': 'after_on',
  'idempotency-key': 'idempotency_key',
  'dry-run': 'dry_run',
} as const;

const names = {
  values: '--set',
  after: '--after',
  inputs: '--input',
  ...Object.fromEntries(Object.entries(fields).map(([option, field]) => [field, `--${option}`])),
};

interface Given {
  readonly parents: Parents;
  /** Names of the remaining options of `submit`. Most of them cannot be combined with a template. */
  readonly others: readonly string[];
}

/** Submits a job from a template. With `--dry-run`, the server only checks the submission. */
export function submitFromTemplate(remote: Remote, name: string, given: Given) {
  const body = readInput(templatesApi.submit.body, requestFrom(remote, given), names);
  return remote.request(templatesApi.submit, { params: { template: name }, body });
}

/** Submits a job from a template for each combination of values, and prints the jobs. */
export async function sweepTemplate(remote: Remote, name: string, given: Given): Promise<void> {
  const request = { ...requestFrom(remote, given), sweep: remote.flags['sweep'] };
  const body = readInput(templatesApi.sweep.body, request, { ...names, sweep: '--sweep' });
  const answer = await remote.request(templatesApi.sweep, { params: { template: name }, body });
  printSweep(remote, body.sweep, answer);
}

/** Returns the request without the sweep. Ends the command if an option cannot be combined with a template. */
function requestFrom({ flags }: Remote, { parents, others }: Given) {
  const refused = others.find(option => !(option in fields) && isGiven(flags[option]));
  if (refused !== undefined)
    return fail(
      exitCodes.usage,
      `--${refused} does not go with --template, because the template decides about it`,
    );
  const overrides = Object.entries(fields).flatMap(([option, field]) =>
    flags[option] === undefined ? [] : [[field, flags[option]] as const],
  );
  return { values: flags['set'] ?? {}, ...parents, ...Object.fromEntries(overrides) };
}

/** The value `true` does not count as given, because it is commander's default for `--no-X` options. */
const isGiven = (value: unknown): boolean => value !== undefined && value !== true;

/** Returns the name from `--template`; null without one. Ends the command if the other arguments contradict it. */
export function templateNamed({ flags }: Remote, word: string | undefined): string | null {
  const name = textOf(flags, 'template');
  if (name === null && flags['set'] !== undefined) return fail(exitCodes.usage, '--set needs --template');
  if (name === null && word === undefined)
    return fail(exitCodes.usage, 'Give a config, or a template with --template');
  if (name !== null && word !== undefined)
    return fail(exitCodes.usage, 'Give either a config or --template, because a template has its own config');
  return name;
}
