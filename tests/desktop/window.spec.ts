/** The window of the app: its content, its position, and what closing it does. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from '@playwright/test';
import { showElsewhere, test } from '../support/desktop/driver.ts';

test('shows the orchestrator that already runs on the data folder, without signing in', async ({
  beside,
  start,
}) => {
  const { page } = await start({ dataDir: beside.dataDir });
  await expect(page.getByRole('navigation')).toBeVisible();
  await expect(page.getByText('Live')).toBeVisible();
  await expect(page.getByRole('link', { name: /admin/ })).toBeVisible();
  expect(new URL(page.url()).origin).toBe(beside.url);
  await page.screenshot({ path: test.info().outputPath('window.png') });
});

/** Script that returns everything that a script in the page can read. */
const inReach = `(async () => JSON.stringify([
  document.cookie, document.documentElement.outerHTML, location.href, { ...localStorage }, { ...sessionStorage },
  Object.keys(desktop), await desktop.view(), performance.getEntries(),
]))()`;

test('exposes no token to the page', async ({ beside, dataDir, start }) => {
  showElsewhere(dataDir, beside);
  for (const folder of [beside.dataDir, dataDir]) {
    const { page } = await start({ dataDir: folder });
    await expect(page.getByText('Live')).toBeVisible();
    const seen = String(await page.evaluate(inReach));
    expect(seen).toContain('/api/session');
    expect(seen).not.toContain(beside.token);
    expect(seen).not.toMatch(/bearer/i);
  }
});

test('shows the panel of a remote orchestrator, and sends actions there', async ({
  beside,
  dataDir,
  start,
}) => {
  showElsewhere(dataDir, beside);
  const { page } = await start({ dataDir });
  await expect(page.getByText('Live')).toBeVisible();
  const { origin } = new URL(page.url());
  expect(origin).not.toBe(beside.url);
  expect(origin).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  await beside.call('POST', '/api/admin/workers', { name: 'rig-far' });
  await page.getByRole('link', { name: 'Workers', exact: true }).click();
  await expect(page.getByText('rig-far')).toBeVisible();
  // The action is sent to that orchestrator with the token of that fleet.
  expect(await page.evaluate(pause)).toBe(200);
  await expect.poll(async () => (await beside.call('GET', '/api/queue/status'))['paused']).not.toBeNull();
  // Other programs on this computer cannot use the address of the page.
  expect((await fetch(`${origin}/api/queue`)).status).toBe(401);
});

const pause = `fetch('/api/queue/pause', {
  method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}',
}).then(({ status }) => status)`;

test('reloads its page at the same address after the renderer process crashed', { tag: '@real' }, async ({
  beside,
  start,
}) => {
  const { page, electron } = await start({ dataDir: beside.dataDir });
  await page.getByRole('link', { name: 'Jobs', exact: true }).click();
  await expect(page).toHaveURL(/\/jobs$/);
  const processOf = () =>
    electron?.evaluate(({ BrowserWindow }) => {
      const contents = BrowserWindow.getAllWindows()[0]?.webContents;
      const isThere = contents !== undefined && !contents.isCrashed() && !contents.isLoading();
      return isThere ? contents.getOSProcessId() : 0;
    });
  const before = await processOf();
  await electron?.evaluate(({ BrowserWindow }) =>
    BrowserWindow.getAllWindows()[0]?.webContents.forcefullyCrashRenderer(),
  );
  await expect.poll(async () => ![0, before].includes(await processOf()), { timeout: 20_000 }).toBe(true);
  const shown = () =>
    electron?.evaluate(({ BrowserWindow }) =>
      BrowserWindow.getAllWindows()[0]?.webContents.executeJavaScript(
        "location.pathname + ' ' + document.querySelector('[role=status]')?.textContent",
      ),
    );
  await expect.poll(shown).toBe('/jobs Live');
});

test('restores the position of the window', { tag: '@real' }, async ({ beside, start }) => {
  const place = { x: 140, y: 90, width: 900, height: 640 };
  const first = await start({ dataDir: beside.dataDir });
  await first.electron?.evaluate(({ BrowserWindow }, bounds) => {
    BrowserWindow.getAllWindows()[0]?.setBounds(bounds);
  }, place);
  first.kill('SIGTERM');
  expect(await first.exited).toBe(0);
  const kept = JSON.parse(readFileSync(join(beside.dataDir, 'desktop/desktop.json'), 'utf8')) as Record<
    string,
    unknown
  >;
  expect(kept['window']).toMatchObject({ bounds: place });
  const second = await start({ dataDir: beside.dataDir });
  expect(
    await second.electron?.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.getBounds()),
  ).toEqual(place);
});

test('hides the window when it is closed, and keeps running', { tag: '@real' }, async ({ beside, start }) => {
  const { electron, page } = await start({ dataDir: beside.dataDir });
  await expect(page.getByText('Live')).toBeVisible();
  const isVisible = () =>
    electron?.evaluate(({ BrowserWindow }) =>
      BrowserWindow.getAllWindows().map(window => window.isVisible()),
    );
  await expect.poll(isVisible).toEqual([true]);
  await electron?.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.close());
  await expect.poll(isVisible).toEqual([false]);
  await electron?.evaluate(({ app }) => app.emit('activate'));
  await expect.poll(isVisible).toEqual([true]);
});

test('shows no window when the app starts with the session', { tag: '@real' }, async ({ beside, start }) => {
  const { electron, page } = await start({ dataDir: beside.dataDir, args: ['--hidden'] });
  await expect(page.getByText('Live')).toBeVisible();
  expect(
    await electron?.evaluate(({ BrowserWindow }) =>
      BrowserWindow.getAllWindows().map(window => window.isVisible()),
    ),
  ).toEqual([false]);
});
