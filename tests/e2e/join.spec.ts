/** Joins machines over plain HTTP and TLS with real shells, and opens the panel on a phone with a QR code. */

import { expect, type Locator, type Page, test } from '@playwright/test';
import readQrCode from 'jsqr';
import { expectAccessible } from './page-checks.ts';
import { openJoinDialog, type Orchestrator, signIn, signInWithToken, startOrchestrator } from './panel.ts';

test.use({ ignoreHTTPSErrors: true });

/** Returns the URL at which other machines reach a server. 127.0.0.2 stands for the server's address in the network. */
const networkUrl = ({ url }: Orchestrator): string => url.replace('http://127.0.0.1', 'https://127.0.0.2');
const publicUrlOf = ({ url }: Orchestrator): string =>
  url.replace('http://127.0.0.1', 'https://yard.example.org');

let secure: Orchestrator;
let plain: Orchestrator;
/** A server with a public URL for phones. The host of that URL does not exist, so the tests open 127.0.0.2 instead. */
let published: Orchestrator;
test.beforeAll(async () => {
  secure = await startOrchestrator({ args: ['--host', '127.0.0.2', '--ssl'] });
  plain = await startOrchestrator({ args: ['--host', '127.0.0.2'] });
  published = await startOrchestrator({ args: ['--host', '127.0.0.2', '--ssl'] });
  await published.call('PATCH', '/api/settings', { public_url: publicUrlOf(published) });
});
test.afterAll(async () => {
  await secure.close();
  await plain.close();
  await published.close();
});

const signInAt = (page: Page, url: string, orchestrator: Orchestrator): Promise<void> =>
  signIn(page, { ...orchestrator, url });

/** Creates a worker, and returns the dialog with its join command. */
async function createWorker(page: Page, url: string, name: string): Promise<Locator> {
  await page.goto(`${url}/workers`);
  const dialog = await openJoinDialog(page);
  await dialog.getByLabel('Name', { exact: true }).fill(name);
  await dialog.getByRole('button', { name: 'Create and show command' }).click();
  return dialog;
}

/** Shows the join token in the command, and returns the command. */
async function showCommand(dialog: Locator): Promise<string> {
  await dialog.getByRole('button', { name: 'Show', exact: true }).first().click();
  const command = dialog.locator('pre').first();
  await expect(command).toContainText('tj_');
  return (await command.textContent()) ?? '';
}

/** Decodes the QR code in a picture of the page, as a phone with a camera does. */
async function scanCode(page: Page, code: Locator): Promise<string> {
  const picture = (await code.screenshot()).toString('base64');
  const { width, height, pixels } = await page.evaluate<{
    readonly width: number;
    readonly height: number;
    readonly pixels: readonly number[];
  }>(`(async () => {
    const bytes = Uint8Array.from(atob(${JSON.stringify(picture)}), letter => letter.charCodeAt(0));
    const bitmap = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
    const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
    const context = canvas.getContext('2d');
    context.drawImage(bitmap, 0, 0);
    const { width, height, data } = context.getImageData(0, 0, bitmap.width, bitmap.height);
    return { width, height, pixels: [...data] };
  })()`);
  return readQrCode(Uint8ClampedArray.from(pixels), width, height)?.data ?? 'no QR code';
}

test('describes the effects of the join command, and connects a worker over TLS with that command', async ({
  page,
}) => {
  const url = networkUrl(secure);
  await signInAt(page, url, secure);
  const dialog = await createWorker(page, url, 'rig-tls');
  const effects = dialog.locator('.worker-effects li');
  await expect(effects).toHaveText([
    /^Downloads the worker from 127\.0\.0\.2:\d+: 1\d\d MB for Linux x64/,
    'Verifies the server by the key in the command, and the worker by its SHA-256.',
    'Installs the worker in ~/.local/bin. Needs no root.',
    'Starts the worker in this terminal. Ctrl+C stops it.',
  ]);
  const command = await showCommand(dialog);
  expect(command).toMatch(
    /^curl -fsSk --pinnedpubkey sha256\/\/[\w+/]{43}= https:\/\/127\.0\.0\.2:\d+\/join \| JOIN_TOKEN=tj_[\w-]{43} sh -s -- --name rig-tls --persistent$/,
  );
  const terminal = secure.paste(command, 'rig-tls');
  await expect(dialog.getByText(/^Connected/)).toBeVisible({ timeout: 30_000 });
  await terminal.interrupt();
});

test("installs no worker when the server's key differs from the key in the join command", async ({
  page,
}) => {
  const url = networkUrl(secure);
  await signInAt(page, url, secure);
  const dialog = await createWorker(page, url, 'rig-wrong');
  const command = await showCommand(dialog);
  const wrongCommand = command.replace(/sha256\/\/[\w+/]{43}=/, `sha256//${'A'.repeat(43)}=`);
  expect(wrongCommand).not.toBe(command);
  const failed = secure.paste(`${wrongCommand}; test ! -e "$HOME/.local"`, 'rig-wrong');
  expect(await failed.exited).toBe(0);
  await expect(dialog.locator('[data-phase="listening"]')).toBeVisible();
  // The join token was not used, so the right command still works.
  const terminal = secure.paste(command, 'rig-wrong');
  await expect(dialog.getByText(/^Connected/)).toBeVisible({ timeout: 30_000 });
  await terminal.interrupt();
});

test('connects a worker over plain HTTP with a join command that verifies the downloaded script', async ({
  page,
}) => {
  await signInAt(page, plain.url, plain);
  const dialog = await createWorker(page, plain.url, 'rig-http');
  await expect(dialog.locator('.worker-effects')).toContainText('The connection is not encrypted');
  const command = await showCommand(dialog);
  expect(command).toMatch(/ in [0-9a-f]{64}\*\) /);
  const terminal = plain.paste(command, 'rig-http');
  await expect(dialog.getByText(/^Connected/)).toBeVisible({ timeout: 30_000 });
  await terminal.interrupt();
});

for (const theme of ['light', 'dark'] as const)
  test(`opens the panel on a phone with a QR code that works once, in the ${theme} theme`, async ({
    browser,
  }) => {
    const url = networkUrl(published);
    const context = await browser.newContext({ colorScheme: theme, ignoreHTTPSErrors: true });
    const page = await context.newPage();
    await signInAt(page, url, published);
    await page.goto(`${url}/settings/general#settings-phone`);
    const section = page.getByRole('region', { name: 'Open on a phone' });
    await expect(section).toBeFocused();
    await expect(section.getByRole('img')).toHaveCount(0);
    await section.getByRole('button', { name: 'Show QR code' }).click();
    const { host } = new URL(publicUrlOf(published));
    const code = section.getByRole('img', { name: `QR code with a sign-in link for ${host}` });
    await expect(code).toBeVisible();
    await expect(section).toContainText(/Works once, until \d.*signs the phone in as admin/);
    await expect(section.getByText(/^([\dA-F]{2}:){31}[\dA-F]{2}$/)).toBeVisible();
    await expectAccessible(page, '.phone');
    const link = await scanCode(page, code);
    expect(link).toMatch(/^https:\/\/yard\.example\.org:\d+\/#sign-in=[\w-]{32}$/);
    const reachableLink = link.replace('yard.example.org', '127.0.0.2');

    const phone = await browser.newContext({
      viewport: { width: 390, height: 800 },
      ignoreHTTPSErrors: true,
    });
    const phonePage = await phone.newPage();
    await phonePage.goto(reachableLink);
    await expect(phonePage.getByRole('navigation')).toBeVisible();
    const secondPhone = await browser.newContext({ ignoreHTTPSErrors: true });
    const secondPage = await secondPhone.newPage();
    await secondPage.goto(reachableLink);
    await expect(secondPage.getByRole('alert')).toContainText('already used');
    await Promise.all([context.close(), phone.close(), secondPhone.close()]);
  });

test('offers a QR code beside the join command, and replaces an expired QR code', async ({ page }) => {
  const url = networkUrl(published);
  await page.clock.install();
  await signInAt(page, url, published);
  const dialog = await createWorker(page, url, 'rig-phone');
  await dialog.getByText('Open this panel on a phone').click();
  await dialog.getByRole('button', { name: 'Show QR code' }).click();
  const code = dialog.getByRole('img', { name: /^QR code/ });
  const before = await scanCode(page, code);
  await page.clock.fastForward('10:01');
  await expect(code).toHaveCount(0);
  await expect(dialog.getByText(/^Expired at \d/)).toBeVisible();
  await dialog.getByRole('button', { name: 'New QR code' }).click();
  expect(await scanCode(page, code)).not.toBe(before);
});

test("shows a QR code with only the server's URL to users who may not create sign-in links", async ({
  page,
}) => {
  const url = networkUrl(published);
  const token = await published.createToken('phone-viewer', ['queue.view', 'admin.workers']);
  await signInWithToken(page, url, token);
  await page.goto(`${url}/settings`);
  const code = page.getByRole('img', { name: `QR code with the address ${publicUrlOf(published)}` });
  expect(await scanCode(page, code)).toBe(publicUrlOf(published));
  await expect(page.getByText('The phone then asks for a token. Paste one of yours.')).toBeVisible();
});

test('explains why no phone can open a server that is not shared', async ({ page }) => {
  const local = await startOrchestrator();
  try {
    await signIn(page, local);
    await page.goto(`${local.url}/settings`);
    const section = page.getByRole('region', { name: 'Open on a phone' });
    await expect(section).toContainText('No other device can reach this server yet.');
    await section.getByRole('link', { name: 'Open the network settings' }).click();
    await expect(page.getByRole('region', { name: 'Network' })).toBeVisible();
  } finally {
    await local.close();
  }
});
