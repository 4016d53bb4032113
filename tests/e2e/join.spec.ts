/** Joins machines over plain HTTP and TLS with real shells, and opens the panel on a phone with a QR code. */
import { AxeBuilder } from '@axe-core/playwright';
import { expect, type Locator, type Page, test } from '@playwright/test';
import readQrCode from 'jsqr';
import type { Permission } from '../../protocol/call.ts';
import { openJoinDialog, type Orchestrator, startOrchestrator } from './panel.ts';

test.use({ ignoreHTTPSErrors: true });

/** 127.0.0.2 stands for an address in a network. */
const networkUrl = ({ url }: Orchestrator): string => url.replace('http://127.0.0.1', 'https://127.0.0.2');

let secure: Orchestrator;
let plain: Orchestrator;
/** A server with a name that a phone can open. No such machine exists, so the tests open 127.0.0.2 instead. */
let named: Orchestrator;
const nameOf = ({ url }: Orchestrator): string => url.replace('http://127.0.0.1', 'https://yard.example.org');
test.beforeAll(async () => {
  secure = await startOrchestrator({ args: ['--host', '127.0.0.2', '--ssl'] });
  plain = await startOrchestrator({ args: ['--host', '127.0.0.2'] });
  named = await startOrchestrator({ args: ['--host', '127.0.0.2', '--ssl'] });
  await named.call('PATCH', '/api/settings', { public_url: nameOf(named) });
});
test.afterAll(async () => {
  await secure.close();
  await plain.close();
  await named.close();
});

async function signInAt(page: Page, url: string, orchestrator: Orchestrator): Promise<void> {
  await page.goto(url + (await orchestrator.signInPath()));
  await expect(page.getByRole('navigation')).toBeVisible();
}

async function create(page: Page, url: string, name: string): Promise<Locator> {
  await page.goto(`${url}/workers`);
  const dialog = await openJoinDialog(page);
  await dialog.getByLabel('Name', { exact: true }).fill(name);
  await dialog.getByRole('button', { name: 'Create and show command' }).click();
  return dialog;
}

async function commandOf(dialog: Locator): Promise<string> {
  await dialog.getByRole('button', { name: 'Show', exact: true }).first().click();
  const command = dialog.locator('pre').first();
  await expect(command).toContainText('tj_');
  return (await command.textContent()) ?? '';
}

/** Decodes the QR code in a picture of the page, as a camera sees it. */
async function scan(page: Page, code: Locator): Promise<string> {
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

test('says what the command does, and joins over TLS with a command of one line', async ({ page }) => {
  const url = networkUrl(secure);
  await signInAt(page, url, secure);
  const dialog = await create(page, url, 'rig-tls');
  const effects = dialog.locator('.worker-effects li');
  await expect(effects).toHaveText([
    /^Downloads the worker from 127\.0\.0\.2:\d+: 1\d\d MB for Linux x64/,
    'Verifies the server by the key in the command, and the worker by its SHA-256.',
    'Installs the worker in ~/.local/bin. Needs no root.',
    'Starts the worker in this terminal. Ctrl+C stops it.',
  ]);
  const command = await commandOf(dialog);
  expect(command).toMatch(
    /^curl -fsSk --pinnedpubkey sha256\/\/[\w+/]{43}= https:\/\/127\.0\.0\.2:\d+\/join \| JOIN_TOKEN=tj_[\w-]{43} sh -s -- --name rig-tls --persistent$/,
  );
  const leave = secure.paste(command, 'rig-tls');
  await expect(dialog.getByText(/^Connected/)).toBeVisible({ timeout: 30_000 });
  await leave();
});

test('installs nothing when the server has another key', async ({ page }) => {
  const url = networkUrl(secure);
  await signInAt(page, url, secure);
  const dialog = await create(page, url, 'rig-wrong');
  const command = await commandOf(dialog);
  const wrong = command.replace(/sha256\/\/[\w+/]{43}=/, `sha256//${'A'.repeat(43)}=`);
  expect(wrong).not.toBe(command);
  await secure
    .paste(`${wrong}; test ! -e "$HOME/.local"`, 'rig-wrong')
    .exited.then(code => expect(code).toBe(0));
  await expect(dialog.locator('[data-phase="listening"]')).toBeVisible();
  // The token was not used, so the right command still works.
  const leave = secure.paste(command, 'rig-wrong');
  await expect(dialog.getByText(/^Connected/)).toBeVisible({ timeout: 30_000 });
  await leave();
});

test('joins over plain HTTP with a command that verifies the script', async ({ page }) => {
  await signInAt(page, plain.url, plain);
  const dialog = await create(page, plain.url, 'rig-http');
  await expect(dialog.locator('.worker-effects')).toContainText('The connection is not encrypted');
  const command = await commandOf(dialog);
  expect(command).toMatch(/ in [0-9a-f]{64}\*\) /);
  const leave = plain.paste(command, 'rig-http');
  await expect(dialog.getByText(/^Connected/)).toBeVisible({ timeout: 30_000 });
  await leave();
});

for (const theme of ['light', 'dark'] as const)
  test(`opens the panel on a phone with a QR code that works once: ${theme}`, async ({ browser }) => {
    const url = networkUrl(named);
    const context = await browser.newContext({ colorScheme: theme, ignoreHTTPSErrors: true });
    const page = await context.newPage();
    await signInAt(page, url, named);
    await page.goto(`${url}/settings/general#settings-phone`);
    const section = page.getByRole('region', { name: 'Open on a phone' });
    await expect(section).toBeFocused();
    await expect(section.getByRole('img')).toHaveCount(0);
    await section.getByRole('button', { name: 'Show QR code' }).click();
    const { host } = new URL(nameOf(named));
    const code = section.getByRole('img', { name: `QR code with a sign-in link for ${host}` });
    await expect(code).toBeVisible();
    await expect(section).toContainText(/Works once, until \d.*signs the phone in as admin/);
    await expect(section.getByText(/^([\dA-F]{2}:){31}[\dA-F]{2}$/)).toBeVisible();
    expect((await new AxeBuilder({ page }).include('.phone').analyze()).violations).toEqual([]);
    const link = await scan(page, code);
    expect(link).toMatch(/^https:\/\/yard\.example\.org:\d+\/#sign-in=[\w-]{32}$/);
    const reachable = link.replace('yard.example.org', '127.0.0.2');

    const phone = await browser.newContext({
      viewport: { width: 390, height: 800 },
      ignoreHTTPSErrors: true,
    });
    const onPhone = await phone.newPage();
    await onPhone.goto(reachable);
    await expect(onPhone.getByRole('navigation')).toBeVisible();
    const other = await browser.newContext({ ignoreHTTPSErrors: true });
    const again = await other.newPage();
    await again.goto(reachable);
    await expect(again.getByRole('alert')).toContainText('already used');
    await Promise.all([context, phone, other].map(each => each.close()));
  });

test('offers the QR code beside the join command, and replaces an expired one', async ({ page }) => {
  const url = networkUrl(named);
  await page.clock.install();
  await signInAt(page, url, named);
  const dialog = await create(page, url, 'rig-phone');
  await dialog.getByText('Open this panel on a phone').click();
  await dialog.getByRole('button', { name: 'Show QR code' }).click();
  const code = dialog.getByRole('img', { name: /^QR code/ });
  const before = await scan(page, code);
  await page.clock.fastForward('10:01');
  await expect(code).toHaveCount(0);
  await expect(dialog.getByText(/^Expired at \d/)).toBeVisible();
  await dialog.getByRole('button', { name: 'New QR code' }).click();
  expect(await scan(page, code)).not.toBe(before);
});

test('shows users who may not create sign-in links a QR code with the address only', async ({ page }) => {
  const url = networkUrl(named);
  const permissions: readonly Permission[] = ['queue.view', 'admin.workers'];
  const { token } = await named.call('POST', '/api/tokens', { name: 'phone-viewer', permissions });
  await page.goto(url);
  await page.getByLabel('Token').fill(String(token));
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page.getByRole('navigation')).toBeVisible();
  await page.goto(`${url}/settings`);
  const code = page.getByRole('img', { name: `QR code with the address ${nameOf(named)}` });
  expect(await scan(page, code)).toBe(nameOf(named));
  await expect(page.getByText('The phone then asks for a token. Paste one of yours.')).toBeVisible();
});

test('explains why no phone can open a server that is not shared', async ({ page }) => {
  const alone = await startOrchestrator();
  try {
    await signInAt(page, alone.url, alone);
    await page.goto(`${alone.url}/settings`);
    const section = page.getByRole('region', { name: 'Open on a phone' });
    await expect(section).toContainText('No other device can reach this server yet.');
    await section.getByRole('link', { name: 'Open the network settings' }).click();
    await expect(page.getByRole('region', { name: 'Network' })).toBeVisible();
  } finally {
    await alone.close();
  }
});
