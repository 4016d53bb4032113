/** Signing in and out. */
import { expect, test } from '@playwright/test';
import { enterToken, type Orchestrator, signIn, startOrchestrator } from './panel.ts';

let orchestrator: Orchestrator;
test.beforeAll(async () => {
  orchestrator = await startOrchestrator();
});
test.afterAll(() => orchestrator.close());

test('signs in with a valid token, and rejects a wrong token', async ({ page }) => {
  await page.goto(orchestrator.url);
  await enterToken(page, 'wrong');
  await expect(page.getByRole('alert')).toContainText('not valid');
  await enterToken(page, orchestrator.token);
  await expect(page.getByRole('navigation')).toBeVisible();
});

test('signs in with a link that works once, removes the code from the URL, and signs out', async ({
  page,
  context,
}) => {
  const path = await orchestrator.signInPath();
  // Open the link in the tab that asks for a token, so that only the fragment of the URL changes.
  await page.goto(orchestrator.url);
  await expect(page.getByLabel('Token')).toBeVisible();
  await page.goto(orchestrator.url + path);
  await expect(page.getByRole('navigation')).toBeVisible();
  expect(page.url()).not.toContain('sign-in');
  await page.goto(`${orchestrator.url}/settings`);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await expect(page.getByLabel('Token')).toBeVisible();
  const secondTab = await context.newPage();
  await secondTab.goto(orchestrator.url + path);
  await expect(secondTab.getByRole('alert')).toContainText('already used');
});

test('opens the linked page after signing in', async ({ page }) => {
  await page.goto(`${orchestrator.url}/workers?q=state:idle`);
  await enterToken(page, orchestrator.token);
  await expect(page.getByRole('heading', { level: 1, name: 'Workers' })).toBeVisible();
  expect(page.url()).toBe(`${orchestrator.url}/workers?q=state:idle`);
});

test('asks for a token when another program has ended the session, and returns to the same page', async ({
  page,
  context,
}) => {
  await orchestrator.createWorker({ name: 'rig-1' });
  await signIn(page, orchestrator);
  await page.goto(`${orchestrator.url}/workers?q=state:connecting`);
  await expect(page.getByText('rig-1')).toBeVisible();
  const cookie = (await context.cookies()).map(({ name, value }) => `${name}=${value}`).join('; ');
  // The browser keeps its cookie, which is no longer valid.
  const response = await fetch(`${orchestrator.url}/api/session`, {
    method: 'DELETE',
    headers: { cookie, origin: orchestrator.url, 'content-type': 'application/json' },
    body: '{}',
  });
  expect(response.status).toBe(200);
  await expect(page.getByLabel('Token')).toBeVisible({ timeout: 20_000 });
  await enterToken(page, orchestrator.token);
  await expect(page.getByRole('searchbox')).toHaveValue('state:connecting');
  await expect(page.getByText('Live', { exact: true })).toBeVisible();
});
