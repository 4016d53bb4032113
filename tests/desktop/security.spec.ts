/** Checks the running app against Electron's security checklist. */
import { expect, type Page } from '@playwright/test';
import { type App, test } from '../support/desktop/driver.ts';

/** Returns the URLs that the app has opened in the system's browser. */
async function openedOutside({ electron, inspect }: App): Promise<readonly string[]> {
  if (electron === null) return (await inspect()).openedOutside;
  return electron.evaluate(({ shell }) => (shell as unknown as { opened: string[] }).opened);
}

/** Makes Electron record URLs instead of opening them in the system's browser. */
async function recordOpenedOutside({ electron }: App): Promise<void> {
  await electron?.evaluate(({ shell }) => {
    const opened: string[] = [];
    Object.assign(shell, { opened, openExternal: async (url: string) => void opened.push(url) });
  });
}

/** Returns the value of an expression in the page; `refused` when it throws. */
const evaluateIn = (page: Page, script: string): Promise<unknown> =>
  page.evaluate(`(async () => { try { return String(await (${script})); } catch { return 'refused'; } })()`);

test('isolates the page from Node and the operating system', { tag: '@real' }, async ({
  orchestrator,
  start,
}) => {
  const { electron, page } = await start({ dataDir: orchestrator.dataDir });
  await expect(page.getByText('Live')).toBeVisible();
  const preferences = await electron?.evaluate(({ BrowserWindow }) => {
    const [window] = BrowserWindow.getAllWindows();
    // `getLastWebPreferences` returns the preferences in effect. The public types do not include it.
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
  expect(await page.evaluate("Object.values(desktop).every(value => typeof value === 'function')")).toBe(
    true,
  );
});

test('sends a content security policy, and loads nothing from other origins', async ({
  orchestrator,
  start,
}) => {
  const { page } = await start({ dataDir: orchestrator.dataDir });
  await expect(page.getByText('Live')).toBeVisible();
  const policy = await page.evaluate(
    "fetch('/').then(({ headers }) => headers.get('content-security-policy'))",
  );
  expect(policy).toMatch(/^default-src 'none'; script-src 'self';/);
  expect(policy).toContain("frame-ancestors 'none'");
  const { port } = new URL(orchestrator.url);
  for (const url of ['https://example.com/', `http://localhost:${port}/api/queue`, 'http://127.0.0.1:1/'])
    expect(await evaluateIn(page, `fetch('${url}', { mode: 'no-cors' })`)).toBe('refused');
});

test('denies the page every permission, such as camera, location and notifications', {
  tag: '@real',
}, async ({ orchestrator, start }) => {
  const { page } = await start({ dataDir: orchestrator.dataDir });
  await expect(page.getByText('Live')).toBeVisible();
  expect(await evaluateIn(page, 'Notification.requestPermission()')).toBe('denied');
  expect(await evaluateIn(page, 'navigator.mediaDevices.getUserMedia({ audio: true })')).toBe('refused');
  expect(
    await evaluateIn(page, 'new Promise((ok, no) => navigator.geolocation.getCurrentPosition(ok, no))'),
  ).toBe('refused');
  for (const name of ['geolocation', 'notifications', 'camera', 'microphone', 'midi'])
    expect(
      await evaluateIn(page, `navigator.permissions.query({ name: '${name}' }).then(({ state }) => state)`),
    ).toBe('denied');
});

test("blocks navigation and new windows, and opens https links and server pages in the system's browser", {
  tag: '@real',
}, async ({ orchestrator, start }) => {
  const app = await start({ dataDir: orchestrator.dataDir });
  const { page, electron } = app;
  await expect(page.getByText('Live')).toBeVisible();
  await recordOpenedOutside(app);
  const originalUrl = page.url();
  for (const url of [
    'http://example.com/',
    'file:///etc/passwd',
    `${orchestrator.url}/docs`,
    'https://example.com/page',
  ])
    await page.evaluate(`void (location.href = '${url}')`);
  for (const url of [
    'http://example.com/',
    'javascript:1',
    'https://example.com/other',
    `${orchestrator.url}/jobs`,
  ])
    expect(await page.evaluate(`window.open('${url}') === null`)).toBe(true);
  await expect
    .poll(() => openedOutside(app))
    .toEqual([`${orchestrator.url}/docs`, 'https://example.com/page', 'https://example.com/other']);
  expect(await page.evaluate("location.href + document.querySelector('[role=status]').textContent")).toBe(
    `${originalUrl}Live`,
  );
  expect(await electron?.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows().length)).toBe(1);
  // `<webview>` could show another site. Here it must be an unknown element.
  const loadUrlType = await page.evaluate(`(() => {
    document.body.append(Object.assign(document.createElement('webview'), { src: 'https://example.com/' }));
    return typeof document.querySelector('webview').loadURL;
  })()`);
  expect(loadUrlType).toBe('undefined');
});

test('rejects invalid calls from the page to the app, and changes nothing', async ({
  orchestrator,
  start,
}) => {
  const { page } = await start({ dataDir: orchestrator.dataDir });
  await expect(page.getByText('Live')).toBeVisible();
  const view = await page.evaluate<unknown>('desktop.view()');
  expect(view).toMatchObject({
    ok: true,
    view: { fleets: [], shown: null, has_keyring: expect.any(Boolean) },
  });
  for (const invalidCall of [
    "desktop.change({ notices: { job_failed: 'yes' } })",
    'desktop.change({ surprise: true })',
    'desktop.change(null)',
    "desktop.show('../x')",
    'desktop.addFleet({})',
    "desktop.addFleet({ name: 'x', url: 'file:///', token: 'a', pin: null })",
    "desktop.addFleet({ name: 'x', url: 'http://x', token: 'a b', pin: null })",
    'desktop.removeFleet({ toString: 1 })',
  ])
    expect(await page.evaluate(invalidCall)).toMatchObject({
      ok: false,
      detail: expect.stringMatching(/.+/),
    });
  expect(await page.evaluate('desktop.view()')).toEqual(view);
});

test('rejects calls to the app from another window with the same preload', { tag: '@real' }, async ({
  orchestrator,
  start,
}) => {
  const { page, electron } = await start({ dataDir: orchestrator.dataDir });
  await expect(page.getByText('Live')).toBeVisible();
  const result = await electron?.evaluate(async ({ app, BrowserWindow }, url) => {
    const preload = `${app.getAppPath()}/dist/preload/preload.cjs`;
    const otherWindow = new BrowserWindow({ show: false, webPreferences: { preload, sandbox: true } });
    await otherWindow.loadURL(url);
    const text: unknown = await otherWindow.webContents.executeJavaScript(
      'desktop.view().then(JSON.stringify, error => String(error))',
    );
    otherWindow.destroy();
    return String(text);
  }, `${orchestrator.url}/`);
  expect(result).toMatch(/may not call the app/);
});
