/** The window of the app: its content, its position, and closing the window. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from '@playwright/test';
import { useRemoteOrchestrator, test } from '../support/desktop/driver.ts';

test('shows the orchestrator that already runs on the data folder, without a sign-in', async ({
  orchestrator,
  start,
}) => {
  const { page } = await start({ dataDir: orchestrator.dataDir });
  await expect(page.getByRole('navigation')).toBeVisible();
  await expect(page.getByText('Live')).toBeVisible();
  await expect(page.getByRole('link', { name: /admin/ })).toBeVisible();
  expect(new URL(page.url()).origin).toBe(orchestrator.url);
  await page.screenshot({ path: test.info().outputPath('window.png') });
});

/** Expression that collects everything that a script of the page can read. */
const readablePageData = `(async () => JSON.stringify([
  document.cookie, document.documentElement.outerHTML, location.href, { ...localStorage }, { ...sessionStorage },
  Object.keys(desktop), await desktop.view(), performance.getEntries(),
]))()`;

test('exposes no token to the page, for a local and a remote orchestrator', async ({
  orchestrator,
  dataDir,
  start,
}) => {
  useRemoteOrchestrator(dataDir, orchestrator);
  for (const folder of [orchestrator.dataDir, dataDir]) {
    const { page } = await start({ dataDir: folder });
    await expect(page.getByText('Live')).toBeVisible();
    const pageData = String(await page.evaluate(readablePageData));
    // The list of loaded resources is part of the data.
    expect(pageData).toContain('/api/session');
    expect(pageData).not.toContain(orchestrator.token);
    expect(pageData).not.toMatch(/bearer/i);
  }
});

test('shows the panel of a remote orchestrator, and sends actions to that orchestrator', async ({
  orchestrator,
  dataDir,
  start,
}) => {
  useRemoteOrchestrator(dataDir, orchestrator);
  const { page } = await start({ dataDir });
  await expect(page.getByText('Live')).toBeVisible();
  const { origin } = new URL(page.url());
  expect(origin).not.toBe(orchestrator.url);
  expect(origin).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  await orchestrator.createWorker({ name: 'rig-remote' });
  await page.getByRole('link', { name: 'Workers', exact: true }).click();
  await expect(page.getByText('rig-remote')).toBeVisible();
  // The app sends the action to the remote orchestrator, with the token of that fleet.
  expect(await page.evaluate(pauseQueue)).toBe(200);
  await expect
    .poll(async () => (await orchestrator.call('GET', '/api/queue/status'))['paused'])
    .not.toBeNull();
  // Other programs on this computer cannot use the address of the page.
  expect((await fetch(`${origin}/api/queue`)).status).toBe(401);
});

/** Expression in the page that pauses the queue and returns the status of the response. */
const pauseQueue = `fetch('/api/queue/pause', {
  method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}',
}).then(({ status }) => status)`;

test('reloads the page at the same URL after the renderer process crashed', { tag: '@real' }, async ({
  orchestrator,
  start,
}) => {
  const { page, electron } = await start({ dataDir: orchestrator.dataDir });
  await page.getByRole('link', { name: 'Jobs', exact: true }).click();
  await expect(page).toHaveURL(/\/jobs$/);
  /** Returns the id of the renderer process; 0 while none shows a page. */
  const rendererPid = () =>
    electron?.evaluate(({ BrowserWindow }) => {
      const contents = BrowserWindow.getAllWindows()[0]?.webContents;
      const isLoaded = contents !== undefined && !contents.isCrashed() && !contents.isLoading();
      return isLoaded ? contents.getOSProcessId() : 0;
    });
  const crashedPid = await rendererPid();
  await electron?.evaluate(({ BrowserWindow }) =>
    BrowserWindow.getAllWindows()[0]?.webContents.forcefullyCrashRenderer(),
  );
  await expect
    .poll(async () => ![0, crashedPid].includes(await rendererPid()), { timeout: 20_000 })
    .toBe(true);
  const pathAndStatus = () =>
    electron?.evaluate(({ BrowserWindow }) =>
      BrowserWindow.getAllWindows()[0]?.webContents.executeJavaScript(
        "location.pathname + ' ' + document.querySelector('[role=status]')?.textContent",
      ),
    );
  await expect.poll(pathAndStatus).toBe('/jobs Live');
});

test('restores the position and size of the window after a restart', { tag: '@real' }, async ({
  orchestrator,
  start,
}) => {
  const bounds = { x: 140, y: 90, width: 900, height: 640 };
  const first = await start({ dataDir: orchestrator.dataDir });
  await first.electron?.evaluate(({ BrowserWindow }, newBounds) => {
    BrowserWindow.getAllWindows()[0]?.setBounds(newBounds);
  }, bounds);
  first.kill('SIGTERM');
  expect(await first.exited).toBe(0);
  const settings = readFileSync(join(orchestrator.dataDir, 'desktop/desktop.json'), 'utf8');
  expect(JSON.parse(settings)).toMatchObject({ window: { bounds } });
  const second = await start({ dataDir: orchestrator.dataDir });
  expect(
    await second.electron?.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.getBounds()),
  ).toEqual(bounds);
});

test('hides the window when the user closes it, and keeps the app running', { tag: '@real' }, async ({
  orchestrator,
  start,
}) => {
  const { electron, page } = await start({ dataDir: orchestrator.dataDir });
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

test('shows no window when the app starts with --hidden, as at login', { tag: '@real' }, async ({
  orchestrator,
  start,
}) => {
  const { electron, page } = await start({ dataDir: orchestrator.dataDir, args: ['--hidden'] });
  await expect(page.getByText('Live')).toBeVisible();
  expect(
    await electron?.evaluate(({ BrowserWindow }) =>
      BrowserWindow.getAllWindows().map(window => window.isVisible()),
    ),
  ).toEqual([false]);
});
