import type { Page } from '@playwright/test';

const timeoutMs = 40_000;

/** Evaluates an expression in the page. Its type is not checked, because the page has no shared types with Node. */
export const evaluate = <T>(page: Page, expression: string): Promise<T> => page.evaluate<T>(expression);

/**
 * Polls an expression in the page. Playwright's own waiting evaluates code that the page's Content-Security-Policy
 * forbids.
 */
export async function waitUntil(page: Page, expression: string): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!(await evaluate<boolean>(page, expression))) {
    if (performance.now() > deadline) throw new Error(`Timed out waiting for ${expression}`);
    await page.waitForTimeout(50);
  }
}
