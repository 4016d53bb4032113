import type { KeyPath } from './trainer.ts';

/** A range in a text; `end` is exclusive. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Finds and changes values in one text. A change returns the new text; null if the editor does not support the change. */
export interface FormatEditor {
  spanOf(at: KeyPath): Span | null;
  insert(at: KeyPath, literal: string): string | null;
  remove(at: KeyPath): string | null;
  /** Returns a value as a literal of the format. `span` is the range of the replaced value; null for a new key. */
  quote(value: string, span: Span | null): string;
}

/** Removes a statement with its whole lines and a comment after it. Null if the line has other text before the statement. */
export function wholeLines(text: string, { start, end }: Span): string | null {
  const from = text.lastIndexOf('\n', start - 1) + 1;
  const to = text.indexOf('\n', end);
  if (text.slice(from, start).trim() !== '') return null;
  return text.slice(0, from) + (to === -1 ? '' : text.slice(to + 1));
}
