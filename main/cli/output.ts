import { escapeUnseen } from '../../protocol/line.ts';
import type { Flags } from '../config.ts';
import { isOn } from './flags.ts';
import type { CliTerminal } from './invocation.ts';
import { type Column, type Fact, factLines, plain, tableLines } from './table.ts';

type Row = Readonly<Record<string, unknown>>;

/** Where a command prints, and its `--json` and `--output`. */
interface Printer {
  readonly terminal: CliTerminal;
  readonly flags: Flags;
}

/** A table for people; for programs JSON, or some fields a line with tabs between. JSON with fields is a list of these. */
export function printRows<T extends Row>(
  { terminal, flags }: Printer,
  found: {
    readonly answer: unknown;
    readonly rows: readonly T[];
    readonly columns: readonly Column<T>[];
    /** What to say when there are none, and what to do about it. */
    readonly none: string;
  },
): void {
  const { answer, rows, columns, none } = found;
  const fields = fieldNames(flags);
  warnOfUnknown(terminal, fields, rows[0]);
  if (isOn(flags, 'json'))
    terminal.out(json(fields === null ? answer : rows.map(row => picked(row, fields)), 2));
  else if (fields !== null) for (const row of rows) terminal.out(fieldLine(row, fields));
  else if (rows.length > 0)
    terminal.out(lines(tableLines(rows, columns, terminal.outScreen()?.columns ?? null)));
  else terminal.err(`${none}\n`);
}

/** One thing: its facts one below the other. */
export function printOne(
  { terminal, flags }: Printer,
  found: { readonly answer: Row; readonly facts: readonly Fact[] },
): void {
  const fields = fieldNames(flags);
  warnOfUnknown(terminal, fields, found.answer);
  if (isOn(flags, 'json')) terminal.out(json(picked(found.answer, fields), 2));
  else if (fields !== null) terminal.out(fieldLine(found.answer, fields));
  else terminal.out(lines(factLines(found.facts)));
}

/** One of many that come one after the other: a line each, whatever it is printed as. */
export function printEvent({ terminal, flags }: Printer, event: Row, line: string): void {
  const fields = fieldNames(flags);
  if (isOn(flags, 'json')) terminal.out(json(picked(event, fields), 0));
  else terminal.out(fields === null ? `${plain(line)}\n` : fieldLine(event, fields));
}

/** Null when all are to be shown. */
function fieldNames(flags: Flags): readonly string[] | null {
  const names = flags['output'];
  return Array.isArray(names) ? names.map(String) : null;
}

/** Only a warning: what was asked for has been done, and a token that is shown once must not get lost over it. */
function warnOfUnknown({ err }: CliTerminal, names: readonly string[] | null, row: Row | undefined): void {
  if (names === null || row === undefined) return;
  const unknown = names.filter(name => !Object.hasOwn(row, name.split('.', 1)[0] ?? ''));
  if (unknown.length > 0)
    err(`There is no field ${unknown.join(', ')}: the fields are ${Object.keys(row).join(', ')}\n`);
}

const lines = (all: readonly string[]): string => all.map(line => `${line}\n`).join('');

const json = (value: unknown, indent: number): string =>
  `${escapeUnseen(JSON.stringify(value, null, indent))}\n`;

/** By the fields as they were asked for, such as `gpu_info.driver`; all of it when none were. */
const picked = (row: Row, names: readonly string[] | null): Row =>
  names === null ? row : Object.fromEntries(names.map(name => [name, fieldOf(row, name.split('.')) ?? null]));

const fieldLine = (row: Row, names: readonly string[]): string =>
  `${names.map(name => fieldText(fieldOf(row, name.split('.')))).join('\t')}\n`;

function fieldOf(value: unknown, path: readonly string[]): unknown {
  const [name, ...rest] = path;
  if (name === undefined) return value;
  const found = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  return fieldOf(found.find(([key]) => key === name)?.[1], rest);
}

/** A tab or a line break within a field would make two of it. */
function fieldText(value: unknown): string {
  if (value === undefined || value === null) return '';
  return plain(typeof value === 'string' ? value : JSON.stringify(value));
}
