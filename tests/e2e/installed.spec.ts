/** The panel as an installed app: manifest, service worker, the "Server unreachable" page, new versions, and push messages. */
import { type BrowserContext, expect, type Page, test } from '@playwright/test';
import { expectAccessible, takePicture } from './page-checks.ts';
import { type Orchestrator, signIn, startOrchestrator } from './panel.ts';

test.use({ serviceWorkers: 'allow' });

let orchestrator: Orchestrator;
test.beforeEach(async () => {
  orchestrator = await startOrchestrator();
});
test.afterEach(() => orchestrator.close());

/** Opens the panel, and waits until its service worker controls the page. */
async function openApp(page: Page): Promise<void> {
  await signIn(page, orchestrator);
  await expect.poll(() => page.evaluate('navigator.serviceWorker.controller !== null')).toBe(true);
}

const serviceWorkerOf = async (context: BrowserContext) =>
  context.serviceWorkers()[0] ?? (await context.waitForEvent('serviceworker'));

/** Returns the size of a PNG as `WIDTHxHEIGHT`. The offsets are those of the two numbers in the PNG header. */
const pngSize = (png: Buffer): string => `${png.readUInt32BE(16)}x${png.readUInt32BE(20)}`;

test("meets the browser's requirements for installing the panel, with icons of the declared sizes", async ({
  page,
}) => {
  await openApp(page);
  const session = await page.context().newCDPSession(page);
  const { errors, data, url } = await session.send('Page.getAppManifest');
  expect(errors).toEqual([]);
  expect(url).toBe(`${orchestrator.url}/manifest.webmanifest`);
  const { installabilityErrors } = await session.send('Page.getInstallabilityErrors');
  // Browser tests run in private windows, where the browser never installs an app.
  expect(installabilityErrors.filter(({ errorId }) => errorId !== 'in-incognito')).toEqual([]);
  const { icons } = JSON.parse(data ?? '{}') as { icons: readonly { src: string; sizes: string }[] };
  expect(icons).toHaveLength(3);
  for (const { src, sizes } of icons) {
    const response = await page.request.get(orchestrator.url + src);
    expect(pngSize(await response.body())).toBe(sizes);
  }
});

test('stores nothing in the browser except the page for an unreachable server', async ({ page }) => {
  await openApp(page);
  await orchestrator.submit({ config: {}, config_name: 'private-name', requires_approval: true });
  for (const path of ['/jobs', '/queue', '/settings']) {
    await page.goto(orchestrator.url + path);
    await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
  }
  const stored = await page.evaluate<string[]>(`(async () => {
    const paths = [];
    for (const name of await caches.keys())
      for (const { url } of await (await caches.open(name)).keys()) paths.push(new URL(url).pathname);
    return paths.toSorted();
  })()`);
  expect(stored.map(path => path.replace(/-[\w-]{8}\./, '-HASH.'))).toEqual([
    '/assets/unreachable-HASH.css',
    '/assets/unreachable-HASH.js',
    '/icons/icon-192.png',
    '/unreachable.html',
  ]);
});

test('shows in the chosen language that the server is unreachable, and opens the requested page after the restart', async ({
  page,
}) => {
  await openApp(page);
  await page.evaluate(() =>
    localStorage.setItem('trainyard.preferences', JSON.stringify({ language: 'es', theme: 'dark' })),
  );
  await orchestrator.crash();
  await page.goto(`${orchestrator.url}/jobs`);
  await expect(page.getByRole('heading', { name: 'No se puede acceder al servidor' })).toBeVisible();
  for (const [width, name] of [
    [390, 'phone'],
    [1440, 'wide'],
  ] as const) {
    await page.setViewportSize({ width, height: 800 });
    await takePicture(page, `unreachable-${name}`);
  }
  await expectAccessible(page);
  await orchestrator.restart();
  await expect(page.getByRole('heading', { name: 'Trabajos' })).toBeVisible({ timeout: 30_000 });
  await expect(page).toHaveURL(`${orchestrator.url}/jobs`);
});

test('shows that the server is unreachable while the device is offline', async ({ page, context }) => {
  await openApp(page);
  await context.setOffline(true);
  await page.goto(`${orchestrator.url}/queue`);
  await expect(page.getByRole('heading', { name: 'Server unreachable' })).toBeVisible();
  await context.setOffline(false);
  await expect(page.getByRole('heading', { name: 'Queue' })).toBeVisible({ timeout: 30_000 });
});

test('offers to load a new version of the panel, and deletes the cache of the old version', async ({
  page,
}) => {
  await openApp(page);
  await expect(page.getByText('A new version of the panel is available.')).toHaveCount(0);
  // The service worker of another build differs in the hash of the build.
  await page.evaluate(`(async () => {
    await caches.open('trainyard-shell-of-an-older-build');
    await navigator.serviceWorker.register('/service-worker.js?another-build');
  })()`);
  await expect(page.getByText('A new version of the panel is available.')).toBeVisible();
  await expect
    .poll(() => page.evaluate<string[]>('caches.keys()'))
    .toEqual([expect.stringMatching(/^trainyard-shell-[0-9a-f]{16}$/)]);
  await page.getByRole('button', { name: 'Reload' }).click();
  await expect(page.getByRole('navigation')).toBeVisible();
});

/** Delivers a push message to the service worker, as the browser's push service does. */
async function deliverPush(page: Page, data: string): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const registrationId = await new Promise<string>(resolve => {
    session.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => {
      const [first] = registrations;
      if (first !== undefined) resolve(first.registrationId);
    });
    void session.send('ServiceWorker.enable');
  });
  await session.send('ServiceWorker.deliverPushMessage', { origin: orchestrator.url, registrationId, data });
}

test.describe('push messages', () => {
  /** Records the notifications that the service worker shows, because the test browser cannot display any. */
  async function recordNotifications(context: BrowserContext): Promise<() => Promise<unknown>> {
    const worker = await serviceWorkerOf(context);
    await worker.evaluate(() => {
      const shown: unknown[] = [];
      Reflect.set(globalThis, 'shown', shown);
      const registration = Reflect.get(globalThis, 'registration') as object;
      const showNotification = (title: string, options: object): Promise<void> => {
        shown.push([title, options]);
        return Promise.resolve();
      };
      Reflect.set(registration, 'showNotification', showNotification);
    });
    return () => worker.evaluate(() => Reflect.get(globalThis, 'shown') as unknown);
  }

  const failedJob = {
    id: 'd_1',
    event: 'job_failed',
    title: 'flux failed',
    text: 'Out of memory',
    page: '/jobs/j_1',
  };
  const otherSite = { id: 'd_2', title: 'x', text: 'y', page: '//evil.example/' };
  for (const { title, data, notification } of [
    {
      title: 'shows a push message as a notification with title, text and the page that a click opens',
      data: JSON.stringify(failedJob),
      notification: ['flux failed', { body: 'Out of memory', tag: 'd_1', data: '/jobs/j_1' }],
    },
    {
      title: 'shows a push message that is not JSON as a notification that opens the panel',
      data: 'nonsense',
      notification: ['Trainyard', { body: '', data: '/' }],
    },
    {
      title: 'shows a push message that links to another site as a notification that opens the panel',
      data: JSON.stringify(otherSite),
      notification: ['x', { body: 'y', data: '/' }],
    },
  ])
    test(title, async ({ page, context }) => {
      await openApp(page);
      const notifications = await recordNotifications(context);
      await deliverPush(page, data);
      await expect.poll(notifications).toMatchObject([notification]);
    });
});
