/** Logs in the panel: long logs, growing logs, and logs with hostile content. */
import { expect, type Locator, type Page, test } from '@playwright/test';
import { findOverflows } from './in-page.ts';
import { clipboardOf, firstVisibleLine, scrollLogTo } from './log-in-page.ts';
import { type LogRig, openLogRig } from './log-rig.ts';
import { expectAccessible } from './page-checks.ts';
import { type Orchestrator, signIn, startOrchestrator } from './panel.ts';

let orchestrator: Orchestrator;
let rig: LogRig;
test.beforeAll(async () => {
  orchestrator = await startOrchestrator();
  rig = await openLogRig(orchestrator, 'rig-log');
});
test.afterAll(async () => {
  rig.close();
  await orchestrator.close();
});

const logOf = (page: Page): Locator => page.getByRole('log');
/** Finds a line by its number, counted from 1. */
const rowAt = (page: Page, number: number): Locator => page.locator(`[data-line="${number - 1}"]`);
const visibleTexts = (page: Page): Promise<string[]> => page.locator('.log-row .log-text').allTextContents();
/** The bar below the log with its status and its number of lines. */
const statusBarOf = (page: Page): Locator => page.locator('.log-standing');

async function openLog(page: Page, job: string, query = ''): Promise<void> {
  await signIn(page, orchestrator);
  await page.goto(`${orchestrator.url}/jobs/${job}?tab=logs${query}`);
}

const million = 1_000_000;

test('scrolls and searches a log of a million lines', async ({ browser, page }) => {
  test.setTimeout(240_000);
  const job = await rig.startJob('million');
  const specialLines = new Map([
    [250_000, 'the Needle is here'],
    [600_123, 'ValueError: bad rank'],
    [900_000, 'a needle again'],
  ]);
  const lines = Array.from({ length: million }, (_, index) => {
    const number = index + 1;
    return specialLines.get(number) ?? `s${number} 0.1`;
  });
  await job.print(`${lines.join('\n')}\n`);
  await job.completeLog();
  await job.end('failed');
  await openLog(page, job.id);
  await expect(rowAt(page, million)).toHaveText(/s1000000 0\.1/);
  await expect(rowAt(page, million)).toBeInViewport();
  await expect(statusBarOf(page)).toContainText('1,000,000 lines');
  await expect(statusBarOf(page)).toContainText('End of log');

  const log = logOf(page);
  await log.focus();
  await page.keyboard.press('Home');
  await expect(rowAt(page, 1)).toHaveText(/s1 0\.1/);
  await scrollLogTo(page, 0.5);
  await expect(rowAt(page, 500_000)).toHaveText(/s500000 0\.1/);
  const first = await firstVisibleLine(page);
  await page.keyboard.press('PageUp');
  await expect.poll(() => firstVisibleLine(page)).toBeLessThan((first ?? 0) - 10);
  // The page keeps only about one screen of rows, however far the user has scrolled.
  expect(await page.locator('.log-row').count()).toBeLessThan(250);

  await page.keyboard.press('Control+f');
  const field = page.getByRole('searchbox', { name: 'Search the log' });
  await expect(field).toBeFocused();
  await field.fill('NEEDLE');
  const hits = page.getByRole('search').getByRole('status');
  await expect(hits).toHaveText('2 matching lines', { timeout: 30_000 });
  await page.keyboard.press('Enter');
  await expect(rowAt(page, 900_000).locator('mark')).toHaveText('needle');
  await expect(rowAt(page, 900_000)).toBeInViewport();
  await expect(hits).toHaveText('2 of 2 lines');
  await page.keyboard.press('Shift+Enter');
  await expect(rowAt(page, 250_000).locator('mark')).toHaveText('Needle');
  await expect(rowAt(page, 250_000)).toBeInViewport();
  await log.focus();
  await page.keyboard.press('F3');
  await expect(rowAt(page, 900_000)).toBeInViewport();
  await page.getByRole('button', { name: 'First error' }).click();
  await expect(rowAt(page, 600_123)).toHaveText(/ValueError: bad rank/, { timeout: 60_000 });
  await expect(rowAt(page, 600_123)).toBeInViewport();
  await page.getByRole('button', { name: 'Go to end' }).click();
  await expect(rowAt(page, million)).toBeInViewport();

  // Browsers limit the height of an element in physical pixels, so fewer lines fit on a high-density screen.
  const dense = await browser.newContext({ deviceScaleFactor: 3, viewport: { width: 800, height: 600 } });
  const densePage = await dense.newPage();
  await openLog(densePage, job.id);
  await expect(rowAt(densePage, million)).toBeInViewport();
  await densePage.getByRole('button', { name: 'Show earlier lines' }).click();
  await expect(rowAt(densePage, 352_942)).toHaveText(/s352942 0\.1/);
  await densePage.getByRole('searchbox', { name: 'Search the log' }).fill('the needle is');
  await densePage.keyboard.press('Enter');
  await expect(rowAt(densePage, 250_000)).toHaveText(/the Needle is here/, { timeout: 60_000 });
  await expect(rowAt(densePage, 250_000)).toBeInViewport();
  await densePage.getByRole('button', { name: 'Go to end' }).click();
  await expect(rowAt(densePage, million)).toBeInViewport();
  await dense.close();
});

test('follows the end of a log, pauses while the user has scrolled up, and keeps a progress bar on one line', async ({
  page,
}) => {
  const job = await rig.startJob('live');
  await openLog(page, job.id);
  await expect(page.getByText('No output yet.')).toBeVisible();
  await job.print(Array.from({ length: 200 }, (_, index) => `line ${index + 1}\n`).join(''));
  await expect(rowAt(page, 200)).toBeInViewport();
  await expect(statusBarOf(page).getByRole('status')).toHaveText('Live');
  await job.print('Steps:  40%|####  \rSteps:  41%|####  ');
  // The last line, which has no line break yet.
  const open = page.locator('[data-kind="open"]');
  await expect(open).toContainText('41%');
  await expect(open).toHaveCount(1);
  await expect(open).toBeInViewport();
  await job.print('\rSteps:  42%|####  ');
  await expect(open).toContainText('42%');
  expect((await visibleTexts(page)).filter(text => text.includes('41%'))).toEqual([]);

  await logOf(page).hover();
  await page.mouse.wheel(0, -600);
  await expect(statusBarOf(page).getByRole('status')).toHaveText('Paused; new lines are below');
  const first = await firstVisibleLine(page);
  await job.print('\ntwo\nthree\n');
  const below = page.getByRole('button', { name: '2 new lines below' });
  await expect(below).toBeVisible();
  expect(await firstVisibleLine(page)).toBe(first);
  await below.click();
  await expect(rowAt(page, 203)).toHaveText(/three/);
  await expect(rowAt(page, 203)).toBeInViewport();
  await expect(rowAt(page, 201)).toHaveText(/42%/);
  await job.completeLog();
  await job.end('completed');
  await expect(statusBarOf(page)).toContainText('End of log');
});

test('keeps a log connection open only while the log is visible', async ({ page }) => {
  const job = await rig.startJob('watched');
  await job.print('one\n');
  const opened = page.waitForRequest(/logs\/stream/);
  await openLog(page, job.id);
  const stream = await opened;
  const ended = new Promise<void>(resolve => {
    const resolveIfStream = (request: unknown): void => {
      if (request === stream) resolve();
    };
    page.on('requestfailed', resolveIfStream);
    page.on('requestfinished', resolveIfStream);
  });
  await expect(rowAt(page, 1)).toHaveText(/one/);
  await page.getByRole('tab', { name: 'Overview' }).click();
  await ended;
  await job.print('two\n');
  await page.getByRole('tab', { name: 'Logs' }).click();
  await expect(rowAt(page, 2)).toHaveText(/two/);
  await job.end('completed');
});

test('continues the log after a server restart without gaps or repeats', async ({ page }) => {
  const crashing = await startOrchestrator();
  try {
    const job = await (await openLogRig(crashing, 'rig-log')).startJob('long');
    await job.print('one\ntwo\n');
    await signIn(page, crashing);
    await page.goto(`${crashing.url}/jobs/${job.id}?tab=logs`);
    const status = statusBarOf(page).getByRole('status');
    await expect(status).toHaveText('Live');
    await crashing.crash();
    await expect(status).toHaveText('Reconnecting…');
    await crashing.restart();
    await job.print('three\nfour\n');
    await expect(status).toHaveText('Live');
    await expect(rowAt(page, 4)).toHaveText(/four/);
    expect(await visibleTexts(page)).toEqual(['one', 'two', 'three', 'four']);
  } finally {
    await crashing.close();
  }
});

test('shows markup, terminal escapes and direction marks of a log as text', async ({ page }) => {
  const job = await rig.startJob('hostile');
  await job.print(
    [
      '<img src=x onerror="globalThis.owned=1"><script>globalThis.owned=1</script>',
      '\u001B]0;title\u0007a\u001B[2Jb\u001B[31mred\u001B[0mc',
      'user\u202Egpj.exe',
      'ends here',
      '',
    ].join('\n'),
  );
  await job.reportLost(512);
  await job.print('after\n');
  await openLog(page, job.id);
  await expect(rowAt(page, 1).locator('.log-text')).toHaveText(
    '<img src=x onerror="globalThis.owned=1"><script>globalThis.owned=1</script>',
  );
  await expect(rowAt(page, 2).locator('.log-text')).toHaveText(/abredc$/);
  await expect(rowAt(page, 2).locator('.log-red')).toHaveText('red');
  await expect(rowAt(page, 3).locator('.log-text')).toHaveText('user⟨U+202E⟩gpj.exe');
  await expect(page.locator('[data-kind="note"]')).toHaveText(/Output was lost here: .*512/);
  await expect(rowAt(page, 6).locator('.log-text')).toHaveText('after');
  expect(await page.evaluate(() => 'owned' in globalThis)).toBe(false);
  await job.end('completed');
});

test('offers the log of each attempt, labelled with the outcome of the attempt', async ({ page }) => {
  const job = await rig.startJob('twice', { max_retries: 1, retry_on: ['trainer_exit'] });
  await job.print('of the first\n');
  await job.completeLog();
  await job.end('failed');
  await job.waitForNextAttempt();
  await job.print('of the second\n');
  await openLog(page, job.id);
  await expect(rowAt(page, 1)).toHaveText(/of the second/);
  const choice = page.getByRole('combobox', { name: 'Attempt' });
  await expect(choice).toHaveValue('2');
  await choice.selectOption({ label: '1: requeued (trainer failed)' });
  await expect(rowAt(page, 1)).toHaveText(/of the first/);
  await expect(page).toHaveURL(/tab=logs&attempt=1/);
  await expect(page.getByRole('link', { name: 'Download' })).toHaveAttribute('href', /logs\/text\?attempt=1/);
  const loading = page.waitForEvent('download');
  await page.getByRole('link', { name: 'Download' }).click();
  const file = await (await loading).createReadStream();
  expect(Buffer.concat(await Array.fromAsync(file)).toString()).toBe('of the first\n');
  await job.end('completed');
});

test('selects log lines by their numbers, and copies the lines as plain text', async ({ page, context }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const job = await rig.startJob('copied');
  await job.print('one\n\u001B[32mtwo\u001B[0m\nthree\nfour\n');
  await openLog(page, job.id);
  await rowAt(page, 2).locator('.log-number').click();
  await rowAt(page, 3)
    .locator('.log-number')
    .click({ modifiers: ['Shift'] });
  const bar = page.getByRole('group', { name: '2 lines selected' });
  await bar.getByRole('button', { name: 'Copy lines' }).click();
  await expect.poll(() => clipboardOf(page)).toBe('two\nthree\n');
  await logOf(page).focus();
  await page.keyboard.press('Shift+ArrowDown');
  await expect(page.getByRole('group', { name: '3 lines selected' })).toBeVisible();
  await page.getByRole('button', { name: 'Clear selection' }).click();
  await expect(page.locator('[data-chosen]')).toHaveCount(0);

  await page.getByRole('button', { name: 'Timestamps' }).click();
  await expect(rowAt(page, 1).locator('time')).toHaveText(/\d\d:\d\d\.\d{3}.* (?:[A-Z]{2,5}|GMT)/);
  await page.getByRole('button', { name: 'Wrap lines' }).click();
  await expect(rowAt(page, 4)).toBeInViewport();
  await job.end('completed');
});

test('explains why a log is missing, and retries after an error', async ({ page }) => {
  const waiting = await orchestrator.submit({ config: {}, worker_labels: { nobody: 'has-this' } });
  await openLog(page, waiting);
  await expect(page.getByText('No log yet. It appears after a worker starts the job.')).toBeVisible();

  const job = await rig.startJob('silent');
  await job.end('completed');
  await page.goto(`${orchestrator.url}/jobs/${job.id}?tab=logs`);
  await expect(page.getByText('No log for this attempt')).toBeVisible();

  const v1Rig = await openLogRig(orchestrator, 'rig-v1', { protocol: 1 });
  const v1Job = await v1Rig.startJob('v1-job');
  await page.goto(`${orchestrator.url}/jobs/${v1Job.id}?tab=logs`);
  await expect(page.getByText('rig-v1 runs SimpleTuner’s own worker, which uploads no logs')).toBeVisible();
  v1Rig.close();

  const unreadableJob = await rig.startJob('unreadable');
  await unreadableJob.print('here\n');
  await page.route('**/api/queue/*/logs?*', route => route.abort());
  await page.goto(`${orchestrator.url}/jobs/${unreadableJob.id}?tab=logs`);
  await expect(page.getByText(/^The log could not be loaded/)).toBeVisible();
  await page.unroute('**/api/queue/*/logs?*');
  await page.getByRole('button', { name: 'Try again' }).click();
  await expect(rowAt(page, 1)).toHaveText(/here/);
  await unreadableJob.end('completed');
});

test('shows the log accessibly in both themes and on a phone', async ({ page }) => {
  const job = await rig.startJob('seen');
  const colours = [31, 32, 33, 34, 35, 36, 90, 91, 94, 96].map(
    code => `\u001B[${code}mcolour ${code}\u001B[0m`,
  );
  await job.print(`${colours.join('\n')}\n\u001B[2mdim\u001B[0m \u001B[97;41mon a ground\u001B[0m\n`);
  await job.reportLost(7);
  await job.print('an open line');
  await openLog(page, job.id);
  await page.getByRole('searchbox', { name: 'Search the log' }).fill('colour');
  await expect(page.locator('mark').first()).toBeVisible();
  await rowAt(page, 2).locator('.log-number').click();
  for (const theme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme: theme });
    await expect(page.locator('mark').first()).toBeVisible();
    await expectAccessible(page);
  }
  await page.setViewportSize({ width: 390, height: 800 });
  await expect(rowAt(page, 1)).toBeVisible();
  expect(await findOverflows(page)).toEqual([]);
  // Screen readers must not announce new lines, because there may be hundreds per second.
  await expect(logOf(page)).toHaveAttribute('aria-live', 'off');
  await job.end('completed');
});
