/** Measures how far the content of a page moves while the page loads. */
import type { Page } from '@playwright/test';

/** The part of the browser's API that these functions use. */
interface Shift {
  readonly value: number;
  readonly hadRecentInput: boolean;
}
declare const PerformanceObserver: new (
  callback: (list: { getEntries(): readonly Shift[] }) => void,
) => { observe(options: { type: 'layout-shift'; buffered: boolean }): void };
declare const window: { shifts: number };

/** Starts adding up the layout shifts of each page that the test opens after this call. */
export const recordShifts = (page: Page): Promise<unknown> =>
  page.addInitScript(() => {
    window.shifts = 0;
    new PerformanceObserver(list => {
      for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) window.shifts += value;
    }).observe({ type: 'layout-shift', buffered: true });
  });

/** Returns the cumulative layout shift, a metric of Core Web Vitals: the sum of moved area times distance. */
export const readShift = (page: Page): Promise<number> => page.evaluate(() => window.shifts);
