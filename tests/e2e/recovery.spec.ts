/** The panel shows that the server has stopped or does not respond, and recovers without a manual reload. */
import { expect, type Page, test } from '@playwright/test';
import { type Orchestrator, signIn, startOrchestrator } from './panel.ts';

let orchestrator: Orchestrator;
test.beforeEach(async () => {
  // With this timeout, the server sends a ping on event streams every second.
  orchestrator = await startOrchestrator({ args: ['--heartbeat-timeout', '6'] });
});
test.afterEach(() => orchestrator.close());

const badge = (page: Page) => page.locator('.stream-badge');
const openPage = (page: Page, name: string): Promise<void> =>
  page.getByRole('navigation').getByRole('link', { name, exact: true }).click();

test('loads a page that failed to load, as soon as the crashed server is back', async ({ page }) => {
  await signIn(page, orchestrator);
  await expect(badge(page)).toHaveText('Live');
  await orchestrator.crash();
  await openPage(page, 'Audit');
  await expect(page.getByRole('alert')).toContainText('This page did not load');
  await expect(page.getByRole('alert').getByRole('button', { name: 'Retry' })).toBeVisible();
  await orchestrator.restart();
  await expect(page.getByRole('heading', { name: 'Audit' })).toBeVisible({ timeout: 30_000 });
  await expect(badge(page)).toHaveText('Live');
});

test('shows in the badge and on each page that the server does not respond, and loads the page when the server responds again', async ({
  page,
}) => {
  await signIn(page, orchestrator);
  await openPage(page, 'Audit');
  await expect(page.getByRole('heading', { name: 'Audit' })).toBeVisible();
  await openPage(page, 'Overview');
  await expect(badge(page)).toHaveText('Live');
  orchestrator.freeze();
  await expect(badge(page)).toHaveText(/^Not up to date since/, { timeout: 15_000 });
  await openPage(page, 'Audit');
  await expect(page.getByRole('alert')).toContainText('The server did not respond.', { timeout: 25_000 });
  await openPage(page, 'Help');
  await expect(page.getByRole('alert')).toContainText('This page did not load', { timeout: 25_000 });
  orchestrator.thaw();
  await expect(page.getByRole('heading', { name: 'Help' })).toBeVisible({ timeout: 30_000 });
  await expect(badge(page)).toHaveText('Live', { timeout: 30_000 });
});
