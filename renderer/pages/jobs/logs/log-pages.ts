import type { LogLine } from '../../../../protocol/logs-api.ts';

/** Lines that are read at once, and kept or forgotten together. */
export const pageLines = 500;
/** A screen shows a page at most; those around it are kept for whoever scrolls back. */
const mostPages = 40;

/** Which lines there are: from the first that is kept to the one before the last of all. */
interface Kept {
  readonly first_line: number;
  readonly total_lines: number;
}

/** Lines that were read, by their numbers: the pages that were wanted last. */
export interface LogPages {
  at(line: number): LogLine | undefined;
  /** `asked`: from which line on they were read; null where nobody asked for one. */
  put(lines: readonly LogLine[], asked: number | null): void;
  /**
   * The first line from `first` to `last` that is missing, or that its page begins with when nothing of that is there; null when all of
   * them are. They are wanted: their pages are kept.
   */
  missing(first: number, last: number, kept: Kept): number | null;
  /** Lines that were not there when they were read may be there by now. */
  forgetHoles(): void;
}

export function createLogPages(): LogPages {
  // The one that was wanted last stands last.
  const pages = new Map<number, (LogLine | undefined)[]>();
  /** They are not asked for again and again. */
  const holes = new Set<number>();
  const touch = (no: number): (LogLine | undefined)[] => {
    const page = pages.get(no) ?? [];
    pages.delete(no);
    pages.set(no, page);
    return page;
  };
  const forget = (): void => {
    for (const no of pages.keys()) {
      if (pages.size <= mostPages) return;
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
