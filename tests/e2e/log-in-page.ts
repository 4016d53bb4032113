/** Reads and scrolls the rows of a log from within the page. */
import type { Page } from '@playwright/test';

/** The part of the browser's API that these functions use. */
interface PageElement {
  readonly scrollHeight: number;
  scrollTop: number;
  getAttribute(name: string): string | null;
  getBoundingClientRect(): { readonly top: number; readonly bottom: number };
  querySelectorAll(selector: string): Iterable<PageElement>;
}
declare const document: { querySelector(selector: string): PageElement | null };
declare const navigator: { readonly clipboard: { readText(): Promise<string> } };

/** Returns the number of the first fully visible line, counted from 1; null when there is none. */
export const firstVisibleLine = (page: Page): Promise<number | null> =>
  page.evaluate(() => {
    const log = document.querySelector('[role="log"]');
    if (log === null) return null;
    const { top } = log.getBoundingClientRect();
    const visibleRows = [...log.querySelectorAll('[data-line]')].filter(
      row => row.getBoundingClientRect().top >= top,
    );
    return Math.min(...visibleRows.map(row => Number(row.getAttribute('data-line')) + 1));
  });

/** Scrolls to a position between the start of the log, 0, and its end, 1. */
export const scrollLogTo = (page: Page, position: number): Promise<void> =>
  page.evaluate(share => {
    const log = document.querySelector('[role="log"]');
    if (log !== null) log.scrollTop = log.scrollHeight * share;
  }, position);

export const clipboardOf = (page: Page): Promise<string> =>
  page.evaluate(() => navigator.clipboard.readText());
