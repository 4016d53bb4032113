import { expect, test } from 'vitest';
import {
  findNext,
  findPrevious,
  type SearchLines,
} from '../../../../../../renderer/pages/jobs/logs/find-line.ts';
import { createLogPages, pageLines } from '../../../../../../renderer/pages/jobs/logs/log-pages.ts';
import { logLine, logLines } from '../../../log-builders.ts';

/** Searches like the server: only forwards, with at most 1,000 matches per call. Counts the calls. */
function searchIn(lines: readonly number[]): { readonly search: SearchLines; readonly calls: () => number } {
  let calls = 0;
  return {
    calls: () => calls,
    async search(_text, from) {
      calls += 1;
      const all = lines.filter(line => line >= from);
      return { matches: all.slice(0, 1_000).map(line => logLine(line)), isAll: all.length <= 1_000 };
    },
  };
}

const million = 1_000_000;

test('finds the next match, and continues with the first match after the last match', async () => {
  const { search } = searchIn([3, 700, 999_999]);
  expect(await findNext(search, 'x', -1)).toBe(3);
  expect(await findNext(search, 'x', 3)).toBe(700);
  expect(await findNext(search, 'x', 701)).toBe(999_999);
  expect(await findNext(search, 'x', 999_999)).toBe(3);
  expect(await findNext(searchIn([]).search, 'x', 12)).toBeNull();
  expect(await findNext(async () => null, 'x', 12)).toBe('unread');
});

test('finds the previous match, near or far, and continues with the last match before the first match', async () => {
  const { search } = searchIn([3, 700, 999_990]);
  expect(await findPrevious(search, 'x', 999_991, million)).toBe(999_990);
  expect(await findPrevious(search, 'x', 999_990, million)).toBe(700);
  expect(await findPrevious(search, 'x', 700, million)).toBe(3);
  expect(await findPrevious(search, 'x', 3, million)).toBe(999_990);
  expect(await findPrevious(searchIn([]).search, 'x', 12, million)).toBeNull();
  expect(await findPrevious(async () => null, 'x', 12, million)).toBe('unread');
});

test('finds the previous of many matches with few requests', async () => {
  const everyLine = searchIn(Array.from({ length: 50_000 }, (_, line) => line));
  expect(await findPrevious(everyLine.search, 'x', 40_000, million)).toBe(39_999);
  expect(everyLine.calls()).toBe(1);
  const firstLines = searchIn(Array.from({ length: 5_000 }, (_, line) => line));
  expect(await findPrevious(firstLines.search, 'x', 40_000, million)).toBe(4_999);
  expect(firstLines.calls()).toBeLessThan(15);
});

const wholeLog = { first_line: 0, total_lines: million };

test('requests a whole missing page, or the missing rest of a page', () => {
  const pages = createLogPages();
  expect(pages.missing(1_200, 1_300, wholeLog)).toBe(1_000);
  pages.put(logLines(1_000, 1_250), 1_000);
  expect(pages.missing(1_200, 1_240, wholeLog)).toBeNull();
  expect(pages.missing(1_200, 1_300, wholeLog)).toBe(1_250);
  expect(pages.at(1_249)?.text).toBe('line 1249');
  expect(pages.at(1_250)).toBeUndefined();
});

test('requests no lines before the first or after the last line of the log', () => {
  const pages = createLogPages();
  expect(pages.missing(0, 900, { first_line: 901, total_lines: 2_000 })).toBeNull();
  expect(pages.missing(2_000, 2_050, { first_line: 0, total_lines: 2_000 })).toBeNull();
  expect(pages.missing(100, 130, { first_line: 120, total_lines: 2_000 })).toBe(120);
  pages.put([], 120);
  expect(pages.missing(100, 130, { first_line: 120, total_lines: 2_000 })).toBeNull();
  pages.forgetHoles();
  expect(pages.missing(100, 130, { first_line: 120, total_lines: 2_000 })).toBe(120);
});

test('keeps only the most recently requested pages', () => {
  const pages = createLogPages();
  pages.put(logLines(0, 10), null);
  for (let page = 1; page < 100; page += 1) {
    pages.put(logLines(page * pageLines, page * pageLines + 1), null);
    // This call also marks the first page as recently requested.
    expect(pages.missing(0, 9, wholeLog)).toBeNull();
  }
  expect(pages.at(50 * pageLines)).toBeUndefined();
  const keptPages = Array.from({ length: 100 }, (_, page) => pages.at(page * pageLines)).filter(Boolean);
  expect(keptPages).toHaveLength(40);
});
