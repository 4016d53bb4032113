import { applyEdits, findNodeAtLocation, modify, parseTree } from 'jsonc-parser';
import type { FormatEditor, Span } from './format-editor.ts';
import type { KeyPath } from './trainer.ts';

const options = (text: string) => {
  const [, indent = '  '] = /\n([ \t]+)"/.exec(text) ?? [];
  return {
    formattingOptions: {
      insertSpaces: !indent.startsWith('\t'),
      tabSize: indent.startsWith('\t') ? 1 : indent.length,
      eol: text.includes('\r\n') ? '\r\n' : '\n',
    },
  };
};

/** Opens a valid JSON text for changes. */
export function openJson(text: string): FormatEditor {
  const tree = parseTree(text);
  const spanOf = (at: KeyPath): Span | null => {
    const node = tree === undefined ? undefined : findNodeAtLocation(tree, [...at]);
    return node === undefined ? null : { start: node.offset, end: node.offset + node.length };
  };
  const change = (at: KeyPath, value: unknown): string =>
    applyEdits(text, modify(text, [...at], value, options(text)));
  return {
    spanOf,
    insert: (at, literal) => change(at, JSON.parse(literal)),
    remove: at => change(at, undefined),
    quote: (value: string) => JSON.stringify(value),
  };
}
