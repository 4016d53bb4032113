import type { KeyPath } from './trainer.ts';

/** Offsets in a text. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Finds and changes values in the text of one format. A change returns null if it does not support it. */
export interface FormatEditor {
  spanOf(at: KeyPath): Span | null;
  insert(at: KeyPath, literal: string): string | null;
  remove(at: KeyPath): string | null;
  /** Returns a text as a literal. `span` is the value that it replaces. */
  quote(value: string, span: Span | null): string;
}

/** Removes a statement with its line, including a comment behind it. */
export function wholeLines(text: string, { start, end }: Span): string | null {
  const from = text.lastIndexOf('\n', start - 1) + 1;
  const to = text.indexOf('\n', end);
  if (text.slice(from, start).trim() !== '') return null;
  return text.slice(0, from) + (to === -1 ? '' : text.slice(to + 1));
}
