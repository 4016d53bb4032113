/** Checks the running app against Electron's security checklist. */
import { expect, type Page } from '@playwright/test';
import { type App, test } from '../support/desktop/driver.ts';

/** Returns the addresses that the app has opened in the system's browser. */
async function openedOutside({ electron, inspect }: App): Promise<readonly string[]> {
  if (electron === null) return (await inspect()).openedOutside;
  return electron.evaluate(({ shell }) => (shell as unknown as { opened: string[] }).opened);
}

async function watchOutside({ electron }: App): Promise<void> {
  await electron?.evaluate(({ shell }) => {
    const opened: string[] = [];
    Object.assign(shell, { opened, openExternal: async (url: string) => void opened.push(url) });
  });
}

const outcome = (page: Page, script: string): Promise<unknown> =>
  page.evaluate(`(async () => { try { return String(await (${script})); } catch { return 'refused'; } })()`);

test('isolates the page from Node and the operating system', { tag: '@real' }, async ({ beside, start }) => {
  const { electron, page } = await start({ dataDir: beside.dataDir });
  await expect(page.getByText('Live')).toBeVisible();
  const preferences = await electron?.evaluate(({ BrowserWindow }) => {
    const [window] = BrowserWindow.getAllWindows();
    // Reads the preferences in effect, which the public types do not include.
    const contents = window?.webContents as unknown as { getLastWebPreferences(): object } | undefined;
    return contents?.getLastWebPreferences();
  });
  expect(preferences).toMatchObject({
    contextIsolation: true,
    sandbox: true,
    nodeIntegration: false,
    nodeIntegrationInSubFrames: false,
    webSecurity: true,
    allowRunningInsecureContent: false,
    experimentalFeatures: false,
    webviewTag: false,
  });
  expect(await page.evaluate('[typeof require, typeof process, typeof module, typeof Buffer].join()')).toBe(
    'undefined,undefined,undefined,undefined',
  );
  // The preload exposes nothing but functions.
  expect(await page.evaluate("Object.values(desktop).every(each => typeof each === 'function')")).toBe(true);
});

test('sends a content security policy, and loads nothing from other origins', async ({ beside, start }) => {
  const { page } = await start({ dataDir: beside.dataDir });
  await expect(page.getByText('Live')).toBeVisible();
  const policy = await page.evaluate(
    "fetch('/').then(({ headers }) => headers.get('content-security-policy'))",
  );
  expect(policy).toMatch(/^default-src 'none'; script-src 'self';/);
  expect(policy).toContain("frame-ancestors 'none'");
  const { port } = new URL(beside.url);
  for (const url of ['https://example.com/', `http://localhost:${port}/api/queue`, 'http://127.0.0.1:1/'])
    expect(await outcome(page, `fetch('${url}', { mode: 'no-cors' })`)).toBe('refused');
});

test('denies the page every system permission', { tag: '@real' }, async ({ beside, start }) => {
  const { page } = await start({ dataDir: beside.dataDir });
  await expect(page.getByText('Live')).toBeVisible();
  expect(await outcome(page, 'Notification.requestPermission()')).toBe('denied');
  expect(await outcome(page, 'navigator.mediaDevices.getUserMedia({ audio: true })')).toBe('refused');
  expect(
    await outcome(page, 'new Promise((ok, no) => navigator.geolocation.getCurrentPosition(ok, no))'),
  ).toBe('refused');
  for (const name of ['geolocation', 'notifications', 'camera', 'microphone', 'midi'])
    expect(
      await outcome(page, `navigator.permissions.query({ name: '${name}' }).then(({ state }) => state)`),
    ).toBe('denied');
});

test("blocks navigation and windows of the page, and opens https links in the system's browser", {
  tag: '@real',
}, async ({ beside, start }) => {
  const app = await start({ dataDir: beside.dataDir });
  const { page, electron } = app;
  await expect(page.getByText('Live')).toBeVisible();
  await watchOutside(app);
  const before = page.url();
  for (const url of [
    'http://example.com/',
    'file:///etc/passwd',
    `${beside.url}/docs`,
    'https://example.com/page',
  ])
    await page.evaluate(`void (location.href = '${url}')`);
  for (const url of [
    'http://example.com/',
    'javascript:1',
    'https://example.com/other',
    `${beside.url}/jobs`,
  ])
    expect(await page.evaluate(`window.open('${url}') === null`)).toBe(true);
  await expect
    .poll(() => openedOutside(app))
    .toEqual([`${beside.url}/docs`, 'https://example.com/page', 'https://example.com/other']);
  expect(await page.evaluate("location.href + document.querySelector('[role=status]').textContent")).toBe(
    `${before}Live`,
  );
  expect(await electron?.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows().length)).toBe(1);
  // `<webview>` could show another site. Here it must be an unknown element.
  const guests = await page.evaluate(`(() => {
    document.body.append(Object.assign(document.createElement('webview'), { src: 'https://example.com/' }));
    return typeof document.querySelector('webview').loadURL;
  })()`);
  expect(guests).toBe('undefined');
});

test('rejects invalid calls from its page', async ({ beside, start }) => {
  const { page } = await start({ dataDir: beside.dataDir });
  await expect(page.getByText('Live')).toBeVisible();
  const view = await page.evaluate<unknown>('desktop.view()');
  expect(view).toMatchObject({
    ok: true,
    view: { fleets: [], shown: null, has_keyring: expect.any(Boolean) },
  });
  for (const wrong of [
    "desktop.change({ notices: { job_failed: 'yes' } })",
    'desktop.change({ surprise: true })',
    'desktop.change(null)',
    "desktop.show('../x')",
    'desktop.addFleet({})',
    "desktop.addFleet({ name: 'x', url: 'file:///', token: 'a', pin: null })",
    "desktop.addFleet({ name: 'x', url: 'http://x', token: 'a b', pin: null })",
    'desktop.removeFleet({ toString: 1 })',
  ])
    expect(await page.evaluate(wrong)).toMatchObject({ ok: false, detail: expect.stringMatching(/.+/) });
  expect(await page.evaluate('desktop.view()')).toEqual(view);
});

test('rejects calls from another page with the same preload', { tag: '@real' }, async ({ beside, start }) => {
  const { page, electron } = await start({ dataDir: beside.dataDir });
  await expect(page.getByText('Live')).toBeVisible();
  const said = await electron?.evaluate(async ({ app, BrowserWindow }, url) => {
    const preload = `${app.getAppPath()}/dist/preload/preload.cjs`;
    const other = new BrowserWindow({ show: false, webPreferences: { preload, sandbox: true } });
    await other.loadURL(url);
    const heard: unknown = await other.webContents.executeJavaScript(
      'desktop.view().then(JSON.stringify, error => String(error))',
    );
    other.destroy();
    return String(heard);
  }, `${beside.url}/`);
  expect(said).toMatch(/may not call the app/);
});
