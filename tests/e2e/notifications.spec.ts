/** Notifications in the settings: channels, rules, deliveries, and push messages to this browser. */
import { networkInterfaces } from 'node:os';

import { expect, type Page, test } from '@playwright/test';
import { createPushBrowser } from '../support/push-browser.ts';
import { openReceiver } from '../support/receiver.ts';
import { findOverflows, untilLoaded } from './in-page.ts';
import { expectAccessible, expectFits, takePicture } from './page-checks.ts';
import { type Orchestrator, signIn, signInWithToken, startOrchestrator } from './panel.ts';

test.use({ serviceWorkers: 'allow' });

let orchestrator: Orchestrator;
let receiver: Awaited<ReturnType<typeof openReceiver>>;
/** The status with which the receiver of the notifications responds. */
let receiverStatus = 204;
test.beforeEach(async () => {
  receiverStatus = 204;
  receiver = await openReceiver(() => receiverStatus);
  orchestrator = await startOrchestrator({ args: ['--notify-allow', '127.0.0.1'] });
});
test.afterEach(async () => {
  receiver.close();
  await orchestrator.close();
});

async function openSettings(page: Page): Promise<void> {
  await signIn(page, orchestrator);
  await page.goto(`${orchestrator.url}/settings/notifications`);
  await expect(page.getByRole('heading', { name: 'Notifications', exact: true })).toBeVisible();
}

async function addChannel(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name: 'Add channel' }).click();
  const dialog = page.getByRole('dialog', { name: 'Add channel' });
  await dialog.getByLabel('Name').fill(name);
  await dialog.getByLabel('URL').fill(`${receiver.url}/secret-path`);
  await dialog.getByRole('button', { name: 'Create channel' }).click();
  await expect(dialog).toHaveCount(0);
}

async function choose(page: Page, menu: string, item: string): Promise<void> {
  await page.getByRole('button', { name: menu }).click();
  await page.getByRole('menuitem', { name: item }).click();
}

test('creates, tests, renames, disables and deletes a notification channel, and never shows its secret URL again', async ({
  page,
}) => {
  await openSettings(page);
  await addChannel(page, 'team');
  await page.getByRole('button', { name: 'Send test to team' }).click();
  await expect(page.getByText('Test to team delivered: HTTP 204')).toBeVisible();
  receiverStatus = 404;
  await page.getByRole('button', { name: 'Send test to team' }).click();
  await expect(page.getByText('Test to team not delivered: HTTP 404')).toBeVisible();
  expect(receiver.received.map(({ path }) => path)).toEqual(['/secret-path', '/secret-path']);

  await choose(page, 'Actions for channel team', 'Edit');
  const dialog = page.getByRole('dialog', { name: 'Edit channel team' });
  await expect(dialog.getByLabel('URL')).toHaveCount(0);
  await dialog.getByLabel('Name').fill('crew');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await choose(page, 'Actions for channel crew', 'Disable');
  await expect(page.getByText('Disabled')).toBeVisible();
  await page.reload();
  await expect(page.getByText('crew', { exact: true })).toBeVisible();
  expect(await page.content()).not.toContain('secret-path');

  await choose(page, 'Actions for channel crew', 'Delete');
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click();
  await expect(page.getByText('No channel yet.')).toBeVisible();
});

test('shows how to allow a private address that the server refuses, and the fields of each channel type', async ({
  page,
}) => {
  await openSettings(page);
  await page.getByRole('button', { name: 'Add channel' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('inside');
  await dialog.getByLabel('URL').fill('https://10.0.0.1/');
  await dialog.getByRole('button', { name: 'Create channel' }).click();
  await expect(dialog.getByRole('alert')).toContainText('--notify-allow 10.0.0.1');
  await dialog.getByLabel('Type', { exact: true }).selectOption('E-mail');
  await expect(dialog.getByLabel('Port')).toHaveValue('465');
  await dialog.getByLabel('Type', { exact: true }).selectOption('Webhook');
  await expect(dialog.getByRole('textbox', { name: 'Signing secret' })).toHaveValue(/^[\w-]{43}$/);
});

test('notifies only about jobs with the tag that the rule names, and lists each delivery with its result', async ({
  page,
}) => {
  await openSettings(page);
  await addChannel(page, 'team');
  await page.getByRole('button', { name: 'Add rule' }).click();
  const dialog = page.getByRole('dialog', { name: 'Add rule' });
  for (const event of ['Job completed', 'Job failed']) await dialog.getByLabel(event).uncheck();
  await expect(dialog.getByRole('button', { name: 'Create rule' })).toBeDisabled();
  await dialog.getByLabel('Job needs approval').check();
  await dialog.getByLabel('No progress').check();
  await dialog.getByLabel('Minutes without a new step').fill('5');
  await dialog.getByLabel('Only jobs with this tag').fill('faces');
  await dialog.getByRole('button', { name: 'Create rule' }).click();
  await expect(page.getByText('Tag faces · After 5 minutes without a step')).toBeVisible();

  receiverStatus = 503;
  const job = { config: {}, requires_approval: true };
  await orchestrator.submit({ ...job, config_name: 'without-tag' });
  const id = await orchestrator.submit({ ...job, config_name: 'with-tag', tags: ['faces'] });
  await receiver.until(received => received.length === 1);
  const refresh = page.getByRole('button', { name: 'Refresh' });
  const link = page.getByRole('link', { name: 'with-tag needs approval' });
  await expect(async () => {
    await refresh.click();
    await expect(page.getByText(/\d tr(?:y|ies) · HTTP 503 · Next try/)).toBeVisible({ timeout: 500 });
  }).toPass();
  receiverStatus = 204;
  await page.getByLabel('Show').selectOption('Delivered');
  await expect(async () => {
    await refresh.click();
    await expect(page.getByText(/\d tries · HTTP 204/)).toBeVisible({ timeout: 500 });
  }).toPass();
  await expect(page.getByText('without-tag')).toHaveCount(0);
  await expect(link).toHaveAttribute('href', `/jobs/${id}`);

  await choose(page, 'Actions for the rule of team', 'Edit');
  const edit = page.getByRole('dialog', { name: 'Edit rule' });
  await edit.getByLabel('Only jobs of this user').fill('ana');
  await edit.getByLabel('Only jobs with this tag').fill('');
  await edit.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByText('Jobs of ana · After 5 minutes without a step')).toBeVisible();
  await choose(page, 'Actions for the rule of team', 'Disable');
  await expect(page.getByText('Disabled', { exact: true })).toBeVisible();
  await choose(page, 'Actions for the rule of team', 'Delete');
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click();
  await expect(page.getByText('No rule yet.')).toBeVisible();
});

/**
 * Replaces the browser's push service, which needs the internet, with the receiver of this file. The service worker, the API
 * calls, the server and the encryption of the messages are real.
 */
async function replacePushService(page: Page, keys: object): Promise<void> {
  await page.context().grantPermissions(['notifications'], { origin: orchestrator.url });
  const endpoint = `${receiver.url}/push`;
  await page.addInitScript(`{
    const json = ${JSON.stringify({ endpoint, keys })};
    const key = 'fake-push-service';
    const options = { applicationServerKey: null };
    const unsubscribe = async () => (localStorage.removeItem(key), true);
    const subscription = { ...json, options, toJSON: () => json, unsubscribe };
    PushManager.prototype.getSubscription = async () => localStorage.getItem(key) === null ? null : subscription;
    PushManager.prototype.subscribe = async ({ applicationServerKey }) => {
      if (applicationServerKey.length !== 65) throw new Error('not a key');
      localStorage.setItem(key, 'yes');
      return subscription;
    };
    Object.defineProperty(Notification, 'permission', { get: () => 'granted' });
  }`);
}

test('turns push messages on and off, sends a test message, and unsubscribes the browser at sign-out', async ({
  page,
}) => {
  const browser = await createPushBrowser();
  await replacePushService(page, browser.keys);
  await openSettings(page);
  const card = page.getByRole('region', { name: 'Push messages in this browser' });
  await card.getByLabel('Job failed').uncheck();
  await card.getByRole('button', { name: 'Turn on push messages' }).click();
  await expect(card.getByText('This browser gets push messages.')).toBeVisible();
  await card.getByRole('button', { name: 'Send test' }).click();
  await expect(card.getByText('delivered: HTTP 204')).toBeVisible();
  const [request] = receiver.received;
  expect(await browser.read(request?.body ?? Buffer.alloc(0))).toMatchObject({
    title: 'Test notification',
    page: '/settings/notifications',
  });
  // The list of channels shows the user of the subscription, but not the subscription's address.
  await page.reload();
  await expect(page.getByText(/^admin: .+ on Linux/).first()).toBeVisible();
  await expect(card.getByLabel('Job failed')).not.toBeChecked();

  await card.getByRole('button', { name: 'Turn off' }).click();
  await expect(card.getByRole('button', { name: 'Turn on push messages' })).toBeVisible();
  await card.getByRole('button', { name: 'Turn on push messages' }).click();
  await expect(card.getByText('This browser gets push messages.')).toBeVisible();
  await page.getByRole('navigation', { name: 'Topics' }).getByRole('link', { name: 'General' }).click();
  await page.getByRole('button', { name: 'Sign out' }).first().click();
  await expect(page.getByLabel('Token')).toBeVisible();
  expect(await page.evaluate(() => localStorage.getItem('fake-push-service'))).toBeNull();
});

test('offers push messages, but no channels, to users who may view only their own jobs', async ({ page }) => {
  await page.context().grantPermissions(['notifications'], { origin: orchestrator.url });
  const token = await orchestrator.createToken('ana', ['queue.view.own']);
  await signInWithToken(page, orchestrator.url, token);
  await page.goto(`${orchestrator.url}/settings/notifications`);
  const card = page.getByRole('region', { name: 'Push messages in this browser' });
  await expect(card).toBeVisible();
  await expect(card.getByText('Worker lost')).toHaveCount(0);
  await expect(page.getByRole('heading', { name: 'Notifications', exact: true })).toHaveCount(0);
});

test('explains that push messages need HTTPS on a page that another machine serves over HTTP', async ({
  page,
}) => {
  const addresses = Object.values(networkInterfaces()).flatMap(addressesOfCard => addressesOfCard ?? []);
  const networkAddress = addresses.find(({ family, internal }) => family === 'IPv4' && !internal);
  test.skip(networkAddress === undefined, 'this machine has no address in a network');
  const shared = await startOrchestrator({ args: ['--host', '0.0.0.0'] });
  try {
    const address = new URL(shared.url);
    address.hostname = String(networkAddress?.address);
    const url = address.origin;
    await signIn(page, { ...shared, url });
    await page.goto(`${url}/settings/notifications`);
    await expect(page.getByRole('note').filter({ hasText: 'Push messages need HTTPS' })).toBeVisible();
    await expect(page.getByRole('button', { name: 'Turn on push messages' })).toHaveCount(0);
  } finally {
    await shared.close();
  }
});

for (const colorScheme of ['light', 'dark'] as const)
  test(`shows accessible notification settings that fit 390, 1280 and 1440 px in the ${colorScheme} theme`, async ({
    page,
  }) => {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    const browser = await createPushBrowser();
    await replacePushService(page, browser.keys);
    await openSettings(page);
    await addChannel(page, 'a channel with a long name for the whole team');
    const { channels } = (await orchestrator.call('GET', '/api/admin/notifications/channels')) as {
      channels: readonly { readonly channel_id: string }[];
    };
    await orchestrator.call('POST', '/api/admin/notifications/rules', {
      channel_id: channels[0]?.channel_id,
      events: ['job_completed', 'job_failed', 'approval_needed', 'worker_lost', 'no_progress'],
      user: 'ana',
      tag: 'faces',
    });
    await orchestrator.submit({
      config: {},
      config_name: 'flux-lora',
      requires_approval: true,
      tags: ['faces'],
    });
    await page.reload();
    for (const width of [390, 1280, 1440]) {
      await page.setViewportSize({ width, height: 900 });
      await untilLoaded(page);
      await page.getByRole('heading', { name: 'Push messages in this browser' }).scrollIntoViewIfNeeded();
      await expectFits(page);
      await expectAccessible(page);
      await takePicture(page, `notifications-${width}-${colorScheme}`, { fullPage: true });
    }
    await page.setViewportSize({ width: 390, height: 900 });
    await page.getByRole('button', { name: 'Add channel' }).click();
    await page.getByRole('dialog').getByLabel('Type', { exact: true }).selectOption('E-mail');
    await takePicture(page, `notifications-form-${colorScheme}`);
    expect(await findOverflows(page)).toEqual([]);
    await expectAccessible(page);
  });
