import { withConfigValue } from '../../../../../protocol/config-path.ts';
import { maxSweepJobs, type SweepAxis } from '../../../../../protocol/sweep-limits.ts';
import type { TemplateDetail, TemplateParameter } from '../../../../../protocol/template.ts';
import { isSecretParameter, readValue } from '../../../../../protocol/template-values.ts';
import { parseConfigText, typeAtPlace, valueAtPlace } from '../../../../../trainers/index.ts';
import type { TemplateTranslator } from './texts.tsx';

/** The texts in the fields, by the keys of their parameters. */
export type Typed = Readonly<Record<string, string>>;

/** An axis whose config key is not a parameter of the template. */
export interface OtherAxis {
  readonly id: number;
  readonly key: string;
  readonly lines: string;
}

/** The values to try, one per line. */
export interface SweepDraft {
  /** Axes that are parameters of the template, by key. */
  readonly asked: Typed;
  readonly others: readonly OtherAxis[];
}

export const noSweep: SweepDraft = { asked: {}, others: [] };

export interface CheckedSweep {
  readonly axes: readonly SweepAxis[];
  /** Errors by the key of a parameter. For another axis: `key ID` for a wrong key, and `other ID` for wrong values. */
  readonly errors: Readonly<Record<string, string>>;
  /** Number of jobs. */
  readonly count: number;
}

type Submission = TemplateDetail['submission'];

const linesOf = (text: string): readonly string[] =>
  text
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '');

/** Parses the values to try with the same rules as the server. */
export function checkSweep(
  { submission, parameters }: Pick<TemplateDetail, 'submission' | 'parameters'>,
  { asked, others }: SweepDraft,
  t: TemplateTranslator,
): CheckedSweep {
  const errors: Record<string, string> = {};
  const axes: SweepAxis[] = [];
  for (const parameter of parameters.filter(({ key }) => asked[key] !== undefined)) {
    const { key } = parameter;
    const read = readLines(parameter, asked[key] ?? '', t);
    if (typeof read === 'string') errors[key] = read;
    else axes.push({ key, values: read });
  }
  for (const { id, key: written, lines } of others) {
    const key = written.trim();
    const wrong = keyError(submission, key, [...parameters, ...axes], t);
    if (wrong !== null) errors[`key ${id}`] = wrong;
    const read = readLines(parameterAt(submission, key), lines, t);
    if (typeof read === 'string') errors[`other ${id}`] = read;
    else if (wrong === null) axes.push({ key, values: read });
  }
  const count = axes.reduce((product, { values }) => product * values.length, 1);
  const [lastField] = axes.slice(-1).map(({ key }) => fieldOf(key, others));
  if (count > maxSweepJobs && lastField !== undefined)
    errors[lastField] = t('templates.sweep.tooMany', { count, max: maxSweepJobs });
  return { axes, errors, count };
}

/** Returns the name of the field that contains the values of an axis. */
function fieldOf(key: string, others: SweepDraft['others']): string {
  const other = others.find(each => each.key.trim() === key);
  return other === undefined ? key : `other ${other.id}`;
}

function keyError(
  { config = {} }: Submission,
  key: string,
  taken: readonly { readonly key: string }[],
  t: TemplateTranslator,
): string | null {
  if (key === '') return t('templates.sweep.noKey');
  if (taken.some(each => each.key === key)) return t('templates.sweep.taken');
  if (isSecretParameter({ key })) return t('templates.sweep.secret');
  return withConfigValue(config, key, '') === null ? t('templates.sweep.noPlace') : null;
}

/** Describes a config value as a parameter. Returns null if the config has no such value, because its type is unknown. */
function parameterAt(submission: Submission, key: string): TemplateParameter | null {
  const place = { key, document: 'config', file: null } as const;
  if ((valueAtPlace(submission, place) ?? null) === null) return null;
  const type = typeAtPlace(submission, place);
  return { ...place, type, label: null, help: null, default: null, choices: [], min: null, max: null };
}

/** Returns the values, or an error message. Values of unknown type are parsed as YAML. */
function readLines(
  parameter: TemplateParameter | null,
  text: string,
  t: TemplateTranslator,
): SweepAxis['values'] | string {
  const values: SweepAxis['values'] = [];
  for (const line of linesOf(text)) {
    const read = parameter === null ? null : readValue(parameter, line);
    if (read?.ok === false && read.problem !== 'unknown')
      return `${line}: ${t(`templates.problem.${read.problem}`, { min: parameter?.min ?? '', max: parameter?.max ?? '' })}`;
    const value = read?.ok === true ? read.value : scalarIn(line);
    if (values.includes(value)) return t('templates.sweep.twice', { value: line });
    values.push(value);
  }
  return values.length === 0 ? t('templates.sweep.empty') : values;
}

function scalarIn(line: string): SweepAxis['values'][number] {
  const parsed = parseConfigText(line, 'yaml');
  const value: unknown = parsed.ok ? parsed.value : line;
  return typeof value === 'number' || typeof value === 'boolean' || value === null ? value : line;
}
