/** The overview tab of a job on a real worker (curve, samples, log and actions), and the causes of failed jobs. */
import { expect, type Locator, type Page, test } from '@playwright/test';
import { startHttpProxy } from './http-proxy.ts';
import { expectAccessible, expectFits, imageWidth, setLanguage, takePicture } from './page-checks.ts';
import {
  digitsTrainer,
  enterToken,
  type Orchestrator,
  type Rig,
  rowOf,
  signIn,
  startOrchestrator,
} from './panel.ts';
import { openTrainingRig } from './training-rig.ts';

let orchestrator: Orchestrator;
let rig: Rig;
test.beforeEach(async () => {
  orchestrator = await startOrchestrator({ args: ['--heartbeat-timeout', '8'] });
  rig = await orchestrator.startRig('rig-1', { trainer: digitsTrainer });
});
test.afterEach(() => orchestrator.close());

/** A training of several minutes that draws a sample after each epoch. */
const training = {
  epochs: 400,
  batch_size: 32,
  learning_rate: 0.05,
  hidden: 32,
  checkpoint_every: 100_000,
  samples: true,
  $requests: { save: { signal: 'SIGUSR1' }, sample: { file: 'sample.now' } },
};
const start = (config: object = training): Promise<string> =>
  orchestrator.submit({ config_name: 'long-digits', config });

async function openRunning(page: Page, id: string, url = orchestrator.url): Promise<void> {
  await page.goto(`${url}/jobs/${id}`);
  await expect(page.locator('.job-title')).toContainText('running', { timeout: 30_000 });
}

const regionOf = (page: Page, name: string): Locator => page.getByRole('region', { name, exact: true });
const logOf = (page: Page): Locator => page.locator('.log-tail');
const actionButton = (page: Page, name: string): Locator =>
  page.getByRole('group', { name: 'Job actions' }).getByRole('button', { name, exact: true });
const samplesOf = (page: Page): Locator =>
  page.getByRole('list', { name: 'Newest samples' }).getByRole('button');
const expectLoaded = (image: Locator): Promise<void> =>
  expect.poll(() => imageWidth(image)).toBeGreaterThan(0);
/** Returns the number of the newest line in the log. */
const lastLine = async (page: Page): Promise<number> =>
  Number((await logOf(page).locator('[data-line]').last().getAttribute('data-line')) ?? -1);

const takePictureOf = (page: Page, name: string): Promise<void> =>
  takePicture(page, `job-overview-${name}`, { fullPage: true });

test('shows the curve, the samples and the log of a running job, and updates them live', async ({ page }) => {
  await signIn(page, orchestrator);
  await openRunning(page, await start());
  const plot = regionOf(page, 'Loss').getByRole('img');
  await expect(plot).toHaveAttribute('aria-label', /^Loss\. Latest /);
  const before = await plot.getAttribute('aria-label');
  await expect(samplesOf(page).first()).toBeVisible({ timeout: 30_000 });
  await expectLoaded(samplesOf(page).first().locator('img'));
  await expect(logOf(page)).toContainText('drew samples/sample-');
  await expect(regionOf(page, 'Last log lines').getByRole('status').first()).toHaveText('Live');
  const line = await lastLine(page);
  await expect.poll(() => lastLine(page)).toBeGreaterThan(line);
  expect(await logOf(page).locator('[data-line]').count()).toBeLessThanOrEqual(12);
  await expect(plot).not.toHaveAttribute('aria-label', before ?? '', { timeout: 30_000 });

  const newest = (await samplesOf(page).first().textContent()) ?? '';
  expect(newest).toMatch(/Step [\d,]+/);
  await samplesOf(page).first().click();
  const viewer = page.getByRole('dialog', { name: /^Sample sample-\d+\.png$/ });
  await expectLoaded(viewer.getByRole('img').first());
  await page.keyboard.press('Escape');

  const details = regionOf(page, 'Details');
  await expect(details.locator('div').filter({ hasText: 'Required GPUs' })).toBeVisible();
  await expect(
    details
      .locator('div')
      .filter({ hasText: /^Started/ })
      .locator('time'),
  ).toHaveText(/ago|now/);
  await expect(details.locator('time').first()).toHaveAttribute('title', /\d{4}, .*:\d\d/);
  await expect(page.getByRole('listitem').filter({ hasText: 'Attempt 1' })).toContainText('running');

  await page.getByRole('link', { name: 'Full log' }).click();
  await expect(page).toHaveURL(/tab=logs$/);
  await page.goBack();
  await page.getByRole('link', { name: 'All metrics' }).click();
  await expect(page).toHaveURL(/tab=metrics$/);
});

test('requests a checkpoint and samples of a running job by buttons, and shows why a request failed', async ({
  page,
}) => {
  await signIn(page, orchestrator);
  await openRunning(page, await start());
  await actionButton(page, 'Save now').click();
  await expect(page.getByText('Requested a checkpoint from rig-1.')).toBeVisible();
  await actionButton(page, 'Sample now').click();
  await expect(page.getByText('Requested samples from rig-1.')).toBeVisible();
  // The menu does not repeat the actions that are buttons.
  await page.getByRole('button', { name: 'Actions for job long-digits' }).click();
  await expect(page.getByRole('menuitem', { name: 'Set priority' })).toBeVisible();
  await expect(
    page.getByRole('menuitem', { name: /Save checkpoint|samples now|Cancel|Duplicate/ }),
  ).toHaveCount(0);
  await page.keyboard.press('Escape');

  // Holds the response back until the test has checked the label "Requesting…".
  const mayRespond = Promise.withResolvers<void>();
  await page.route('**/api/queue/*/ask', async route => {
    await mayRespond.promise;
    await route.fulfill({
      status: 503,
      contentType: 'application/problem+json',
      body: JSON.stringify({
        type: 'about:blank',
        title: 'x',
        status: 503,
        code: 'storage',
        detail: 'The disk is full.',
      }),
    });
  });
  await actionButton(page, 'Save now').click();
  await expect(actionButton(page, 'Requesting…')).toHaveAttribute('aria-disabled', 'true');
  mayRespond.resolve();
  await expect(page.getByRole('alert')).toContainText('“Save now” failed:');
  await expect(actionButton(page, 'Save now')).toBeVisible();
  await page.unroute('**/api/queue/*/ask');
  await actionButton(page, 'Save now').click();
  await expect(page.getByRole('alert')).toHaveCount(0);

  await actionButton(page, 'Duplicate').click();
  await expect(page).toHaveURL(/\/jobs\/new\?from=/);
  await page.goBack();
  await actionButton(page, 'Cancel job').click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Cancel job' }).click();
  await expect(page.locator('.job-title')).toContainText('cancelled', { timeout: 30_000 });
  await expect(actionButton(page, 'Cancel job')).toHaveCount(0);
  await expect(actionButton(page, 'Save now')).toHaveCount(0);
  await expect(actionButton(page, 'Duplicate')).toBeVisible();
});

test('offers no requests that the trainer does not support, and no job actions to users without permission', async ({
  page,
}) => {
  const { $requests: _, ...withoutRequests } = training;
  const id = await start(withoutRequests);
  const token = await orchestrator.createToken('watcher', ['queue.view']);
  await signIn(page, orchestrator);
  await openRunning(page, id);
  await expect(actionButton(page, 'Cancel job')).toBeVisible();
  await expect(actionButton(page, 'Save now')).toHaveCount(0);
  await expect(actionButton(page, 'Sample now')).toHaveCount(0);

  await page.context().clearCookies();
  await page.goto(orchestrator.url);
  await enterToken(page, token);
  await openRunning(page, id);
  await expect(regionOf(page, 'Loss')).toBeVisible();
  await expect(page.getByRole('group', { name: 'Job actions' }).getByRole('button')).toHaveCount(0);
});

test('shows a job as recovering after its worker was killed, and as pending after the takeover', async ({
  page,
}) => {
  await signIn(page, orchestrator);
  await openRunning(page, await start());
  await expect(logOf(page)).toContainText('drew samples/', { timeout: 30_000 });
  const plot = regionOf(page, 'Loss').getByRole('img');
  await expect(plot).toBeVisible();
  rig.cutPower();
  await expect(page.locator('.job-title')).toContainText('recovering', { timeout: 30_000 });
  await expect(page.getByRole('listitem').filter({ hasText: 'Attempt 1' })).toContainText('recovering');
  await expect(regionOf(page, 'Last log lines').getByRole('status').first()).toHaveText(
    'Worker not connected',
  );
  await expect(actionButton(page, 'Save now')).toHaveCount(0);
  await expect(regionOf(page, 'Now')).toContainText('No heartbeat since');
  await expect(logOf(page)).toContainText('drew samples/');
  await expectAccessible(page);
  await takePictureOf(page, 'recovering');
  await expect(page.locator('.job-title')).toContainText('pending', { timeout: 60_000 });
  await expect(page.getByRole('listitem').filter({ hasText: 'Attempt 1' })).toContainText('lost');
  await expect(plot).toBeVisible();
  await expect(logOf(page)).toContainText('drew samples/');
});

test('continues the curve and the log of a job after a lost connection to the server is restored', async ({
  page,
}) => {
  const proxy = await startHttpProxy(orchestrator.url);
  try {
    await signIn(page, { ...orchestrator, url: proxy.url });
    await openRunning(page, await start(), proxy.url);
    await expect(logOf(page)).toContainText('drew samples/', { timeout: 30_000 });
    const status = regionOf(page, 'Last log lines').getByRole('status').first();
    await expect(status).toHaveText('Live');
    const plot = regionOf(page, 'Loss').getByRole('img');
    await expect(plot).toBeVisible();
    await proxy.disconnect();
    await expect(status).toHaveText('Reconnecting…', { timeout: 30_000 });
    await expect(page.locator('.stream-badge')).toHaveText(/^Not up to date since/, { timeout: 30_000 });
    const line = await lastLine(page);
    await expect(plot).toBeVisible();
    await expect(page.getByText(/could not be loaded/)).toHaveCount(0);
    const summary = await plot.getAttribute('aria-label');
    await proxy.reconnect();
    await expect(status).toHaveText('Live', { timeout: 30_000 });
    await expect.poll(() => lastLine(page), { timeout: 30_000 }).toBeGreaterThan(line);
    await expect(plot).not.toHaveAttribute('aria-label', summary ?? '', { timeout: 30_000 });
  } finally {
    await proxy.close();
  }
});

test('shows the end of the log and the last samples of a completed job', async ({ page }) => {
  const id = await start({ ...training, epochs: 2 });
  await signIn(page, orchestrator);
  await page.goto(`${orchestrator.url}/jobs/${id}`);
  await expect(page.locator('.job-title')).toContainText('completed', { timeout: 60_000 });
  await expect(regionOf(page, 'Last log lines').getByRole('status').first()).toHaveText('End of log', {
    timeout: 20_000,
  });
  await expect(samplesOf(page)).toHaveCount(2, { timeout: 20_000 });
  await expect(page.getByRole('listitem').filter({ hasText: 'Attempt 1' })).toContainText('completed');
});

for (const [name, theme, width] of [
  ['light', 'light', 1280],
  ['dark', 'dark', 1280],
  ['wide', 'light', 1440],
  ['phone', 'light', 390],
  ['phone-dark', 'dark', 390],
] as const)
  test(`keeps a running job readable and within a ${theme} page of ${width} px`, async ({ page }) => {
    await page.setViewportSize({ width, height: 800 });
    await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
    const errors: string[] = [];
    page.on('console', message => {
      // Until the trainer prints its first line, the server responds with 404, and the browser reports an error.
      const isMissingLog = new URL(message.location().url, orchestrator.url).pathname.endsWith('/logs');
      if (message.type() === 'error' && !isMissingLog) errors.push(message.text());
    });
    await signIn(page, orchestrator);
    await openRunning(page, await start());
    await expect(regionOf(page, 'Loss').getByRole('img')).toBeVisible();
    await expectLoaded(samplesOf(page).first().locator('img'));
    await expect(samplesOf(page).nth(2)).toBeVisible({ timeout: 30_000 });
    await takePictureOf(page, name);
    await expectFits(page);
    await expectAccessible(page);
    expect(errors).toEqual([]);
  });

for (const language of ['pseudo', 'es', 'zh', 'hi', 'ja'])
  test(`fits a running job on a phone in the language ${language}`, async ({ page }) => {
    await setLanguage(page, language);
    await page.setViewportSize({ width: 390, height: 800 });
    await signIn(page, orchestrator);
    await page.goto(`${orchestrator.url}/jobs/${await start()}`);
    await page.locator('.sample-strip').scrollIntoViewIfNeeded({ timeout: 30_000 });
    await expect(page.locator('.sample-strip img').first()).toBeVisible();
    await expect(page.locator('.curve-plot')).toBeVisible();
    await expectFits(page);
    await takePictureOf(page, language);
  });

test.describe('failed jobs', () => {
  const outOfMemory = (gib: number): string =>
    `Traceback (most recent call last):\n  File "train.py", line ${gib}\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate ${gib}.25 GiB. GPU 0 is full.`;

  test.beforeEach(async () => {
    rig.cutPower();
    const failingRig = await openTrainingRig(orchestrator, 'rig-2');
    for (const [name, error_message] of [
      ['oom-1', outOfMemory(2)],
      ['oom-2', outOfMemory(7)],
      ['oom-3', outOfMemory(5)],
      ['typo', 'FileNotFoundError: no such file: /data/sets/roses-4/train.json'],
    ] as const) {
      const job = await failingRig.start(name);
      await failingRig.report(job, 'failed', { error_message, error: error_message, exit_code: 1 });
    }
  });

  const causes = (page: Page): Locator => page.getByRole('group', { name: 'Causes of failure' });

  test('groups failed jobs by cause, and retries all jobs with one cause together', async ({ page }) => {
    await signIn(page, orchestrator);
    await page.goto(`${orchestrator.url}/jobs`);
    await expect(rowOf(page, 'oom-2')).toContainText('CUDA out of memory. Tried to allocate 7.25 GiB');
    await expect(causes(page)).toHaveCount(0);
    await page
      .getByRole('group', { name: 'States' })
      .getByRole('button', { name: /^failed/ })
      .click();
    await expect(causes(page).getByRole('button')).toHaveText(['CUDA out of memory 3', 'no such file: … 1']);
    await expectAccessible(page);
    await causes(page).getByRole('button', { name: 'CUDA out of memory 3' }).click();
    await expect(page.locator('[data-row]')).toHaveCount(3);
    await expect(page).toHaveURL(/cause=CUDA/);
    await page.reload();
    await expect(page.locator('[data-row]')).toHaveCount(3);
    await takePictureOf(page, 'failures');

    await rowOf(page, 'oom-1').getByRole('checkbox').check();
    await page.getByRole('button', { name: 'Select all 3 shown' }).click();
    await expect(page.getByRole('button', { name: 'Cancel jobs' })).toHaveCount(0);
    await page.getByRole('button', { name: 'Retry jobs' }).click();
    const question = page.getByRole('alertdialog', { name: 'Retry 3 jobs?' });
    await expect(question.getByRole('listitem')).toHaveCount(3);
    await expectAccessible(page);
    await question.getByRole('button', { name: 'Retry jobs' }).click();
    await expect(page.getByRole('dialog').getByText(/^resubmitted as /)).toHaveCount(3);
    const { entries } = (await orchestrator.call('GET', '/api/queue?limit=50')) as {
      readonly entries: readonly { readonly retry_of: string | null; readonly config_name: string }[];
    };
    const retries = entries.filter(entry => entry.retry_of !== null);
    expect(retries.map(entry => entry.config_name).toSorted()).toEqual(['oom-1', 'oom-2', 'oom-3']);
  });

  for (const [name, theme, width] of [
    ['phone', 'light', 390],
    ['dark', 'dark', 1280],
  ] as const)
    test(`keeps the causes of failure within a ${theme} page of ${width} px`, async ({ page }) => {
      await page.setViewportSize({ width, height: 800 });
      await page.emulateMedia({ colorScheme: theme });
      await signIn(page, orchestrator);
      await page.goto(`${orchestrator.url}/jobs?q=state%3Afailed`);
      await expect(causes(page).getByRole('button')).toHaveCount(2);
      await takePictureOf(page, `failures-${name}`);
      await expectFits(page);
      await expectAccessible(page);
      await page.getByRole('link', { name: 'oom-1' }).click();
      await expect(page.locator('.job-title')).toContainText('failed');
      await takePictureOf(page, `failed-${name}`);
      await expectFits(page);
    });
});
