import { flatten } from '../protocol/compare-configs.ts';
import type { WriteInFile } from '../protocol/fill-template.ts';
import { isSecretName } from '../protocol/secret-names.ts';
import type { SubmitRequest } from '../protocol/submission.ts';
import { formatOf, parseConfigText } from './config-text.ts';
import { type EditableText, openConfigText } from './edit-text.ts';
import type { KeyPath } from './trainer.ts';

/** Writes a value into the text of a JSON, YAML or TOML file. Comments and order stay. */
export const writeInFile: WriteInFile = ({ path, text }, { key, type }, value) => {
  const format = formatOf(path);
  const open = format === null ? null : openConfigText(text, format);
  const at = open === null ? null : keysOf(open, key);
  return at === null || open === null
    ? null
    : open.write(at, type === 'text' ? 'text' : 'number', String(value));
};

/** Returns the keys of a dotted path, with places in lists as numbers; null if the path leads through a missing part. */
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

/** Shorter texts are settings, such as the separator in `keep_tokens_separator`. */
const minSecret = 8;

const isSecret = (path: string, value: unknown): boolean =>
  typeof value === 'string' &&
  value.length >= minSecret &&
  // A number, several words, a path or the name of an environment variable in braces.
  !/^[\d.]+$|\s|[\\/]|^\$?\{/.test(value) &&
  path.split('.').some(isSecretName);

/** Returns the paths of the values in a submission that probably are secrets, with their document. */
export function secretsOf({
  config,
  dataloader,
  files = {},
}: Pick<SubmitRequest, 'config' | 'dataloader' | 'files'>): readonly string[] {
  const parsed = Object.entries(files).map(([path, text]) => {
    const format = formatOf(path);
    const read = format === null ? null : parseConfigText(text, format);
    return [`${path}: `, read?.ok === true ? read.value : null] as const;
  });
  const documents = [['', config] as const, ['dataloader: ', dataloader] as const, ...parsed];
  return documents.flatMap(([name, document]) =>
    [...flatten(document)].flatMap(([path, value]) => (isSecret(path, value) ? [`${name}${path}`] : [])),
  );
}
