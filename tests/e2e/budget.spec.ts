/** Limits on the size of scripts and on the number of elements in a page. */
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@playwright/test';
import { firstPageFiles, gzipBytes } from '../support/first-page.ts';
import { signIn, startOrchestrator } from './panel.ts';

const panelFolder = fileURLToPath(new URL('../../dist/renderer/', import.meta.url));
const maxFirstPageBytes = 150_000;
/** Maximum compressed size in bytes of the scripts that the first page loads after it is shown. */
const maxLaterBytes = 12_500;
/** The table of workers renders only the rows in the window, and some above and below the window. */
const maxRenderedRows = 60;

test('keeps the compressed JavaScript of the first page within 150 KB', () => {
  expect(gzipBytes(firstPageFiles(panelFolder))).toBeLessThanOrEqual(maxFirstPageBytes);
});

test('loads only the expected scripts on the first page, within the limits on their size', async ({
  page,
}) => {
  const orchestrator = await startOrchestrator();
  try {
    // With a worker, the page does not show the instructions for new users.
    await orchestrator.createWorker({ name: 'rig-1' });
    const loaded = new Set<string>();
    page.on('response', response => {
      if (response.request().resourceType() === 'script')
        loaded.add(basename(new URL(response.url()).pathname));
    });
    await signIn(page, orchestrator);
    await expect(page.getByText('Live', { exact: true })).toBeVisible();
    const firstPage = firstPageFiles(panelFolder).map(file => basename(file));
    const others = [...loaded].filter(name => !firstPage.includes(name) && !name.startsWith('stream-worker'));
    // Once the first page is shown, it loads its long texts and the message region, and registers the service worker.
    const isLoadedLater = (name: string): boolean =>
      /^(?:registration|subscription|page-texts|toast-region)-/.test(name);
    expect(others.filter(name => !isLoadedLater(name))).toEqual([]);
    const laterScripts = others.filter(isLoadedLater).map(name => join(panelFolder, 'assets', name));
    expect(gzipBytes(laterScripts)).toBeLessThanOrEqual(maxLaterBytes);
    expect(readFileSync(join(panelFolder, 'index.html'), 'utf8')).not.toContain('stream-worker');
  } finally {
    await orchestrator.close();
  }
});

test('keeps only the visible rows of 300 workers in the page at any scroll position', async ({ page }) => {
  const orchestrator = await startOrchestrator();
  try {
    const names = Array.from({ length: 300 }, (_, n) => `rig-${String(n).padStart(3, '0')}`);
    await Promise.all(names.map(name => orchestrator.createWorker({ name })));
    await signIn(page, orchestrator);
    await page.goto(`${orchestrator.url}/workers`);
    const rows = page.locator('[data-row]');
    await expect(rows.first()).toBeVisible();
    await expect(page.getByRole('grid')).toHaveAttribute('aria-rowcount', '301');
    await rows.first().hover();
    const renderedRows = new Set<string>();
    while (!renderedRows.has('299')) {
      const rendered = await page.evaluate<string[]>(
        `[...document.querySelectorAll('[data-row]')].map(row => row.dataset.row)`,
      );
      expect(rendered.length).toBeLessThanOrEqual(maxRenderedRows);
      for (const row of rendered) renderedRows.add(row);
      await page.mouse.wheel(0, 400);
    }
    expect(renderedRows.size).toBe(300);
    const byName = page.getByRole('columnheader', { name: 'Name' }).getByRole('button');
    // The second click reverses the order.
    await byName.click();
    await byName.click();
    await rows.first().hover();
    await page.mouse.wheel(0, -20_000);
    await expect(page.locator('[data-row="0"]')).toContainText('rig-299');
  } finally {
    await orchestrator.close();
  }
});
