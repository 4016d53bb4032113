import stringWidth from 'string-width';
import { type Cells, fitColumns, gap } from './fit-columns.ts';

export interface Column<T> {
  readonly title: string;
  /** Formats the cell. `isScreen` is true if the table is printed to a terminal, false for a pipe or file. */
  readonly text: (row: T, isScreen: boolean) => string;
  /** Narrow terminals drop the columns with the lowest importance first. Columns without an importance are never dropped. */
  readonly importance?: number;
  /** Texts of this column can be truncated to this width on narrow terminals. */
  readonly minWidth?: number;
}

/** A name and its value. Facts whose value is null are not printed. */
export type Fact = readonly [name: string, value: string | null];

/**
 * Matches characters that move the cursor or change the text direction. These characters are never printed, because text from
 * other machines is not trusted.
 */
const unsafeCharacters = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]+/gu;

/** Makes a text safe to print on one line. */
export const plain = (text: string): string => text.replaceAll(unsafeCharacters, ' ').trim();

/** Splits a text into lines that are safe to print. */
export const plainLines = (text: string): readonly string[] => text.split(/\r\n|\r|\n/).map(plain);

/** Returns the header and one line per row. `width` is the width of the terminal; null keeps all columns and texts in full. */
export function tableLines<T>(
  rows: readonly T[],
  columns: readonly Column<T>[],
  width: number | null,
): readonly string[] {
  const isScreen = width !== null;
  const all = columns.map((column): Cells => {
    const texts = [column.title, ...rows.map(row => plain(column.text(row, isScreen)))];
    const natural = texts.reduce((max, text) => Math.max(max, stringWidth(text)), 0);
    const { importance = Infinity, minWidth = natural } = column;
    return { texts, importance, width: natural, minWidth: Math.min(natural, minWidth) };
  });
  const shown = width === null ? all : fitColumns(all, width);
  return [null, ...rows].map((_, at) => {
    const cells = shown.map(each => padded(cutLine(each.texts[at] ?? '', each.width), each.width));
    return cutLine(cells.join(gap).trimEnd(), width);
  });
}

/** Returns one line per fact, with aligned values. */
export function factLines(facts: readonly Fact[]): readonly string[] {
  const shown = facts.filter(([, value]) => value !== null);
  const widest = shown.reduce((max, [name]) => Math.max(max, widthOf(name)), 0);
  return shown.flatMap(([name, value]) =>
    plainLines(value ?? '').map((line, at) => `${padded(at === 0 ? name : '', widest)}${gap}${line}`),
  );
}

const widthOf = (text = ''): number => stringWidth(text);

const padded = (text: string, width: number): string =>
  text + ' '.repeat(Math.max(0, width - stringWidth(text)));

/** Truncates a line to the width, because wrapped lines make a table unreadable. */
export function cutLine(line: string, width: number | null): string {
  if (width === null || stringWidth(line) <= width) return line;
  let shown = '';
  let space = width - 1;
  for (const { segment } of new Intl.Segmenter().segment(line)) {
    space -= stringWidth(segment);
    if (space < 0) break;
    shown += segment;
  }
  return `${shown}…`;
}
