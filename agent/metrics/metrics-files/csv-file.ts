import type { Piece } from './event-file.ts';
import type { MetricsFile } from './find-files.ts';
import { type Columns, parseHeader, parseRows } from './metrics-csv.ts';
import { createNewerFilter } from './names.ts';
import { readPart } from './read-part.ts';

const headBytes = 64 * 1024;
const partBytes = 512 * 1024;
const lineFeed = 0x0a;

/** Reads a `metrics.csv` while it grows. Lightning rewrites the file when it logs a figure with a new name. */
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
