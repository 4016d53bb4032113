import { escapeInvisible } from '../../protocol/text.ts';
import type { Flags } from '../config.ts';
import { exitCodes, fail } from './failure.ts';
import { isOn } from './flags.ts';
import type { CliTerminal } from './invocation.ts';
import { type Column, type Fact, factLines, plain, tableLines } from './table.ts';

type Row = Readonly<Record<string, unknown>>;

/** The terminal that a command prints to, and its flags `--json` and `--output`. */
interface Printer {
  readonly terminal: CliTerminal;
  readonly flags: Flags;
}

/**
 * Prints a table for people, with `--json` the whole answer, or with `--output` the selected fields as tab-separated lines.
 * With both options, prints a JSON list of objects with these fields.
 */
export function printRows<T extends Row>(
  { terminal, flags }: Printer,
  table: {
    readonly answer: unknown;
    readonly rows: readonly T[];
    readonly columns: readonly Column<T>[];
    /** The message for an empty list, with a next step. */
    readonly none: string;
  },
): void {
  const { answer, rows, columns, none } = table;
  const fields = fieldNames(flags);
  if (isOn(flags, 'json'))
    terminal.out(json(fields === null ? answer : rows.map(row => selectFields(row, fields)), 2));
  else if (fields !== null) for (const row of rows) terminal.out(fieldLine(row, fields));
  else if (rows.length > 0)
    terminal.out(lines(tableLines(rows, columns, terminal.outScreen()?.columns ?? null)));
  else terminal.err(`${none}\n`);
  failOnUnknown(fields, rows[0]);
}

/** Prints one object, with one line per fact. */
export function printOne(
  { terminal, flags }: Printer,
  shown: { readonly answer: Row; readonly facts: readonly Fact[] },
): void {
  const fields = fieldNames(flags);
  if (isOn(flags, 'json')) terminal.out(json(selectFields(shown.answer, fields), 2));
  else if (fields !== null) terminal.out(fieldLine(shown.answer, fields));
  else terminal.out(lines(factLines(shown.facts)));
  failOnUnknown(fields, shown.answer);
}

/** Prints one event of a series, always as one line. */
export function printEvent({ terminal, flags }: Printer, event: Row, line: string): void {
  const fields = fieldNames(flags);
  if (isOn(flags, 'json')) terminal.out(json(selectFields(event, fields), 0));
  else terminal.out(fields === null ? `${plain(line)}\n` : fieldLine(event, fields));
}

/** Returns the names from `--output`; null to print all fields. */
function fieldNames(flags: Flags): readonly string[] | null {
  const names = flags['output'];
  return Array.isArray(names) ? names.map(String) : null;
}

/**
 * Ends the command if `--output` names unknown fields. Call it only after the output, because a token that is shown only once
 * must not be lost.
 */
function failOnUnknown(names: readonly string[] | null, row: Row | undefined): void {
  if (names === null || row === undefined) return;
  const unknown = names.filter(name => !Object.hasOwn(row, name.split('.', 1)[0] ?? ''));
  if (unknown.length > 0)
    fail(
      exitCodes.usage,
      `Unknown ${unknown.length === 1 ? 'field' : 'fields'} ${unknown.join(', ')}. Known fields: ${Object.keys(row).join(', ')}`,
    );
}

const lines = (all: readonly string[]): string => all.map(line => `${line}\n`).join('');

const json = (value: unknown, indent: number): string =>
  `${escapeInvisible(JSON.stringify(value, null, indent))}\n`;

/** Selects the requested fields, such as `gpu_info.driver`. Null for `names` selects all fields. */
const selectFields = (row: Row, names: readonly string[] | null): Row =>
  names === null ? row : Object.fromEntries(names.map(name => [name, fieldOf(row, name.split('.')) ?? null]));

const fieldLine = (row: Row, names: readonly string[]): string =>
  `${names.map(name => fieldText(fieldOf(row, name.split('.')))).join('\t')}\n`;

function fieldOf(value: unknown, path: readonly string[]): unknown {
  const [name, ...rest] = path;
  if (name === undefined) return value;
  const fields = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  return fieldOf(fields.find(([key]) => key === name)?.[1], rest);
}

/** Formats a field. Replaces tabs and line breaks, because they separate fields and rows. */
function fieldText(value: unknown): string {
  if (value === undefined || value === null) return '';
  return plain(typeof value === 'string' ? value : JSON.stringify(value));
}
