import { describe, expect, it } from 'vitest';
import { doesRun, listPages, readBlocks } from './blocks.ts';
import { runPage } from './page-session.ts';
import { findMissingKeys } from './responses.ts';
import { openFleet } from './sample-fleet.ts';

/** Timeout of a test in ms; several pages run at the same time. */
const testLimitMs = 90_000;

/** The pages that new users follow. `npm test` runs their blocks; `npm run test:all` also runs the blocks of the other pages. */
export const firstPages: readonly string[] = ['README.md', 'docs/install.md', 'docs/join.md'];

export const otherPages: readonly string[] = listPages().filter(page => !firstPages.includes(page));

/** Runs the code blocks of each page as a reader does. */
export function describePages(pages: readonly string[]): void {
  describe('running the code blocks of a page', () => {
    it.concurrent.for(pages.filter(page => readBlocks(page).some(doesRun)))(
      '%s: every runnable block succeeds on a fresh server, and prints the documented keys',
      { timeout: testLimitMs },
      async (page, { onTestFinished }) => {
        const blocks = readBlocks(page);
        const { session, close } = await openFleet(blocks);
        onTestFinished(close);
        const { failure, printed } = await runPage(blocks, session);
        expect(failure).toBeNull();
        expect(findMissingKeys(blocks, printed)).toEqual([]);
      },
    );
  });
}
