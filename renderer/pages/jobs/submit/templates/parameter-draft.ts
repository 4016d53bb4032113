import { flatten } from '../../../../../protocol/compare-configs.ts';
import type { TemplateDetail, TemplateParameter } from '../../../../../protocol/template.ts';
import {
  isSecretParameter,
  jobParameters,
  type ParameterRule,
  readValue,
} from '../../../../../protocol/template-values.ts';
import {
  formatOf,
  formFieldsOf,
  type ParameterPlace,
  parseConfigText,
  placeOf,
  trainerFor,
  typeAtPlace,
  valueAtPlace,
} from '../../../../../trainers/index.ts';
import type { TemplateKey } from '../../../../i18n/en/templates.ts';

type Submission = Pick<TemplateDetail['submission'], 'config' | 'dataloader' | 'files'>;

/** A parameter while the user edits it. Numbers are text, because a partly typed number may be invalid. */
export interface ParameterDraft extends ParameterPlace {
  readonly type: TemplateParameter['type'];
  readonly label: string;
  readonly help: string;
  readonly default: string;
  /** One per line. */
  readonly choices: string;
  readonly min: string;
  readonly max: string;
}

/** A value that a template can ask for. */
export interface Candidate extends ParameterPlace {
  /** The current value as text; null for none. */
  readonly value: string | null;
  readonly group: 'common' | 'config' | 'dataloader' | 'file' | 'job';
}

export const idOf = ({ document: part, file, key }: ParameterPlace): string => `${part} ${file ?? ''} ${key}`;

const isScalar = (value: unknown): boolean => typeof value !== 'object' || value === null;
const textOf = (value: unknown): string | null =>
  typeof value === 'string' ? value : value === undefined || value === null ? null : JSON.stringify(value);

function scalarsOf(
  document: unknown,
  place: Pick<Candidate, 'document' | 'file' | 'group'>,
): readonly Candidate[] {
  return [...flatten(document)].flatMap(([key, value]) =>
    isScalar(value) && key.length <= 200 ? [{ ...place, key, value: textOf(value) }] : [],
  );
}

/** Lists all values of a submission. The most frequently changed values come first. */
export function candidatesOf(submission: Submission): readonly Candidate[] {
  const { config = {}, dataloader, files = {} } = submission;
  const trainer = trainerFor(config).name;
  const common = formFieldsOf(trainer).flatMap((field): readonly Candidate[] => {
    const at = placeOf(field, trainer, config);
    const key = at?.join('.').replace(/^--/, '') ?? '';
    const place = { document: 'config', file: null, key, group: 'common' } as const;
    const value = valueAtPlace(submission, place);
    return key === '' || value === undefined || !isScalar(value) ? [] : [{ ...place, value: textOf(value) }];
  });
  const isCommon = ({ key }: Candidate): boolean => common.some(each => each.key === key);
  const inFiles = Object.entries(files).flatMap(([file, text]) => {
    const format = formatOf(file);
    const read = format === null ? null : parseConfigText(text, format);
    return read?.ok === true ? scalarsOf(read.value, { document: 'file', file, group: 'file' }) : [];
  });
  return [
    ...common,
    ...scalarsOf(config, { document: 'config', file: null, group: 'config' }).filter(each => !isCommon(each)),
    ...scalarsOf(dataloader, { document: 'dataloader', file: null, group: 'dataloader' }),
    ...inFiles,
    ...Object.keys(jobParameters).map((key): Candidate => {
      const value = Object.entries(submission).find(([name]) => name === key)?.[1];
      return { document: 'job', file: null, key, group: 'job', value: textOf(value) };
    }),
  ];
}

/** Returns a new parameter for a value. Its default is the current value, except for secrets. */
export function newParameter(submission: Submission, place: Candidate): ParameterDraft {
  const { key, document: part, file, value } = place;
  const isSecret = isSecretParameter(place);
  return {
    key,
    document: part,
    file,
    type: typeAtPlace(submission, place),
    label: '',
    help: '',
    default: isSecret ? '' : (value ?? ''),
    choices: '',
    min: '',
    max: '',
  };
}

/** Converts a parameter from the format of the API to a draft. */
export const draftOf = (parameter: TemplateParameter): ParameterDraft => ({
  ...parameter,
  label: parameter.label ?? '',
  help: parameter.help ?? '',
  default: textOf(parameter.default) ?? '',
  choices: parameter.choices.join('\n'),
  min: textOf(parameter.min) ?? '',
  max: textOf(parameter.max) ?? '',
});

const linesOf = (text: string): readonly string[] =>
  [...new Set(text.split('\n').map(line => line.trim()))].filter(line => line !== '');

const isNumeric = ({ type }: Pick<ParameterDraft, 'type'>): boolean =>
  type === 'integer' || type === 'number';

const limitOf = (draft: ParameterDraft, text: string): number | null =>
  !isNumeric(draft) || text.trim() === '' ? null : Number(text);

/** Converts the draft to the format of the API. */
export const toParameter = (draft: ParameterDraft): TemplateParameter => ({
  key: draft.key,
  document: draft.document,
  file: draft.file,
  type: draft.type,
  label: draft.label.trim() || null,
  help: draft.help.trim() || null,
  default: isSecretParameter(draft) || draft.default.trim() === '' ? null : draft.default.trim(),
  choices: draft.type === 'boolean' ? [] : [...linesOf(draft.choices)],
  min: limitOf(draft, draft.min),
  max: limitOf(draft, draft.max),
});

export type ParameterErrors = Readonly<Partial<Record<'default' | 'choices' | 'min' | 'max', TemplateKey>>>;

/** Returns the first error of the draft as a text key, by the name of its field. */
export function errorsOf(draft: ParameterDraft): ParameterErrors {
  const rule: ParameterRule = toParameter(draft);
  const notNumber = 'templates.problem.not_number';
  if (Number.isNaN(rule.min)) return { min: notNumber };
  if (Number.isNaN(rule.max)) return { max: notNumber };
  if (rule.min !== null && rule.max !== null && rule.min > rule.max) return { max: 'templates.wrong.limits' };
  const wrong = rule.choices.some(choice => !readValue({ ...rule, choices: [] }, choice).ok);
  if (wrong) return { choices: 'templates.wrong.choices' };
  if (rule.default === null) return {};
  const value = readValue(rule, undefined);
  if (value.ok) return {};
  const { problem } = value;
  return problem === 'unknown' ? {} : { default: `templates.problem.${problem}` };
}
