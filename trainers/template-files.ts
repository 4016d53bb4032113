import { flatten } from '../protocol/compare-configs.ts';
import { configValue, partValue } from '../protocol/config-path.ts';
import type { WriteInFile } from '../protocol/fill-template.ts';
import { isSecretName } from '../protocol/secret-names.ts';
import type { SubmitRequest } from '../protocol/submission.ts';
import type { TemplateParameter } from '../protocol/template.ts';
import { jobParameters } from '../protocol/template-values.ts';
import { formatOf, parseConfigText } from './config-text.ts';
import { type EditableText, openConfigText } from './edit-text.ts';
import type { KeyPath } from './trainer.ts';

type Submission = Partial<Pick<SubmitRequest, 'config' | 'dataloader' | 'files'>>;

/** Writes a value into the text of a JSON, YAML or TOML file, and keeps comments and order. Null if that is impossible. */
export const writeInFile: WriteInFile = ({ path, text }, { key, type }, value) => {
  const format = formatOf(path);
  const open = format === null ? null : openConfigText(text, format);
  const at = open === null ? null : keysOf(open, key);
  return at === null || open === null
    ? null
    : open.write(at, type === 'text' ? 'text' : 'number', String(value));
};

/** Returns the keys of a dotted path, with list indexes as numbers; null if the path leads through a missing part. */
function keysOf({ value }: EditableText, path: string): KeyPath | null {
  const keys: (string | number)[] = [];
  let part: unknown = value;
  for (const key of path.split('.')) {
    if (typeof part !== 'object' || part === null) return null;
    keys.push(Array.isArray(part) ? Number(key) : key);
    part = Object.entries(part).find(([name]) => name === key)?.[1];
  }
  return keys;
}

/** Where a submission contains a parameter's value: the document, and the key in it. */
export type ParameterPlace = Pick<TemplateParameter, 'key' | 'document' | 'file'>;

/** Returns the value of a parameter in a submission; undefined if there is none. */
export function valueAtPlace(submission: Submission, { key, document: part, file }: ParameterPlace): unknown {
  switch (part) {
    case 'config':
      return configValue(submission.config ?? {}, key);
    case 'dataloader':
      return partValue(submission.dataloader, key);
    case 'file':
      return partValue(parsedFile(submission, file), key);
    case 'job':
      return Object.entries(submission).find(([name]) => name === key)?.[1];
  }
}

/** Matches keys whose values are often fractions, even if the current value is a whole number. */
const fraction = /(?:^|[_.])(?:lr|rate|weight|scale|alpha|decay|ratio|strength|dropout|prob|gb|s)(?:$|[_.])/;

/** Guesses the type of a parameter from the current value in the submission. */
export function typeAtPlace(submission: Submission, place: ParameterPlace): TemplateParameter['type'] {
  if (place.document === 'job') return typeOfJobParameter(place.key);
  const value = valueAtPlace(submission, place);
  if (typeof value === 'boolean') return place.document === 'file' ? 'text' : 'boolean';
  const isNumber = typeof value === 'number' || (typeof value === 'string' && numberLike.test(value));
  if (!isNumber) return 'text';
  return Number.isInteger(Number(value)) && !fraction.test(place.key) ? 'integer' : 'number';
}

const typeOfJobParameter = (key: string): TemplateParameter['type'] =>
  new Map<string, TemplateParameter['type']>(Object.entries(jobParameters)).get(key) ?? 'text';

const numberLike = /^[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?$/i;

function parsedFile({ files = {} }: Submission, path: string | null): unknown {
  const [, text] = Object.entries(files).find(([name]) => name === path) ?? [];
  const format = path === null ? null : formatOf(path);
  const read = text === undefined || format === null ? null : parseConfigText(text, format);
  return read?.ok === true ? read.value : null;
}

/** Minimum length of a secret. Shorter texts are settings, such as the separator in `keep_tokens_separator`. */
const minSecret = 8;

const isSecret = (path: string, value: unknown): boolean =>
  typeof value === 'string' &&
  value.length >= minSecret &&
  // Not a secret: a number, several words, a path, or an environment variable in braces.
  !/^[\d.]+$|\s|[\\/]|^\$?\{/.test(value) &&
  path.split('.').some(isSecretName);

/** Returns the paths of values that are probably secrets, with the name of their document as a prefix. */
export function secretsOf(submission: Submission): readonly string[] {
  const { config, dataloader, files = {} } = submission;
  const documents = [
    ['', config] as const,
    ['dataloader: ', dataloader] as const,
    ...Object.keys(files).map(path => [`${path}: `, parsedFile(submission, path)] as const),
  ];
  return documents.flatMap(([name, document]) =>
    [...flatten(document)].flatMap(([path, value]) => (isSecret(path, value) ? [`${name}${path}`] : [])),
  );
}
