/** Other fleets in the settings of the app. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from '@playwright/test';
import { startOrchestrator } from '../e2e/panel.ts';
import { useRemoteOrchestrator, test } from '../support/desktop/driver.ts';

test('adds, shows and removes another fleet in the settings, and never exposes the token of the fleet', async ({
  orchestrator,
  start,
}) => {
  const otherFleet = await startOrchestrator();
  try {
    await otherFleet.createWorker({ name: 'rig-elsewhere' });
    const { page } = await start({ dataDir: orchestrator.dataDir });
    await page.getByRole('link', { name: 'Settings', exact: true }).click();
    await page.getByRole('button', { name: 'Add fleet' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('Lab');
    await dialog.getByLabel('Address').fill('nowhere');
    await dialog.getByLabel('Token', { exact: true }).fill(otherFleet.token);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await expect(dialog.getByRole('alert')).toHaveText(/is not the address of an orchestrator/);
    await dialog.getByLabel('Address').fill(otherFleet.url);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await expect(dialog).toHaveCount(0);
    // The system that runs the tests has no keyring.
    const fleets = page.getByRole('region', { name: 'Fleets' });
    await expect(fleets).toContainText('This system has no keyring');
    await page.screenshot({ path: test.info().outputPath('fleets.png'), fullPage: true });

    await fleets.getByRole('button', { name: 'Show Lab' }).click();
    await expect(page).not.toHaveURL(new RegExp(`^${orchestrator.url}`));
    await page.getByRole('link', { name: 'Workers', exact: true }).click();
    await expect(page.getByText('rig-elsewhere')).toBeVisible();
    expect(String(await page.evaluate('desktop.view().then(JSON.stringify)'))).not.toContain(
      otherFleet.token,
    );

    await page.getByRole('link', { name: 'Settings', exact: true }).click();
    await fleets.getByRole('button', { name: 'Show This computer' }).click();
    await expect(page).toHaveURL(new RegExp(`^${orchestrator.url}`));
    await page.getByRole('link', { name: 'Workers', exact: true }).click();
    await expect(page.getByText('rig-elsewhere')).toHaveCount(0);
    await page.getByRole('link', { name: 'Settings', exact: true }).click();
    await fleets.getByRole('button', { name: 'Remove Lab' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Remove' }).click();
    await expect(fleets).not.toContainText('Lab');
    expect(readFileSync(join(orchestrator.dataDir, 'desktop/desktop.json'), 'utf8')).not.toContain(
      otherFleet.token,
    );
  } finally {
    await otherFleet.close();
  }
});

test('asks for a new token when a fleet rejects the stored token', async ({
  orchestrator,
  dataDir,
  start,
}) => {
  useRemoteOrchestrator(dataDir, { url: orchestrator.url, token: 'tk_revoked' });
  const { page } = await start({ dataDir });
  await expect(page.getByRole('heading', { name: 'Workstation' })).toBeVisible();
  await page.getByLabel('Token').fill(orchestrator.token);
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByText('Live')).toBeVisible();
});

test('saves which notifications the user has turned off', async ({ orchestrator, start }) => {
  const { page } = await start({ dataDir: orchestrator.dataDir });
  await page.getByRole('link', { name: 'Settings', exact: true }).click();
  const jobCompletes = page.getByLabel('a job completes');
  await expect(jobCompletes).toBeChecked();
  // The checkbox changes only after the app has stored the setting.
  await jobCompletes.click();
  await expect(jobCompletes).not.toBeChecked();
  await expect
    .poll(
      () => JSON.parse(readFileSync(join(orchestrator.dataDir, 'desktop/desktop.json'), 'utf8')) as object,
    )
    .toMatchObject({ notices: { job_completed: false, job_failed: true, worker_lost: true } });
  // The app did not start this orchestrator, so the setting that would stop it is disabled.
  await expect(page.getByLabel('Run an orchestrator on this computer')).toBeDisabled();
});
