import { parse } from 'smol-toml';
import { type FormatEditor, type Span, wholeLines } from './format-editor.ts';
import type { KeyPath } from './trainer.ts';

interface Statement {
  /** Path of the key from the top of the document, including its table. */
  readonly at: KeyPath;
  readonly key: Span;
  readonly value: Span;
}

const stringAt = /"""[^]*?"""|'''[^]*?'''|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'/y;
const blankAt = /(?:\s|#[^\n]*)+/y;

function matchAt(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0].length ?? 0;
}

/** Returns the end of the value that starts at an offset. */
function endOfValue(text: string, start: number): number {
  let depth = 0;
  let at = start;
  while (at < text.length) {
    const length = matchAt(stringAt, text, at);
    if (length > 0) {
      at += length;
      continue;
    }
    const char = text.charAt(at);
    if (char === '#' || char === '\n') {
      if (depth === 0) break;
      at += char === '\n' ? 1 : text.slice(at).search(/\n|$/);
      continue;
    }
    if ('[{'.includes(char)) depth++;
    if (']}'.includes(char)) depth--;
    at++;
  }
  return start + text.slice(start, at).trimEnd().length;
}

/** Returns the names in a key such as `a."b c".d`; null if they are invalid. */
function namesIn(key: string): readonly string[] | null {
  try {
    const names: string[] = [];
    let value: unknown = parse(`${key} = 0`);
    while (typeof value === 'object' && value !== null) {
      const [entry] = Object.entries(value);
      if (entry === undefined) break;
      names.push(entry[0]);
      value = entry[1];
    }
    return names;
  } catch {
    return null;
  }
}

/**
 * Returns a function that computes the path of a table from its names. `[[a]]` starts a new element of list `a`; `[a.b]`
 * belongs to the newest element of `a`.
 */
function createTables(): (names: readonly string[], isInList: boolean) => KeyPath {
  const newest = new Map<string, number>();
  return (names, isInList) => {
    let path: KeyPath = [];
    for (const [n, name] of names.entries()) {
      path = [...path, name];
      const list = JSON.stringify(path);
      const newestIndex = newest.get(list);
      const isNew = isInList && n === names.length - 1;
      const index = isNew ? (newestIndex ?? -1) + 1 : newestIndex;
      if (isNew && index !== undefined) newest.set(list, index);
      if (index !== undefined) path = [...path, index];
    }
    return path;
  };
}

/** Finds the statements of a valid document, and the offset of its first table. */
function statementsOf(text: string): {
  readonly statements: readonly Statement[];
  readonly firstTable: number;
} {
  const statements: Statement[] = [];
  const pathOf = createTables();
  let table: KeyPath | null = [];
  let firstTable = text.length;
  let at = 0;
  while (at < text.length) {
    at += matchAt(blankAt, text, at);
    if (at >= text.length) break;
    if (text[at] === '[') {
      firstTable = Math.min(firstTable, at);
      const end = text.indexOf('\n', at) === -1 ? text.length : text.indexOf('\n', at);
      const [, list = '', name = ''] = /^\[(\[?)([^[\]]+)\]/.exec(text.slice(at, end)) ?? [];
      const names = name === '' ? null : namesIn(name);
      table = names && pathOf(names, list !== '');
      at = end;
      continue;
    }
    const start = at;
    while (at < text.length && text[at] !== '=') at += Math.max(1, matchAt(stringAt, text, at));
    const key = { start, end: start + text.slice(start, at).trimEnd().length };
    const valueStart = at + 1 + (/^[ \t]*/.exec(text.slice(at + 1))?.[0].length ?? 0);
    const value = { start: valueStart, end: endOfValue(text, valueStart) };
    const names = namesIn(text.slice(key.start, key.end));
    if (table !== null && names !== null) statements.push({ at: [...table, ...names], key, value });
    at = Math.max(value.end, at + 1);
  }
  return { statements, firstTable };
}

/** Opens a valid TOML text for changes. */
export function openToml(text: string): FormatEditor {
  const { statements, firstTable } = statementsOf(text);
  const find = (at: KeyPath): Statement | undefined =>
    statements.find(each => each.at.length === at.length && each.at.every((name, n) => name === at[n]));
  return {
    spanOf: at => find(at)?.value ?? null,
    quote: value => JSON.stringify(value),
    insert(at, literal) {
      if (at.length !== 1) return null;
      const head = text.slice(0, firstTable);
      const rootLines = head.trimEnd();
      const eol = text.includes('\r\n') ? '\r\n' : '\n';
      const line = `${rootLines === '' ? '' : eol}${String(at[0])} = ${literal}`;
      const rest = head.slice(rootLines.length) + text.slice(firstTable);
      return rootLines + line + (/^\r?\n/.test(rest) || rest === '' ? rest : eol + rest);
    },
    remove(at) {
      const entry = find(at);
      return entry === undefined ? null : wholeLines(text, { start: entry.key.start, end: entry.value.end });
    },
  };
}
