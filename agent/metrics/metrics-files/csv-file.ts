import type { Piece } from './event-file.ts';
import { type MetricsFile, readPart } from './files.ts';
import { createNewerFilter, type FilePoint, findLossName, gatherPoints, toMetricName } from './names.ts';

const headBytes = 64 * 1024;
const partBytes = 512 * 1024;
const lineFeed = 0x0a;

/**
 * Reads the `metrics.csv` of Lightning's CSVLogger while it grows: a header with `step`, one row per logging call, and empty
 * cells for missing figures. Lightning rewrites the file when it logs a figure with a new name.
 */
export interface CsvFile {
  /** Skips what the file has now: it is from before this attempt. */
  skip(file: MetricsFile): Promise<void>;
  read(file: MetricsFile): Promise<Piece>;
}

export function createCsvFile(): CsvFile {
  let header = '';
  let columns: Columns | null = null;
  /** Offset of the first row that was not read yet. */
  let at = 0;
  const newer = createNewerFilter();

  const begin = async ({ path }: MetricsFile): Promise<void> => {
    const head = await readPart(path, 0, headBytes);
    const end = head?.indexOf(lineFeed) ?? -1;
    if (head === null || end < 0) return;
    const line = textOf(head.subarray(0, end)).trim();
    if (line === header) return;
    header = line;
    columns = parseHeader(line);
    at = end + 1;
  };

  return {
    async skip(file) {
      await begin(file);
      at = file.bytes;
    },
    async read(file) {
      if (file.bytes < at) header = '';
      await begin(file);
      if (columns === null || file.bytes <= at) return { points: [], isBehind: false };
      const part = await readPart(file.path, at, partBytes);
      // A last line without a line break is still being written. A line that is longer than a part is skipped.
      const end = (part?.lastIndexOf(lineFeed) ?? -1) + 1;
      if (part === null || (end === 0 && part.length < partBytes)) return { points: [], isBehind: false };
      at += end === 0 ? part.length : end;
      const points = newer(parseRows(columns, textOf(part.subarray(0, end))), true);
      return { points, isBehind: file.bytes > at && part.length === partBytes };
    },
  };
}

const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

const maxColumns = 256;
const stepColumn = 'step';

interface Columns {
  readonly stepAt: number;
  readonly names: readonly string[];
}

/** The columns of a header line; null when it is not the header of such a file. */
function parseHeader(line: string): Columns | null {
  const names = splitRow(line);
  const stepAt = names.indexOf(stepColumn);
  if (stepAt < 0 || names.length < 2 || names.length > maxColumns) return null;
  const lossName = findLossName(names, null);
  return { stepAt, names: names.map(name => toMetricName(name, lossName)) };
}

/** Skips rows that do not match the header: the trainer may be rewriting the file. */
function parseRows({ stepAt, names }: Columns, text: string): readonly FilePoint[] {
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
