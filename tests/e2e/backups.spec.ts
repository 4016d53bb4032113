/** Backups on the settings page: creates one, restores another one, and checks that the page reconnects. */
import { expect, type Locator, type Page, test } from '@playwright/test';
import { type Orchestrator, signIn, startOrchestrator } from './panel.ts';

let orchestrator: Orchestrator;
test.beforeEach(async () => {
  orchestrator = await startOrchestrator();
});
test.afterEach(() => orchestrator.close());

const makeWorker = (name: string) => orchestrator.call('POST', '/api/admin/workers', { name });
const cardOf = (page: Page, name: string): Locator => page.getByRole('region', { name, exact: true });

test('creates a backup and restores it by its name, without its later changes, while the page reconnects', async ({
  page,
}) => {
  await makeWorker('rig-1');
  await signIn(page, orchestrator);
  await page.goto(`${orchestrator.url}/settings/data`);
  const card = cardOf(page, 'Backups');
  await card.getByRole('button', { name: 'Create backup' }).click();
  const row = card.getByRole('listitem').filter({ hasText: 'Manual' });
  await expect(row).toHaveCount(1);
  await makeWorker('rig-2');

  await row.getByRole('button').click();
  const dialog = page.getByRole('alertdialog');
  await expect(dialog.getByRole('button', { name: 'Cancel' })).toBeFocused();
  const restore = dialog.getByRole('button', { name: 'Restore backup' });
  await expect(restore).toBeDisabled();
  const field = dialog.getByRole('textbox');
  await field.fill('something else');
  await expect(restore).toBeDisabled();
  await field.fill(String(await dialog.locator('code').textContent()));
  await restore.click();
  await expect(page.getByText(/^Restored\. The previous state is saved as before-restore-/)).toBeVisible();
  await expect(card.getByRole('listitem').filter({ hasText: 'Before a restore' })).toHaveCount(1);

  await page.getByRole('link', { name: 'Workers' }).first().click();
  await expect(page.getByRole('row', { name: /rig-1/ })).toBeVisible();
  await expect(page.getByRole('row', { name: /rig-2/ })).toHaveCount(0);
  // The page is connected again.
  await makeWorker('rig-3');
  await expect(page.getByRole('row', { name: /rig-3/ })).toBeVisible();
});

test('signs out sessions newer than the restored backup, and keeps the audit retention setting', async ({
  page,
}) => {
  const backup = await orchestrator.call('POST', '/api/backup', {});
  await signIn(page, orchestrator);
  await page.goto(`${orchestrator.url}/settings/data`);
  const trail = cardOf(page, 'Audit trail');
  await expect(trail).toContainText('All entries are kept.');
  await trail.getByRole('spinbutton').fill('90');
  await trail.getByRole('button', { name: 'Save' }).click();
  await expect(trail).toContainText('Entries are kept for 90 days.');

  const card = cardOf(page, 'Backups');
  await card.getByRole('button', { name: `Restore ${String(backup['name'])}` }).click();
  const dialog = page.getByRole('alertdialog');
  await dialog.getByRole('textbox').fill(String(backup['name']));
  await dialog.getByRole('button', { name: 'Restore backup' }).click();
  await expect(page.getByRole('navigation')).toHaveCount(0);
  await signIn(page, orchestrator);
  await page.goto(`${orchestrator.url}/settings/data`);
  await expect(trail).toContainText('Entries are kept for 90 days.');
});

test('hides backups from users without the permission', async ({ page, browser }) => {
  const { token } = await orchestrator.call('POST', '/api/tokens', {
    name: 'viewer',
    permissions: ['queue.view', 'admin.workers'],
  });
  const context = await browser.newContext();
  const viewerPage = await context.newPage();
  await viewerPage.goto(orchestrator.url);
  await viewerPage.getByRole('textbox').fill(String(token));
  await viewerPage.keyboard.press('Enter');
  await expect(viewerPage.getByRole('navigation')).toBeVisible();
  await viewerPage.goto(`${orchestrator.url}/settings/data`);
  await expect(cardOf(viewerPage, 'Audit trail')).toBeVisible();
  await expect(cardOf(viewerPage, 'Backups')).toHaveCount(0);
  await context.close();
  await signIn(page, orchestrator);
  await page.goto(`${orchestrator.url}/settings/data`);
  await expect(cardOf(page, 'Backups')).toBeVisible();
});
