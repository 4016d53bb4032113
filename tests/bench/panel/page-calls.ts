import type { Page } from '@playwright/test';

const timeoutMs = 40_000;

/** Evaluates an expression in the page. The type of the result is not checked, because the page shares no types with Node. */
export const evaluate = <T>(page: Page, expression: string): Promise<T> => page.evaluate<T>(expression);

/**
 * Polls an expression in the page until it is true. Throws after 40 s. Playwright's own waiting would evaluate code that the
 * page's Content-Security-Policy forbids.
 */
export async function waitUntil(page: Page, expression: string): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!(await evaluate<boolean>(page, expression))) {
    if (performance.now() > deadline) throw new Error(`Timed out waiting for ${expression}`);
    await page.waitForTimeout(50);
  }
}
