/** Sets up TLS with only a browser. 127.0.0.2 represents the server's address in a network. */
import { expect, test } from '@playwright/test';
import { openJoinDialog, startOrchestrator } from './panel.ts';

test.use({ ignoreHTTPSErrors: true });

test('turns TLS on and off in the settings, and shows the fingerprint and the pin of the certificate', async ({
  page,
}) => {
  const orchestrator = await startOrchestrator();
  try {
    await page.goto(orchestrator.url + (await orchestrator.signInPath()));
    await expect(page.getByRole('navigation')).toBeVisible();
    await page.goto(`${orchestrator.url}/settings/network`);
    const tlsSwitch = page.getByRole('switch', { name: 'Use TLS for other machines' });
    await expect(tlsSwitch).not.toBeChecked();
    await tlsSwitch.click();
    await expect(tlsSwitch).toBeChecked();
    const network = page.getByRole('region', { name: 'Network' });
    await expect(network.getByText(/^([\dA-F]{2}:){31}[\dA-F]{2}$/)).toBeVisible();
    await expect(network.getByText(/^sha256:[\w+/]{43}=$/)).toBeVisible();
    await expect(network.getByRole('button', { name: /^Copy sha256:/ })).toBeVisible();
    await expect(network).toContainText('browsers show a warning');
    await page.reload();
    await expect(tlsSwitch).toBeChecked();
    await tlsSwitch.click();
    await expect(tlsSwitch).not.toBeChecked();
    await expect(network.getByText(/^sha256:/)).toHaveCount(0);
  } finally {
    await orchestrator.close();
  }
});

test('serves the panel over TLS, and adds the certificate pin to join commands', async ({ page }) => {
  const orchestrator = await startOrchestrator({ args: ['--host', '127.0.0.2', '--ssl'] });
  try {
    const secure = orchestrator.url.replace('http://127.0.0.1', 'https://127.0.0.2');
    await page.goto(secure + (await orchestrator.signInPath()));
    await expect(page.getByRole('navigation')).toBeVisible();
    const [cookie] = await page.context().cookies();
    expect(cookie?.secure).toBe(true);
    await page.goto(`${secure}/settings/network`);
    await expect(page.getByRole('switch', { name: 'Use TLS for other machines' })).toBeDisabled();
    await expect(page.getByText('Set by --ssl')).toBeVisible();
    await page.goto(`${secure}/workers`);
    const dialog = await openJoinDialog(page);
    await dialog.getByLabel('Name', { exact: true }).fill('rig-1');
    await dialog.getByRole('button', { name: 'Create and show command' }).click();
    const command = dialog.locator('pre').first();
    await expect(command).toContainText(`--pinnedpubkey sha256//`);
    await expect(command).toContainText(`${secure}/join | JOIN_TOKEN=`);
    await expect(dialog.getByText(/rig-1/).first()).toBeVisible();
  } finally {
    await orchestrator.close();
  }
});
