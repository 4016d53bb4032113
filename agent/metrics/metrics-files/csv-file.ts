import type { ReadResult } from './event-file.ts';
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
  /** Skips the current content of the file, which is from before this attempt. */
  skip(file: MetricsFile): Promise<void>;
  read(file: MetricsFile): Promise<ReadResult>;
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
      // A last line without a line break is still being written, but a line that is longer than a part is skipped.
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

/** Parses the header; null when it has no column `step`. */
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

/** Splits a line as in RFC 4180: a cell may be quoted, and a quote inside is doubled. */
function splitRow(line: string): readonly string[] {
  if (!line.includes('"')) return line.split(',').map(cell => cell.trim());
  const cells: string[] = [];
  let end = 0;
  for (const [whole, quoted, bare] of line.matchAll(/(?:"((?:[^"]|"")*)"|([^,"]*))(?:,|$)/g)) {
    cells.push((quoted?.replaceAll('""', '"') ?? bare ?? '').trim());
    end += whole.length;
  }
  // There is a quote in the wrong place, so the row is invalid.
  if (end !== line.length) return [];
  // The pattern also matches the empty text at the end of the line.
  return line.endsWith(',') ? cells : cells.slice(0, -1);
}

const special: ReadonlyMap<string, number> = new Map([
  ['nan', Number.NaN],
  ['inf', Number.POSITIVE_INFINITY],
  ['-inf', Number.NEGATIVE_INFINITY],
]);

/** Returns null for an empty cell and for text. */
function numberIn(cell: string): number | null {
  if (/^[+-]?(?:\d{1,20}(?:\.\d{0,30})?|\.\d{1,30})(?:e[+-]?\d{1,3})?$/i.test(cell)) return Number(cell);
  return special.get(cell.toLowerCase()) ?? null;
}
