import { isSecretName } from './secret-names.ts';

/** Checks of the values that users give to a template. Server, panel and command line use the same checks. */

type Value = string | number | boolean;

/** The fields of a parameter that determine its valid values. */
export interface ParameterRule {
  readonly key: string;
  readonly document: 'config' | 'dataloader' | 'file' | 'job';
  readonly file: string | null;
  readonly type: 'text' | 'integer' | 'number' | 'boolean';
  readonly default: Value | null;
  readonly choices: readonly Value[];
  readonly min: number | null;
  readonly max: number | null;
}

/** `missing`: the user gave no value, and there is no default. `unknown`: the template has no such parameter. */
export type ValueProblem =
  | 'missing'
  | 'not_integer'
  | 'not_number'
  | 'not_boolean'
  | 'too_small'
  | 'too_large'
  | 'not_a_choice'
  | 'unknown';

export type ReadValue =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly problem: ValueProblem };

const failed = (problem: ValueProblem): ReadValue => ({ ok: false, problem });
const read = (value: Value): ReadValue => ({ ok: true, value });

/** Whether the value of a parameter is a secret, which must not be shown or stored. */
export const isSecretParameter = ({ key }: Pick<ParameterRule, 'key'>): boolean =>
  key.split('.').some(isSecretName);

/** Converts and checks the value that a user gave. Uses the default if the user gave none or an empty text. */
export function readValue(rule: ParameterRule, given: Value | undefined): ReadValue {
  const isGiven = given !== undefined && String(given).trim() !== '';
  const source = isGiven ? given : rule.default;
  if (source === null) return failed('missing');
  const converted = convert(rule.type, source);
  if (!converted.ok) return converted;
  const { value } = converted;
  if (typeof value === 'number' && rule.min !== null && value < rule.min) return failed('too_small');
  if (typeof value === 'number' && rule.max !== null && value > rule.max) return failed('too_large');
  const isAllowed = rule.choices.length === 0 || rule.choices.some(choice => isEqual(rule, choice, value));
  return isAllowed ? converted : failed('not_a_choice');
}

function isEqual(rule: ParameterRule, choice: Value, value: Value): boolean {
  const converted = convert(rule.type, choice);
  return converted.ok && converted.value === value;
}

const numberLike = /^[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?$/i;

function convert(type: ParameterRule['type'], given: Value): ReadValue {
  const text = String(given).trim();
  switch (type) {
    case 'text':
      return read(String(given));
    case 'boolean': {
      const isTrue = /^true$/i.test(text);
      return isTrue || /^false$/i.test(text) ? read(isTrue) : failed('not_boolean');
    }
    case 'number':
      return numberLike.test(text) && Number.isFinite(Number(text))
        ? read(Number(text))
        : failed('not_number');
    case 'integer':
      return numberLike.test(text) && Number.isSafeInteger(Number(text))
        ? read(Number(text))
        : failed('not_integer');
  }
}

/** Returns the message for a problem, to follow "KEY: ". */
export function problemText(rule: ParameterRule, problem: ValueProblem): string {
  switch (problem) {
    case 'missing':
      return 'a value is required';
    case 'not_integer':
      return 'expected a whole number';
    case 'not_number':
      return 'expected a number';
    case 'not_boolean':
      return 'expected true or false';
    case 'too_small':
      return `expected at least ${rule.min}`;
    case 'too_large':
      return `expected at most ${rule.max}`;
    case 'not_a_choice':
      return `expected one of: ${rule.choices.join(', ')}`;
    case 'unknown':
      return 'the template does not ask for this value';
  }
}

/** The fields of a submission that can be template parameters, with their types. */
export const jobParameters = {
  gpu_count: 'integer',
  num_nodes: 'integer',
  gpu_vram_gb: 'number',
  max_retries: 'integer',
  timeout_s: 'number',
  priority: 'integer',
} as const satisfies Readonly<Record<string, ParameterRule['type']>>;

/** Returns why a parameter is inconsistent, and which of its fields is wrong; null when it is consistent. */
export function parameterProblem(
  rule: ParameterRule,
): { readonly field: keyof ParameterRule; readonly text: string } | null {
  const isNumeric = rule.type === 'integer' || rule.type === 'number';
  if ((rule.document === 'file') !== (rule.file !== null))
    return { field: 'file', text: 'give the path of a file with document = "file", and only then' };
  if (rule.document === 'file' && rule.type === 'boolean')
    return { field: 'type', text: 'a template can change texts and numbers in a file, but no booleans' };
  if (rule.document === 'job') {
    const types: ReadonlyMap<string, string> = new Map(Object.entries(jobParameters));
    const type = types.get(rule.key);
    if (type === undefined) return { field: 'key', text: `expected one of: ${[...types.keys()].join(', ')}` };
    if (type !== rule.type) return { field: 'type', text: `${rule.key} has the type ${type}` };
  }
  if (!isNumeric && (rule.min !== null || rule.max !== null))
    return { field: rule.min === null ? 'max' : 'min', text: 'only numbers have limits' };
  if (rule.min !== null && rule.max !== null && rule.min > rule.max)
    return { field: 'max', text: 'must not be less than min' };
  const wrong = rule.choices.find(choice => !readValue({ ...rule, choices: [] }, choice).ok);
  if (wrong !== undefined) return { field: 'choices', text: `"${wrong}" is not an allowed value` };
  if (rule.default === null) return null;
  if (isSecretParameter(rule)) return { field: 'default', text: 'a template must not contain a secret' };
  const value = readValue(rule, undefined);
  return value.ok ? null : { field: 'default', text: problemText(rule, value.problem) };
}
