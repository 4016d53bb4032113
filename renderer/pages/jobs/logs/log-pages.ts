import type { LogLine } from '../../../../protocol/logs-api.ts';

/** Lines per page. A page is loaded and dropped as a whole. */
export const pageLines = 500;
/** The screen shows at most one page; the others are kept for scrolling back. */
const maxPages = 40;

/** The range of existing lines; `total_lines` is the end, exclusive. */
interface Kept {
  readonly first_line: number;
  readonly total_lines: number;
}

/** A cache of loaded lines by number. It keeps the most recently wanted pages. */
export interface LogPages {
  at(line: number): LogLine | undefined;
  /** Stores loaded lines. `asked`: the first requested line; null when none was named. */
  put(lines: readonly LogLine[], asked: number | null): void;
  /**
   * Returns the first missing line from `first` to `last`, or the start of its page when the page is empty; null when all are loaded. It
   * marks their pages as wanted, so that they are kept.
   */
  missing(first: number, last: number, kept: Kept): number | null;
  /** Lines that were missing earlier may exist now. */
  forgetHoles(): void;
}

export function createLogPages(): LogPages {
  // Sorted by last use, oldest first.
  const pages = new Map<number, (LogLine | undefined)[]>();
  /** Lines known to be missing, so that they are not requested repeatedly. */
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
