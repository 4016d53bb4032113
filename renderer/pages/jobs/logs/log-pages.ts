import type { LogLine } from '../../../../protocol/logs-api.ts';

/** Number of lines in a page. Pages are loaded and dropped as a whole. */
export const pageLines = 500;
/** Maximum number of pages in memory. The screen shows at most one of them; the others make scrolling back fast. */
const maxPages = 40;

/** The range of lines that the server has: from `first_line` up to, but not including, `total_lines`. */
interface Kept {
  readonly first_line: number;
  readonly total_lines: number;
}

/** A cache of loaded lines by number. It drops the pages that were not requested for the longest time. */
export interface LogPages {
  at(line: number): LogLine | undefined;
  /** Stores loaded lines. `asked` is the first requested line; null for lines that were not requested by number. */
  put(lines: readonly LogLine[], asked: number | null): void;
  /**
   * Returns the first line between `first` and `last` that must be loaded, or the start of its page when no line of
   * that page is loaded; null when all are loaded. Marks their pages as recently used.
   */
  missing(first: number, last: number, kept: Kept): number | null;
  /** Allows lines that the server did not have to be requested again. */
  forgetHoles(): void;
}

export function createLogPages(): LogPages {
  // Pages in the order of their last use, oldest first.
  const pages = new Map<number, (LogLine | undefined)[]>();
  /** Lines that the server did not have, so that they are not requested again and again. */
  const holes = new Set<number>();
  const touch = (no: number): (LogLine | undefined)[] => {
    const page = pages.get(no) ?? [];
    pages.delete(no);
    pages.set(no, page);
    return page;
  };
  const forget = (): void => {
    for (const no of pages.keys()) {
      if (pages.size <= maxPages) return;
      pages.delete(no);
    }
  };
  const at = (line: number): LogLine | undefined =>
    pages.get(Math.floor(line / pageLines))?.[line % pageLines];
  return {
    at,
    put(lines, asked) {
      for (const line of lines) touch(Math.floor(line.line / pageLines))[line.line % pageLines] = line;
      forget();
      if (asked !== null && at(asked) === undefined) holes.add(asked);
    },
    missing(wantedFirst, wantedLast, kept) {
      const [first, last] = [
        Math.max(wantedFirst, kept.first_line),
        Math.min(wantedLast, kept.total_lines - 1),
      ];
      let missing: number | null = null;
      for (let no = Math.floor(first / pageLines); no * pageLines <= last; no += 1) {
        const page = pages.has(no) ? touch(no) : [];
        const from = Math.max(first - no * pageLines, 0);
        const to = Math.min(last - no * pageLines, pageLines - 1);
        for (let place = from; missing === null && place <= to; place += 1)
          if (page[place] === undefined) missing = no * pageLines + (page.length === 0 ? 0 : place);
      }
      const line = missing === null ? null : Math.max(missing, kept.first_line);
      return line === null || holes.has(line) ? null : line;
    },
    forgetHoles: () => holes.clear(),
  };
}
