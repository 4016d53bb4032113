import type { LogLine } from '../../../../protocol/logs-api.ts';

/** Number of lines in a page. Pages are loaded and dropped as a whole. */
export const pageLines = 500;
/** Maximum number of pages in memory. Only one or two are visible; the others make scrolling back fast. */
const maxPages = 40;

/** The range of lines that the server has: from `first_line` up to, but not including, `total_lines`. */
interface Kept {
  readonly first_line: number;
  readonly total_lines: number;
}

/** A cache of loaded lines by number. When full, the cache drops the least recently used pages. */
export interface LogPages {
  at(line: number): LogLine | undefined;
  /** Stores loaded lines. `requested` is the first requested line; null for lines that were not requested by number. */
  put(lines: readonly LogLine[], requested: number | null): void;
  /**
   * Returns the first line between `first` and `last` that must be loaded. If its page is not in the cache, returns the
   * start of the page. Returns null if all lines are loaded, and for a line that the server did not have. Marks the pages
   * in this range as recently used.
   */
  missing(first: number, last: number, kept: Kept): number | null;
  /** Forgets which lines the server did not have, so that `missing` can return them again. */
  forgetHoles(): void;
}

/** Returns the number of the page that contains the line. */
const pageOf = (line: number): number => Math.floor(line / pageLines);

export function createLogPages(): LogPages {
  /** Pages by number, in the order of their last use, oldest first. */
  const pages = new Map<number, (LogLine | undefined)[]>();
  /** Lines that the server did not have. They are not requested repeatedly. */
  const holes = new Set<number>();
  const touch = (number: number): (LogLine | undefined)[] => {
    const page = pages.get(number) ?? [];
    pages.delete(number);
    pages.set(number, page);
    return page;
  };
  const dropOldest = (): void => {
    for (const number of pages.keys()) {
      if (pages.size <= maxPages) return;
      pages.delete(number);
    }
  };
  const at = (line: number): LogLine | undefined => pages.get(pageOf(line))?.[line % pageLines];
  /** Does the work of `missing` for one page. */
  const firstMissing = (first: number, last: number, number: number): number | null => {
    const end = Math.min(last, (number + 1) * pageLines - 1);
    for (let line = Math.max(first, number * pageLines); line <= end; line += 1)
      if (at(line) === undefined) return pages.has(number) ? line : number * pageLines;
    return null;
  };
  return {
    at,
    put(lines, requested) {
      for (const line of lines) touch(pageOf(line.line))[line.line % pageLines] = line;
      dropOldest();
      if (requested !== null && at(requested) === undefined) holes.add(requested);
    },
    missing(wantedFirst, wantedLast, kept) {
      const first = Math.max(wantedFirst, kept.first_line);
      const last = Math.min(wantedLast, kept.total_lines - 1);
      let missing: number | null = null;
      for (let number = pageOf(first); number <= pageOf(last); number += 1) {
        if (pages.has(number)) touch(number);
        missing ??= firstMissing(first, last, number);
      }
      const line = missing === null ? null : Math.max(missing, kept.first_line);
      return line === null || holes.has(line) ? null : line;
    },
    forgetHoles: () => holes.clear(),
  };
}
