import { differingKeys, flatten } from '../protocol/compare-configs.ts';
import { type ConfigFormat, parseConfigText } from './config-text.ts';
import { openJson } from './edit-json.ts';
import { openToml } from './edit-toml.ts';
import { openYaml } from './edit-yaml.ts';
import type { FormatEditor } from './format-editor.ts';
import { type FieldKind, valueAt } from './form-fields.ts';
import { isObject, type KeyPath } from './trainer.ts';

const openers: Readonly<Record<ConfigFormat, (text: string) => FormatEditor>> = {
  json: openJson,
  yaml: openYaml,
  toml: openToml,
};

/** The text of a config, whose single values a form can read and write. */
export interface EditableText {
  readonly value: Readonly<Record<string, unknown>>;
  /** Returns the value at a key path as a user would type it; empty if there is no value. */
  read(at: KeyPath): string;
  /**
   * Returns the text with a new value at a key path. Comments and the order of keys stay. An empty `typed` removes the key.
   * Null if the value can be changed only in the text itself.
   */
  write(at: KeyPath, kind: FieldKind, typed: string): string | null;
}

/** Opens a config for changes of single values; null if the text is not a valid config. */
export function openConfigText(text: string, format: ConfigFormat): EditableText | null {
  const parsed = parseConfigText(text, format);
  if (!parsed.ok || !isObject(parsed.value)) return null;
  const { value } = parsed;
  const editor = openers[format](text);
  const literalOf = (at: KeyPath, kind: FieldKind, typed: string): string => {
    const oldValue = valueAt(value, at);
    const span = editor.spanOf(at);
    if (kind === 'list' && (Array.isArray(oldValue) || typed.includes(',')))
      return `[${typed
        .split(',')
        .map(each => itemOf(each.trim()))
        .join(', ')}]`;
    const isNumber = kind !== 'text' && typeof oldValue !== 'string' && numberLike.test(typed);
    return isNumber ? numberOf(typed) : editor.quote(typed, span);
  };
  return {
    value,
    read(at) {
      const valueHere = valueAt(value, at);
      const span = editor.spanOf(at);
      // Return numbers as written, because 1e-4 is easier to read than 0.0001.
      if (typeof valueHere === 'number' && span !== null) return text.slice(span.start, span.end);
      if (Array.isArray(valueHere)) return valueHere.map(String).join(', ');
      if (typeof valueHere === 'string') return valueHere;
      return typeof valueHere === 'number' || typeof valueHere === 'boolean' ? String(valueHere) : '';
    },
    write(at, kind, given) {
      const typed = given.trim();
      const span = editor.spanOf(at);
      if (typed === '' && span === null) return text;
      const literal = typed === '' ? null : literalOf(at, kind, typed);
      const changed = literal === null ? editor.remove(at) : putLiteral(text, editor, at, literal);
      if (changed === null) return null;
      const reparsed = parseConfigText(changed, format);
      return reparsed.ok && differOnlyAt(at, value, reparsed.value) ? changed : null;
    },
  };
}

function putLiteral(text: string, editor: FormatEditor, at: KeyPath, literal: string): string | null {
  const span = editor.spanOf(at);
  if (span === null) return editor.insert(at, literal);
  return text.slice(0, span.start) + literal + text.slice(span.end);
}

const numberLike = /^[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?$/i;

/** Keeps the user's notation of a number if all formats accept it. */
const numberOf = (typed: string): string =>
  /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[-+]?\d+)?$/i.test(typed) ? typed : String(Number(typed));

const itemOf = (typed: string): string => (numberLike.test(typed) ? numberOf(typed) : JSON.stringify(typed));

/** Returns true if two configs are equal except for the value at a key path. */
function differOnlyAt(at: KeyPath, before: unknown, after: unknown): boolean {
  const path = at.map(key => String(key).replace(/^--(?=.)/, '')).join('.');
  return differingKeys([flatten(before), flatten(after)]).every(
    // An empty object counts as a value, so adding or removing its only key changes the parent, too.
    key => key === path || path.startsWith(`${key}.`),
  );
}
