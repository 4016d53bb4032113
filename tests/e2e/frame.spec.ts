/** The frame of the panel: signing in, the pages, the stream, themes and languages. */
import { AxeBuilder } from '@axe-core/playwright';
import { expect, test } from '@playwright/test';
import { type Orchestrator, signIn, startOrchestrator } from './panel.ts';

let orchestrator: Orchestrator;
test.beforeEach(async () => {
  orchestrator = await startOrchestrator();
});
test.afterEach(() => orchestrator.close());

const pages = ['/', '/workers', '/jobs', '/queue', '/audit', '/settings', '/help'];

test('a token signs in, a wrong one does not', async ({ page }) => {
  await page.goto(orchestrator.url);
  await page.getByLabel('Token').fill('wrong');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page.getByRole('alert')).toContainText('not valid');
  await page.getByLabel('Token').fill(orchestrator.token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page.getByRole('navigation')).toBeVisible();
});

test('a one-time link signs in once, leaves no code in the address, and signing out ends it', async ({
  page,
  context,
}) => {
  const path = await orchestrator.signInPath();
  await page.goto(orchestrator.url + path);
  await expect(page.getByRole('navigation')).toBeVisible();
  expect(page.url()).not.toContain('sign-in');
  await page.goto(`${orchestrator.url}/settings`);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await expect(page.getByLabel('Token')).toBeVisible();
  const again = await context.newPage();
  await again.goto(orchestrator.url + path);
  await expect(again.getByRole('alert')).toContainText('used before');
});

test('what happens is shown as it happens, and after a break nothing is missing', async ({
  page,
  context,
}) => {
  await signIn(page, orchestrator);
  await expect(page.getByText('Live', { exact: true })).toBeVisible();
  await page.getByRole('link', { name: 'Workers' }).first().click();
  await orchestrator.call('POST', '/api/admin/workers', { name: 'rig-live' });
  await expect(page.getByText('rig-live').first()).toBeVisible();
  await context.setOffline(true);
  await orchestrator.call('POST', '/api/admin/workers', { name: 'rig-meanwhile' });
  await context.setOffline(false);
  await expect(page.getByText('rig-meanwhile').first()).toBeVisible({ timeout: 20_000 });
  await expect(page.getByText('Live', { exact: true })).toBeVisible();
});

test('every page has its heading in every language, and no text is missing', async ({ page }) => {
  await signIn(page, orchestrator);
  for (const language of ['en', 'es', 'zh', 'hi', 'ja', 'pseudo']) {
    await page.evaluate(
      chosen =>
        localStorage.setItem('trainyard.preferences', JSON.stringify({ theme: 'light', language: chosen })),
      language,
    );
    for (const path of pages) {
      await page.goto(orchestrator.url + path);
      await expect(page.locator('h1').first()).not.toBeEmpty();
      // A key that no catalogue has is shown as it is.
      await expect(page.locator('body')).not.toContainText(
        /\b(?:nav|workers|jobs|queue|audit|overview)\.[a-z]/,
      );
    }
  }
});

for (const theme of ['light', 'dark'] as const) {
  test(`nothing bars the way to a page with the ${theme} theme`, async ({ page }) => {
    await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
    orchestrator.start(['demo-fleet', '--workers', '6', '--submit-rate', '60/min']);
    await signIn(page, orchestrator);
    await expect(page.getByText('demo-06').first()).toBeVisible({ timeout: 30_000 });
    for (const path of pages) {
      await page.goto(orchestrator.url + path);
      await expect(page.locator('h1').first()).not.toBeEmpty();
      const { violations } = await new AxeBuilder({ page }).analyze();
      expect(violations.map(({ id, nodes }) => `${path} ${id}: ${nodes[0]?.html ?? ''}`)).toEqual([]);
    }
  });
}
