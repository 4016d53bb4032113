/** The card of backups on the settings page: creating and restoring a backup, and who may see the card. */
import { expect, type Locator, type Page, test } from '@playwright/test';
import { type Orchestrator, signIn, signInWithToken, startOrchestrator } from './panel.ts';

let orchestrator: Orchestrator;
test.beforeEach(async () => {
  orchestrator = await startOrchestrator();
});
test.afterEach(() => orchestrator.close());

const cardOf = (page: Page, name: string): Locator => page.getByRole('region', { name, exact: true });

test('restores a backup after the user has typed its name, and reconnects the page', async ({ page }) => {
  await orchestrator.createWorker({ name: 'rig-1' });
  await signIn(page, orchestrator);
  await page.goto(`${orchestrator.url}/settings/data`);
  const card = cardOf(page, 'Backups');
  await card.getByRole('button', { name: 'Create backup' }).click();
  const row = card.getByRole('listitem').filter({ hasText: 'Manual' });
  await expect(row).toHaveCount(1);
  await orchestrator.createWorker({ name: 'rig-2' });

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
  // A page without a connection would not show the new worker.
  await orchestrator.createWorker({ name: 'rig-3' });
  await expect(page.getByRole('row', { name: /rig-3/ })).toBeVisible();
});

test('signs out sessions newer than the restored backup, and keeps the audit retention setting', async ({
  page,
}) => {
  const backup = await orchestrator.call('POST', '/api/backup', {});
  await signIn(page, orchestrator);
  await page.goto(`${orchestrator.url}/settings/data`);
  const auditTrail = cardOf(page, 'Audit trail');
  await expect(auditTrail).toContainText('All entries are kept.');
  await auditTrail.getByRole('spinbutton').fill('90');
  await auditTrail.getByRole('button', { name: 'Save' }).click();
  await expect(auditTrail).toContainText('Entries are kept for 90 days.');

  const card = cardOf(page, 'Backups');
  await card.getByRole('button', { name: `Restore ${String(backup['name'])}` }).click();
  const dialog = page.getByRole('alertdialog');
  await dialog.getByRole('textbox').fill(String(backup['name']));
  await dialog.getByRole('button', { name: 'Restore backup' }).click();
  await expect(page.getByRole('navigation')).toHaveCount(0);
  await signIn(page, orchestrator);
  await page.goto(`${orchestrator.url}/settings/data`);
  await expect(auditTrail).toContainText('Entries are kept for 90 days.');
});

test('hides backups from users without the permission', async ({ page, browser }) => {
  const token = await orchestrator.createToken('viewer', ['queue.view', 'admin.workers']);
  const context = await browser.newContext();
  const viewerPage = await context.newPage();
  await signInWithToken(viewerPage, orchestrator.url, token);
  await viewerPage.goto(`${orchestrator.url}/settings/data`);
  await expect(cardOf(viewerPage, 'Audit trail')).toBeVisible();
  await expect(cardOf(viewerPage, 'Backups')).toHaveCount(0);
  await context.close();
  await signIn(page, orchestrator);
  await page.goto(`${orchestrator.url}/settings/data`);
  await expect(cardOf(page, 'Backups')).toBeVisible();
});
