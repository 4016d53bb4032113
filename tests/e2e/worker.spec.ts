/** A worker's whole life as somebody lives it who has nothing but the panel and a terminal. */
import { expect, type Page, test } from '@playwright/test';
import { type Orchestrator, signIn, startOrchestrator } from './panel.ts';

let orchestrator: Orchestrator;
test.beforeEach(async () => {
  orchestrator = await startOrchestrator();
});
test.afterEach(() => orchestrator.close());

const rowOf = (page: Page) => page.getByRole('row', { name: /rig-e2e/ });

async function act(page: Page, name: string): Promise<void> {
  await rowOf(page)
    .getByRole('button', { name: /rig-e2e/ })
    .click();
  await page.getByRole('menuitem', { name }).click();
}

test('it joins with the command that is shown, runs a test job, is drained, and is deleted when it is off', async ({
  page,
}) => {
  await signIn(page, orchestrator);
  await page.goto(`${orchestrator.url}/workers`);
  await page.getByRole('button', { name: 'Add a worker' }).first().click();
  await page.getByRole('button', { name: 'Not now: a worker on this machine' }).click();
  await page.getByLabel('Name').fill('rig-e2e');
  await page.getByRole('button', { name: 'Create and show the command' }).click();
  const dialog = page.getByRole('dialog');
  await expect(dialog.getByText('wt_')).toHaveCount(0);
  await dialog.getByRole('button', { name: 'Show' }).click();
  const command = await dialog.locator('pre').first().textContent();
  const unplug = orchestrator.paste(command ?? '');
  await expect(dialog.getByText(/^Connected/)).toBeVisible({ timeout: 20_000 });
  await dialog.getByRole('button', { name: 'Send a test job' }).click();
  await dialog.getByRole('link', { name: 'Open it' }).click();
  await expect(page.getByText('completed').first()).toBeVisible({ timeout: 40_000 });

  await page.goto(`${orchestrator.url}/workers`);
  await act(page, 'Drain…');
  await page.getByLabel(/^Reason/).fill('new fan');
  await page.getByRole('button', { name: 'Drain', exact: true }).click();
  await expect(rowOf(page)).toContainText('draining');
  await act(page, 'Take the drain back');
  await expect(rowOf(page)).toContainText('idle');

  await rowOf(page)
    .getByRole('button', { name: /rig-e2e/ })
    .click();
  await expect(page.getByRole('menuitem', { name: /Delete/ })).toBeDisabled();
  await page.keyboard.press('Escape');
  await unplug();
  await expect(rowOf(page)).toContainText('offline');
  await act(page, 'Delete…');
  await page.getByLabel(/^Type rig-e2e/).fill('rig-e2e');
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await expect(rowOf(page)).toHaveCount(0);
});
