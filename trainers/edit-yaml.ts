import { isMap, isNode, isScalar, type Pair, parseDocument, stringify, type YAMLMap } from 'yaml';
import { type FormatEditor, type Span, wholeLines } from './format-editor.ts';
import type { KeyPath } from './trainer.ts';

const rangeOf = (node: unknown): Span | null =>
  isNode(node) && node.range ? { start: node.range[0], end: node.range[1] } : null;

const isOneLine = (text: string, span: Span | null): span is Span =>
  span !== null && !text.slice(span.start, span.end).includes('\n');

/** Quotes a value only if YAML requires quotes, or if the previous value was quoted. */
function quoted(value: string, oldText: string | null): string {
  if (oldText?.startsWith("'") === true && !value.includes('\n')) return `'${value.replaceAll("'", "''")}'`;
  if (oldText?.startsWith('"') === true) return JSON.stringify(value);
  return stringify(value, { version: '1.1', lineWidth: 0, blockQuote: false }).trimEnd();
}

/** Opens a valid YAML text for changes. */
export function openYaml(text: string): FormatEditor {
  const document = parseDocument(text, { version: '1.1', prettyErrors: false });
  const spanOf = (at: KeyPath): Span | null => rangeOf(document.getIn([...at], true));
  const parentOf = (at: KeyPath): YAMLMap | null => {
    const parent = at.length === 1 ? document.contents : document.getIn(at.slice(0, -1), true);
    return isMap(parent) ? parent : null;
  };
  return {
    spanOf,
    quote: (value, span) => quoted(value, span === null ? null : text.slice(span.start, span.end)),
    insert(at, literal) {
      const items = parentOf(at)?.items ?? [];
      // Insert after a value on one line, so that the comments of other keys stay where they are.
      const before = items.findLast(({ value }) => isScalar(value) && isOneLine(text, rangeOf(value)));
      const key = rangeOf(before?.key);
      const value = rangeOf(before?.value);
      if (key === null || value === null) return null;
      const column = key.start - (text.lastIndexOf('\n', key.start - 1) + 1);
      const end = text.indexOf('\n', value.end);
      const eol = text.includes('\r\n') ? '\r\n' : '\n';
      const line = `${eol}${' '.repeat(column)}${String(at.at(-1))}: ${literal}`;
      const insertAt = end === -1 ? text.length : end - (text[end - 1] === '\r' ? 1 : 0);
      return text.slice(0, insertAt) + line + text.slice(insertAt);
    },
    remove(at) {
      const pair = parentOf(at)?.items.find((each: Pair) => String(each.key) === String(at.at(-1)));
      const key = rangeOf(pair?.key);
      const value = rangeOf(pair?.value);
      return key === null || value === null ? null : wholeLines(text, { start: key.start, end: value.end });
    },
  };
}
