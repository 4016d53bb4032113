import { type ParseError, parse as parseLoosely } from 'jsonc-parser';
import { parse as parseTomlText, stringify as stringifyToml, TomlDate, TomlError } from 'smol-toml';
import { LineCounter, parseDocument, type ParsedNode, visit } from 'yaml';

export const configFormats = ['json', 'yaml', 'toml'] as const;
export type ConfigFormat = (typeof configFormats)[number];

/** The line and the column of a character in a text, both counted from 1. */
interface Position {
  readonly line: number;
  readonly column: number;
}

export type ParsedText =
  | { readonly ok: true; readonly value: unknown }
  /** `reason` completes "line 3, column 7: ..."; `at` is null if the parser gives no position. */
  | { readonly ok: false; readonly reason: string; readonly at: Position | null };

/** Returns the format for the extension of a file; null if it is not an extension of config files. */
export function formatOf(file: string): ConfigFormat | null {
  const [, ending = ''] = /\.(jsonc?|ya?ml|toml)$/i.exec(file) ?? [];
  switch (ending.toLowerCase()) {
    case 'json':
    case 'jsonc':
      return 'json';
    case 'yaml':
    case 'yml':
      return 'yaml';
    case 'toml':
      return 'toml';
    default:
      return null;
  }
}

/** Parses a config as its trainer does. The result contains only JSON values. */
export function parseConfigText(text: string, format: ConfigFormat): ParsedText {
  // Some editors write a byte order mark at the start.
  const plain = text.replace(/^\ufeff/, '');
  if (format === 'json') return parseJson(plain);
  return format === 'yaml' ? parseYaml(plain) : parseToml(plain);
}

/** Returns the message of a failed parse, with its position. */
export const parseFailure = ({ reason, at }: Extract<ParsedText, { ok: false }>): string =>
  at === null ? reason : `line ${at.line}, column ${at.column}: ${reason}`;

/** Formats a value for a trainer. TOML has no null, so keys with null are omitted. */
export const configTextIn = (value: Readonly<Record<string, unknown>>, format: 'json' | 'toml'): string =>
  format === 'json' ? `${JSON.stringify(value, null, 2)}\n` : stringifyToml(withoutNulls(value));

function parseJson(text: string): ParsedText {
  try {
    return { ok: true, value: JSON.parse(text) as unknown };
  } catch (cause) {
    const reason = cause instanceof Error ? jsonReason(cause.message) : String(cause);
    // Only some messages of JSON.parse contain a position, so use a parser that always reports one.
    const errors: ParseError[] = [];
    parseLoosely(text, errors, { disallowComments: true, allowTrailingComma: false });
    return { ok: false, reason, at: errors[0] === undefined ? null : positionAt(text, errors[0].offset) };
  }
}

/** Removes the excerpt of the text and the position from a message of JSON.parse. */
function jsonReason(message: string): string {
  if (/unexpected end/i.test(message)) return 'the file ends in the middle of the JSON';
  const [reason = message] = message.split(/ in JSON(?: at position|$)| at position|, (?:\.\.\.)?"/);
  return `${reason.charAt(0).toLowerCase()}${reason.slice(1)}`;
}

function positionAt(text: string, offset: number): Position {
  const before = text.slice(0, offset).split('\n');
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}

/** The maximum number of YAML aliases. Without a limit, a few lines with nested aliases could fill the memory. */
const maxAliases = 100;

function parseYaml(text: string): ParsedText {
  const lines = new LineCounter();
  // Trainers read YAML with PyYAML, which follows version 1.1: `yes` is true there.
  const document = parseDocument(text, { version: '1.1', lineCounter: lines, prettyErrors: false });
  const [error] = document.errors;
  if (error !== undefined) {
    const { line, col } = lines.linePos(error.pos[0]);
    return { ok: false, reason: yamlReason(error.code, error.message), at: { line, column: col } };
  }
  const custom = findCustomTag(document.contents);
  if (custom !== null) {
    const { line, col } = lines.linePos(custom.offset);
    return { ok: false, reason: `the tag ${custom.tag} is not allowed`, at: { line, column: col } };
  }
  try {
    return { ok: true, value: toJsonValue(document.toJS({ maxAliasCount: maxAliases })) };
  } catch (cause) {
    return { ok: false, reason: cause instanceof Error ? cause.message : String(cause), at: null };
  }
}

const yamlReason = (code: string, message: string): string =>
  code === 'TAB_AS_INDENT' ? 'a tab cannot indent YAML: use spaces' : message.replace(/\.?$/, '');

const plainTags: ReadonlySet<string> = new Set(
  ['map', 'seq', 'str', 'int', 'float', 'bool', 'null', 'timestamp', 'merge', 'set', 'omap'].map(
    name => `tag:yaml.org,2002:${name}`,
  ),
);

/** Finds a custom tag such as `!!python/object`, which may run code when loaded. PyYAML's safe loader refuses such tags, too. */
function findCustomTag(
  contents: ParsedNode | null,
): { readonly tag: string; readonly offset: number } | null {
  let unknownTag: { readonly tag: string; readonly offset: number } | null = null;
  visit(contents, {
    Node(_key, node) {
      const tag = 'tag' in node ? node.tag : undefined;
      if (tag === undefined || plainTags.has(tag)) return undefined;
      unknownTag = { tag, offset: node.range?.[0] ?? 0 };
      return visit.BREAK;
    },
  });
  return unknownTag;
}

function parseToml(text: string): ParsedText {
  try {
    return { ok: true, value: toJsonValue(parseTomlText(text)) };
  } catch (cause) {
    if (!(cause instanceof TomlError))
      return { ok: false, reason: cause instanceof Error ? cause.message : String(cause), at: null };
    // Only the first line is the message; the others are an excerpt of the text.
    const [first = ''] = cause.message.split('\n');
    const reason = first.replace(/^Invalid TOML document: /, '');
    return { ok: false, reason, at: { line: cause.line, column: cause.column } };
  }
}

/** Converts dates, sets and maps of YAML and TOML to JSON values. */
function toJsonValue(value: unknown): unknown {
  if (value instanceof TomlDate) return value.toISOString();
  if (value instanceof Date) return value.toISOString().replace(/T00:00:00\.000Z$/, '');
  if (typeof value === 'bigint') return Number(value);
  if (value instanceof Set) return [...value].map(toJsonValue);
  if (value instanceof Map)
    return Object.fromEntries([...value].map(([key, each]) => [String(key), toJsonValue(each)]));
  if (Array.isArray(value)) return value.map(toJsonValue);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, toJsonValue(each)]));
}

function withoutNulls(value: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, each]) => each !== null && each !== undefined)
      .map(([key, each]) => [key, isPlain(each) ? withoutNulls(each) : each]),
  );
}

const isPlain = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
