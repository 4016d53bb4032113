/** The `metrics.csv` of Lightning's CSVLogger: a header with `step`, one row per logging call, and empty cells for missing figures. */

import { findLossName, gatherPoints, toMetricName, type FilePoint } from './names.ts';

const maxColumns = 256;
const stepColumn = 'step';

export interface Columns {
  readonly stepAt: number;
  readonly names: readonly string[];
}

/** The columns of a header line; null when it is not the header of such a file. */
export function parseHeader(line: string): Columns | null {
  const names = splitRow(line);
  const stepAt = names.indexOf(stepColumn);
  if (stepAt < 0 || names.length < 2 || names.length > maxColumns) return null;
  const lossName = findLossName(names, null);
  return { stepAt, names: names.map(name => toMetricName(name, lossName)) };
}

/** Skips rows that do not match the header: the trainer may be rewriting the file. */
export function parseRows({ stepAt, names }: Columns, text: string): readonly FilePoint[] {
  const gathered = gatherPoints();
  for (const line of text.split(/\r?\n/)) {
    const cells = splitRow(line);
    const step = numberIn(cells[stepAt] ?? '');
    if (cells.length !== names.length || step === null || !Number.isSafeInteger(step) || step < 0) continue;
    cells.forEach((cell, at) => {
      const value = at === stepAt ? null : numberIn(cell);
      if (value !== null) gathered.add(step, null, names[at] ?? '', value);
    });
  }
  return gathered.points();
}

/** Splits one line as in RFC 4180: a cell may be in quotes, and a quote in it is doubled. */
function splitRow(line: string): readonly string[] {
  if (!line.includes('"')) return line.split(',').map(cell => cell.trim());
  const cells: string[] = [];
  let end = 0;
  for (const [whole, quoted, bare] of line.matchAll(/(?:"((?:[^"]|"")*)"|([^,"]*))(?:,|$)/g)) {
    cells.push((quoted?.replaceAll('""', '"') ?? bare ?? '').trim());
    end += whole.length;
  }
  // A quote in the wrong place.
  if (end !== line.length) return [];
  // The pattern also matches the empty text at the end of the line.
  return line.endsWith(',') ? cells : cells.slice(0, -1);
}

const special: ReadonlyMap<string, number> = new Map([
  ['nan', Number.NaN],
  ['inf', Number.POSITIVE_INFINITY],
  ['-inf', Number.NEGATIVE_INFINITY],
]);

/** Null for an empty cell and for text. */
function numberIn(cell: string): number | null {
  if (/^[+-]?(?:\d{1,20}(?:\.\d{0,30})?|\.\d{1,30})(?:e[+-]?\d{1,3})?$/i.test(cell)) return Number(cell);
  return special.get(cell.toLowerCase()) ?? null;
}
