/** The settings by topic, and their search. */
import { type Browser, expect, type Locator, type Page, test } from '@playwright/test';
import { enterToken, type Orchestrator, signIn, signInWithToken, startOrchestrator } from './panel.ts';

let orchestrator: Orchestrator;
test.beforeAll(async () => {
  orchestrator = await startOrchestrator();
});
test.afterAll(() => orchestrator.close());

const topicsOf = (page: Page): Locator => page.getByRole('navigation', { name: 'Topics' });
const searchOf = (page: Page): Locator => page.getByRole('combobox', { name: 'Search settings' });
const resultsOf = (page: Page): Locator =>
  page.getByRole('listbox', { name: 'Settings found' }).getByRole('option');

async function open(page: Page, path = '/settings'): Promise<void> {
  await signIn(page, orchestrator);
  await page.goto(orchestrator.url + path);
  await expect(page.getByRole('heading', { level: 1, name: 'Settings' })).toBeVisible();
}

test('opens each topic of the settings by keyboard, and keeps the focus on the link of the topic', async ({
  page,
}) => {
  await open(page);
  const sections: readonly (readonly [topic: string, section: string])[] = [
    ['General', 'Orchestrator'],
    ['Network', 'Network'],
    ['Queue', 'Limits'],
    ['Workers', 'Broken and busy GPUs'],
    ['Pools', 'Pools'],
    ['Data and backups', 'Backups'],
    ['Notifications', 'Push messages in this browser'],
    ['Access', 'Tokens'],
  ];
  await expect(topicsOf(page).getByRole('link')).toHaveText(sections.map(([topic]) => topic));
  for (const [topic, section] of sections) {
    const link = topicsOf(page).getByRole('link', { name: topic, exact: true });
    await link.focus();
    await page.keyboard.press('Enter');
    await expect(
      page.locator('.settings-content').getByRole('heading', { name: section, exact: true }),
    ).toBeVisible();
    await expect(link).toHaveAttribute('aria-current', 'page');
    await expect(link).toBeFocused();
  }
  await page.goBack();
  await expect(page).toHaveURL(/\/settings\/notifications$/);
  await expect(page.getByRole('region', { name: 'Push messages in this browser' })).toBeVisible();
});

test('finds a setting by its name, its description and its options, and moves the focus to the setting', async ({
  page,
}) => {
  await open(page);
  await page.keyboard.press('/');
  await expect(searchOf(page)).toBeFocused();
  await page.keyboard.type('dark');
  await expect(resultsOf(page)).toHaveText([/Theme.*General.*Dark/]);
  await page.keyboard.press('Enter');
  await expect(page.getByRole('combobox', { name: 'Theme' })).toBeFocused();
  await expect(page).toHaveURL(/\/settings\/general#settings-theme$/);

  await searchOf(page).fill('uncorrectable memory');
  await resultsOf(page).click();
  await expect(page.getByRole('region', { name: 'Broken and busy GPUs' })).toBeFocused();
  await expect(page).toHaveURL(/\/settings\/workers#settings-gpu-trouble$/);

  await searchOf(page).fill('tokens');
  await expect(resultsOf(page).first()).toContainText('Tokens');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await expect(page.getByRole('region', { name: 'Tokens' })).toBeFocused();

  await searchOf(page).fill('no such thing');
  await expect(page.getByText('No setting matches “no such thing”.')).toBeVisible();
});

test('focuses the setting that the URL names, and reports an unknown topic', async ({ page }) => {
  await open(page, '/settings/network#settings-public-url');
  await expect(page.getByLabel('Public address for join commands')).toBeFocused();
  await page.goto(`${orchestrator.url}/settings/no-such-topic`);
  await expect(page.getByText('Page not found.')).toBeVisible();
});

test('finds settings in the language of the panel', async ({ page }) => {
  await open(page);
  await page.getByRole('combobox', { name: 'Language' }).selectOption('es');
  const search = page.getByRole('combobox', { name: 'Buscar ajustes' });
  await search.fill('auditoria');
  await page.getByRole('option', { name: /^Registro de auditoría/ }).click();
  await expect(page).toHaveURL(/\/settings\/data#settings-retention$/);
  await expect(page.locator('[aria-labelledby="settings-retention"]')).toBeFocused();
});

test('offers the topics of the settings as a drop-down list on a phone', async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 800 });
  await open(page);
  await expect(topicsOf(page)).toBeHidden();
  const choice = page.getByRole('combobox', { name: 'Topic', exact: true });
  await choice.selectOption('Access');
  await expect(page.getByRole('region', { name: 'Tokens' })).toBeVisible();
  await expect(choice).toHaveValue('access');
});

test('shows and finds only the settings that the permissions of the user allow', async ({ page }) => {
  const token = await orchestrator.createToken('settings-viewer', ['queue.view']);
  await signInWithToken(page, orchestrator.url, token);
  const refused: string[] = [];
  page.on('response', response => {
    if ([401, 403].includes(response.status())) refused.push(response.url());
  });
  await page.goto(`${orchestrator.url}/settings`);
  await expect(topicsOf(page).getByRole('link')).toHaveText(['General', 'Queue', 'Notifications']);
  await searchOf(page).fill('tokens');
  await expect(page.getByText('No setting matches')).toBeVisible();
  await searchOf(page).fill('clean up');
  await expect(page.getByText('No setting matches')).toBeVisible();
  await page.goto(`${orchestrator.url}/settings/access`);
  await expect(page.locator('.missing')).toContainText('(admin.tokens)');
  expect(refused).toEqual([]);
});

/** Signs in with a token in another browser, and waits until its page is live. */
async function openInAnotherBrowser(browser: Browser, token: string): Promise<Page> {
  const context = await browser.newContext({
    userAgent: 'Mozilla/5.0 (Android 15; Mobile; rv:140.0) Gecko/140.0 Firefox/140.0',
  });
  const page = await context.newPage();
  await page.goto(orchestrator.url);
  await enterToken(page, token);
  await expect(page.getByText('Live', { exact: true })).toBeVisible();
  return page;
}

test('signs another browser out immediately when the user ends the session of that browser', async ({
  page,
  browser,
}) => {
  const phone = await openInAnotherBrowser(browser, orchestrator.token);
  await open(page, '/settings/access');
  const sessions = page.getByRole('region', { name: 'Signed-in browsers' });
  const current = sessions.getByRole('listitem').filter({ hasText: 'this browser' });
  await expect(current).toHaveCount(1);
  await expect(current.getByRole('button')).toHaveCount(0);
  const phoneSession = sessions.getByRole('listitem').filter({ hasText: 'Firefox 140 on Android' });
  await expect(phoneSession).toHaveText(/admin.*127\.0\.0\.1.*Signed in: .*Last used: /);
  await phoneSession.getByRole('button', { name: 'End session of admin on Firefox 140 on Android' }).click();
  await expect(phone.getByLabel('Token')).toBeVisible({ timeout: 5_000 });
  await expect(phoneSession).toHaveCount(0);
  await expect(sessions).toBeFocused();
  // The page does not contain the secret of the session.
  const [cookie] = await page.context().cookies();
  expect(await page.content()).not.toContain(cookie?.value);
});

test('shows new tokens and sessions in the settings without a reload of the page', async ({
  page,
  browser,
}) => {
  await page.clock.install();
  await open(page, '/settings/access');
  const tokens = page.getByRole('region', { name: 'Tokens', exact: true });
  const sessions = page.getByRole('region', { name: 'Signed-in browsers' });
  await expect(sessions.getByRole('listitem').filter({ hasText: 'this browser' })).toHaveCount(1);
  await orchestrator.call('POST', '/api/tokens', { name: 'nightly', permissions: ['queue.view'] });
  const phone = await openInAnotherBrowser(browser, orchestrator.token);
  await expect(tokens.getByText('nightly')).toHaveCount(0);
  await page.clock.fastForward('00:31');
  await expect(tokens.getByText('nightly')).toBeVisible();
  await expect(sessions.getByText('Firefox 140 on Android').first()).toBeVisible();
  await phone.context().close();
});

test('ends all other sessions after a confirmation, and keeps this browser signed in', async ({
  page,
  browser,
}) => {
  const otherPages = [
    await openInAnotherBrowser(browser, orchestrator.token),
    await openInAnotherBrowser(browser, orchestrator.token),
  ];
  await open(page, '/settings/access');
  await page.getByRole('button', { name: 'End all other sessions' }).click();
  const question = page.getByRole('alertdialog', { name: 'End all other sessions?' });
  await expect(question.getByRole('button', { name: 'Cancel' })).toBeFocused();
  await question.getByRole('button', { name: 'End all other sessions' }).click();
  for (const otherPage of otherPages)
    await expect(otherPage.getByLabel('Token')).toBeVisible({ timeout: 5_000 });
  const sessions = page.getByRole('region', { name: 'Signed-in browsers' });
  await expect(sessions.getByRole('listitem')).toHaveText([/this browser/]);
  await expect(page.getByText('Live', { exact: true })).toBeVisible();
});

test('shows the permissions and the last use of a token, and signs out the browsers of a revoked token', async ({
  page,
  browser,
}) => {
  const { token } = await orchestrator.call('POST', '/api/tokens', {
    name: 'leaving',
    team: 'nlp',
    permissions: ['queue.view', 'queue.cancel'],
  });
  const otherPage = await openInAnotherBrowser(browser, String(token));
  await open(page, '/settings/access');
  const row = page
    .getByRole('region', { name: 'Tokens' })
    .locator('.settings-access')
    .filter({ hasText: 'leaving' });
  await expect(row).toContainText('Team nlp');
  await expect(row.getByRole('listitem')).toHaveText(['View all jobs', 'Cancel any job']);
  await expect(row).toContainText(/Last used: (?!never).*Never expires.*Created by admin:/);
  expect(await page.content()).not.toContain(String(token));
  await row.getByRole('button', { name: 'Revoke the token of leaving' }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Revoke' }).click();
  await expect(otherPage.getByLabel('Token')).toBeVisible({ timeout: 5_000 });
  await expect(row).toHaveCount(0);
});

test('opens each setting that the search finds', async ({ page }) => {
  await open(page);
  for (const topic of ['General', 'Network', 'Queue', 'Workers', 'Pools', 'Data and backups', 'Access']) {
    await searchOf(page).fill(topic);
    const resultsOfTopic = resultsOf(page).filter({
      has: page.locator('.muted').getByText(topic, { exact: true }),
    });
    const labels = await resultsOfTopic.locator('.settings-found-name').allTextContents();
    expect(labels.length, topic).toBeGreaterThan(0);
    for (const label of labels) {
      await searchOf(page).fill(`${topic} ${label}`);
      const labelText = page.getByText(label, { exact: true });
      await resultsOfTopic.filter({ has: labelText }).first().click();
      await expect(page.locator('.settings-content :focus'), `${topic}: ${label}`).toBeVisible();
    }
  }
});
