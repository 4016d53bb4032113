/** Other fleets in the settings of the app. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from '@playwright/test';
import { startOrchestrator } from '../e2e/panel.ts';
import { showElsewhere, test } from '../support/desktop/driver.ts';

test('adds, shows and removes another fleet, and never exposes its token', async ({ beside, start }) => {
  const other = await startOrchestrator();
  try {
    const { worker_id: id } = await other.call('POST', '/api/admin/workers', { name: 'rig-elsewhere' });
    const { page } = await start({ dataDir: beside.dataDir });
    await page.getByRole('link', { name: 'Settings', exact: true }).click();
    await page.getByRole('button', { name: 'Add fleet' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('Lab');
    await dialog.getByLabel('Address').fill('nowhere');
    await dialog.getByLabel('Token', { exact: true }).fill(other.token);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await expect(dialog.getByRole('alert')).toHaveText(/no address of an orchestrator/);
    await dialog.getByLabel('Address').fill(other.url);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await expect(dialog).toHaveCount(0);
    // This system has no keyring, and the page states that.
    const fleets = page.getByRole('region', { name: 'Fleets' });
    await expect(fleets).toContainText('This system has no keyring');
    await page.screenshot({ path: test.info().outputPath('fleets.png'), fullPage: true });

    await fleets.getByRole('button', { name: 'Show Lab' }).click();
    await expect(page).not.toHaveURL(new RegExp(`^${beside.url}`));
    await page.getByRole('link', { name: 'Workers', exact: true }).click();
    await expect(page.getByText('rig-elsewhere')).toBeVisible();
    expect(String(await page.evaluate('desktop.view().then(JSON.stringify)'))).not.toContain(other.token);

    await page.getByRole('link', { name: 'Settings', exact: true }).click();
    await fleets.getByRole('button', { name: 'Show This computer' }).click();
    await expect(page).toHaveURL(new RegExp(`^${beside.url}`));
    await page.getByRole('link', { name: 'Workers', exact: true }).click();
    await expect(page.getByText('rig-elsewhere')).toHaveCount(0);
    await page.getByRole('link', { name: 'Settings', exact: true }).click();
    await fleets.getByRole('button', { name: 'Remove Lab' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Remove' }).click();
    await expect(fleets).not.toContainText('Lab');
    expect(readFileSync(join(beside.dataDir, 'desktop/desktop.json'), 'utf8')).not.toContain(other.token);
    expect(id).toBeTruthy();
  } finally {
    await other.close();
  }
});

test('asks for a new token when the token of a fleet was revoked', async ({ beside, dataDir, start }) => {
  showElsewhere(dataDir, { url: beside.url, token: 'tk_revoked' });
  const { page } = await start({ dataDir });
  await expect(page.getByRole('heading', { name: 'Workstation' })).toBeVisible();
  await page.getByLabel('Token').fill(beside.token);
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByText('Live')).toBeVisible();
});

test('saves which notifications the user wants', async ({ beside, start }) => {
  const { page } = await start({ dataDir: beside.dataDir });
  await page.getByRole('link', { name: 'Settings', exact: true }).click();
  const finished = page.getByLabel('a job completes');
  await expect(finished).toBeChecked();
  // The page shows the app's answer.
  await finished.click();
  await expect(finished).not.toBeChecked();
  await expect
    .poll(() => JSON.parse(readFileSync(join(beside.dataDir, 'desktop/desktop.json'), 'utf8')) as object)
    .toMatchObject({ notices: { job_completed: false, job_failed: true, worker_lost: true } });
  // The setting of the fleet in the window is disabled.
  await expect(page.getByLabel('Run an orchestrator on this computer')).toBeDisabled();
});
