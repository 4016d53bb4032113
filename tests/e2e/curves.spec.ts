/** The curves of a job in the panel: as charts, as tables by keyboard, and as texts for screen readers. */
import { readFileSync } from 'node:fs';
import { type Download, expect, type Locator, type Page, test } from '@playwright/test';
import { readTexts } from './in-page.ts';
import { expectAccessible, expectFits, setLanguage, takePicture } from './page-checks.ts';
import { type Orchestrator, signIn, startOrchestrator } from './panel.ts';
import { type OfferedJob, openTrainingRig, type Point, type TrainingRig } from './training-rig.ts';
import { recordServerTexts } from './words.ts';

let orchestrator: Orchestrator;
let rig: TrainingRig;
/** A job in its second attempt, which started from a checkpoint at step 800. */
let resumedJob: OfferedJob;

test.beforeAll(async () => {
  test.setTimeout(60_000);
  orchestrator = await startOrchestrator({ args: ['--heartbeat-timeout', '600'] });
  rig = await openTrainingRig(orchestrator, 'rig-1');
  const firstAttempt = await rig.start('curved');
  await rig.postPoints(firstAttempt, createPoints(0, 1_000));
  await rig.report(firstAttempt, 'failed', { cause: 'preempted' });
  resumedJob = await rig.takeOffer();
  expect(resumedJob.jobId).toBe(firstAttempt.jobId);
  await rig.postPoints(resumedJob, createPoints(800, 400));
});
test.afterAll(() => orchestrator.close());

/**
 * Creates the points of a training: a falling loss with noise and a gap, a reward that is negative at first, and the figures
 * of two GPUs.
 */
const createPoints = (firstStep: number, count: number): readonly Point[] =>
  Array.from({ length: count }, (_, index): Point => {
    const step = firstStep + index;
    const noise = ((step * 7_919) % 97) / 970;
    const isGap = step >= 300 && step < 330;
    return {
      step,
      values: {
        'gpu.1.utilization': 60 + (step % 7),
        'gpu.0.utilization': 90 + (step % 9),
        'gpu.0.memory_mb': 20_000 + step,
        reward: step / 100 - 1,
        learning_rate: 1e-4 * (1 - step / 2_000),
        loss: isGap ? null : 2 * Math.exp(-step / 400) + noise,
      },
    };
  });

const open = async (page: Page, query = '', id: string = resumedJob.jobId): Promise<void> => {
  await page.goto(`${orchestrator.url}/jobs/${id}?tab=metrics${query}`);
  await expect(page.locator('.curves')).toHaveAttribute('aria-busy', 'false');
};
/** Finds the card of a chart by its title. */
const cardOf = (page: Page, title: string): Locator => page.getByRole('region', { name: title, exact: true });
const plotOf = (page: Page, title: string): Locator => cardOf(page, title).getByRole('img');

/** Returns the position of the area in which a chart reacts to the pointer. */
async function plotAreaOf(page: Page, title: string) {
  const area = plotOf(page, title).locator('.u-over');
  await expect(area).toBeVisible();
  const box = await area.boundingBox();
  if (box === null) throw new Error('the chart is not visible');
  return box;
}

const takePictureOf = (page: Page, name: string): Promise<void> =>
  takePicture(page, `curves-${name}`, { fullPage: true });

const textOf = async (download: Download): Promise<string> => readFileSync(await download.path(), 'utf8');

test('shows one labelled chart per metric with its latest value, loss first and GPUs last', async ({
  page,
}) => {
  await signIn(page, orchestrator);
  await page.goto(`${orchestrator.url}/jobs/${resumedJob.jobId}`);
  await page.getByRole('tab', { name: 'Metrics' }).click();
  await expect(plotOf(page, 'Loss')).toBeVisible();
  await takePictureOf(page, 'light');
  await expect(page.locator('.curve h2')).toHaveText([
    'Loss',
    'Learning rate',
    'reward',
    'GPU utilisation (%)',
    'GPU memory (MiB)',
  ]);
  await expect(plotOf(page, 'Learning rate')).toHaveAttribute(
    'aria-label',
    /^Learning rate\. Latest 4.01E-5 \(step 1,199\), lowest 4.01E-5, highest 1E-4$/,
  );
  await expect(cardOf(page, 'reward')).toContainText('Latest 11 (step 1,199), lowest -1, highest 11');
  // The label shows where the second attempt starts: at the step of its checkpoint.
  await expect(cardOf(page, 'Loss').locator('.curve-mark')).toHaveText('Attempt 2 on rig-1');
  await expect(cardOf(page, 'Loss').locator('.curve-legend li')).toHaveText([
    /^Attempt 1 on rig-1/,
    /^Attempt 2 on rig-1/,
  ]);
  await expect(plotOf(page, 'GPU utilisation (%)')).toHaveAttribute(
    'aria-label',
    'GPU utilisation (%). Lowest 60, highest 98',
  );
  await expect(cardOf(page, 'GPU utilisation (%)').locator('.curve-legend li')).toHaveText([
    'GPU 0, attempt 1 on rig-190',
    'GPU 1, attempt 1 on rig-165',
    'GPU 0, attempt 2 on rig-192',
    'GPU 1, attempt 2 on rig-162',
  ]);
});

test('shows a curve as a table by keyboard, with a limited number of rows', async ({ page }) => {
  await signIn(page, orchestrator);
  await open(page);
  const loss = cardOf(page, 'Loss');
  const asTable = loss.getByRole('button', { name: 'Show as table' });
  await asTable.focus();
  await page.keyboard.press('Enter');
  await expect(asTable).toHaveAttribute('aria-pressed', 'true');
  const table = loss.getByRole('table', { name: 'Loss' });
  await expect(table.getByRole('columnheader')).toHaveText([
    'Curve',
    'Step',
    'Time',
    'Mean',
    'Lowest',
    'Highest',
  ]);
  const rows = table.locator('tbody tr');
  expect(await rows.count()).toBeGreaterThan(150);
  expect(await rows.count()).toBeLessThanOrEqual(200);
  await expect(rows.last()).toContainText('Attempt 2 on rig-1');
  await expect(rows.last()).toContainText('1,199');
  await expect(table).toContainText('no value');
  await expect(loss).toContainText(/Showing \d+ of [\d,]+ points\. The CSV has all of them\./);
  await page.keyboard.press('Tab');
  await expect(loss.getByRole('region', { name: 'Loss (table)' })).toBeFocused();
  await page.keyboard.press('Shift+Tab');
  await page.keyboard.press('Enter');
  await expect(plotOf(page, 'Loss')).toBeVisible();
});

test('keeps axis, smoothing, scale, attempts and zoom in the URL, and loads more points when zoomed', async ({
  page,
}) => {
  await signIn(page, orchestrator);
  await open(page);
  await page.getByRole('checkbox', { name: 'Logarithmic' }).check();
  await expect(cardOf(page, 'reward')).toContainText(/\d+ values of 0 or less are hidden/);
  await expect(cardOf(page, 'Loss')).not.toContainText('0 or less');
  await page.getByRole('slider', { name: 'Smoothing' }).fill('0.9');
  await page.getByRole('button', { name: 'Attempt 2 on rig-1' }).click();
  await expect(page.locator('.curve-mark')).toHaveCount(0);
  await expect(page).toHaveURL(/\?tab=metrics&scale=log&smooth=0\.9&attempts=1$/);
  await takePictureOf(page, 'smooth-log');
  await page.getByRole('button', { name: 'Time', exact: true }).click();
  await expect(cardOf(page, 'Loss')).toContainText('Latest 0.218 (16m 40s)');
  await page.reload();
  await expect(page.getByRole('slider', { name: 'Smoothing' })).toHaveValue('0.9');
  await expect(page.getByRole('checkbox', { name: 'Logarithmic' })).toBeChecked();
  await expect(page.getByRole('button', { name: 'Time', exact: true })).toHaveAttribute(
    'aria-pressed',
    'true',
  );
  await page.getByLabel('From minute').fill('2');
  await page.getByLabel('to minute', { exact: true }).fill('4');
  await page.getByRole('button', { name: 'Zoom', exact: true }).click();
  await expect(page).toHaveURL(/zoom=120000-240000$/);
  await expect(cardOf(page, 'reward')).toContainText(/\((3m 5\ds|4m|4m \ds)\)/);
  await takePictureOf(page, 'time');

  await open(page);
  const request = page.waitForRequest(sent => sent.url().includes('from_step='));
  const box = await plotAreaOf(page, 'Loss');
  await page.mouse.move(box.x + box.width * 0.25, box.y + 50);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.5, box.y + 50, { steps: 5 });
  await page.mouse.up();
  await request;
  await expect(page).toHaveURL(/zoom=(29|30)\d-(59|60)\d$/);
  await expect(cardOf(page, 'Loss')).toContainText(/Latest [\d.]+ \(step (59|60)\d\)/);
  await page.getByRole('button', { name: 'Reset zoom' }).click();
  await expect(cardOf(page, 'Loss')).toContainText('(step 1,199)');
  await page.getByLabel('From step').fill('100');
  await page.getByLabel('to step', { exact: true }).fill('200');
  await page.getByRole('button', { name: 'Zoom', exact: true }).click();
  await expect(page).toHaveURL(/zoom=100-200$/);
  await expect(cardOf(page, 'Loss')).toContainText(/\(step 20\d\)/);
});

test("shows the values of all charts at the pointer's step", async ({ page }) => {
  await signIn(page, orchestrator);
  await open(page);
  const box = await plotAreaOf(page, 'Loss');
  await page.mouse.move(box.x + box.width / 2, box.y + 50);
  for (const title of ['Loss', 'reward', 'GPU memory (MiB)'])
    await expect(cardOf(page, title).locator('.curve-legend')).toContainText(/^step (59|60)\d/);
  await page.mouse.move(0, 0);
  await expect(cardOf(page, 'reward').locator('.curve-legend')).toContainText(/^Latest/);
});

test('updates the charts during a training, and downloads all points as CSV', async ({ page }) => {
  const job = await rig.startNext('another');
  await signIn(page, orchestrator);
  await open(page, '', job.jobId);
  await expect(page.getByText('No metrics yet. They appear when')).toBeVisible();
  const report = (step: number) =>
    rig.report(job, 'running', { progress: { current_step: step, total_steps: 500 } });
  await rig.postPoints(job, createPoints(0, 20));
  await report(19);
  await expect(cardOf(page, 'reward')).toContainText('(step 19)');
  await expect(page.locator('.curve-mark')).toHaveCount(0);
  await rig.postPoints(job, createPoints(20, 20), 20);
  await report(39);
  await expect(cardOf(page, 'reward')).toContainText('(step 39)');
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Download CSV' }).click(),
  ]);
  expect(download.suggestedFilename()).toBe(`metrics-${job.jobId}.csv`);
  // A header, and a row for each of the six values of 40 points.
  expect(await textOf(download)).toMatch(/^attempt,key,step,.*\r\n(1,"[^"]+",.*\r\n){240}$/);
});

test('adds curves of another job to the charts, and keeps the job in the URL', async ({ page }) => {
  const other = await rig.startNext('another');
  await rig.postPoints(other, createPoints(0, 100));
  await signIn(page, orchestrator);
  await open(page);
  const field = page.getByRole('combobox', { name: 'Compare with another job' });
  await field.fill(other.jobId.slice(0, 12));
  await expect(page.getByRole('option')).toHaveCount(1);
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(new RegExp(`with=${other.jobId}`));
  await expect(field).toHaveValue('');
  const legend = cardOf(page, 'Loss').locator('.curve-legend li');
  await expect(legend).toHaveText([
    /^Attempt 1 on rig-1/,
    /^Attempt 2 on rig-1/,
    new RegExp(`^another \\(${other.jobId}\\), attempt 1`),
  ]);
  await expect(cardOf(page, 'GPU utilisation (%)').locator('.curve-legend')).not.toContainText('another');
  await takePictureOf(page, 'compared');
  await expectAccessible(page);
  await cardOf(page, 'Loss').getByRole('button', { name: 'Show as table' }).click();
  await expect(page.getByRole('table', { name: 'Loss' })).toContainText(
    `another (${other.jobId}), attempt 1`,
  );
  await page.reload();
  await expect(legend).toHaveCount(3);
  await page.getByRole('button', { name: /^Remove another/ }).click();
  await expect(legend).toHaveCount(2);
  await expect(page).not.toHaveURL(/with=/);
});

test('explains why there are no metrics, and retries after an error', async ({ page }) => {
  const id = await orchestrator.submit({ config_name: 'far', config: {}, worker_labels: { no: 'body' } });
  await signIn(page, orchestrator);
  await open(page, '', id);
  await expect(page.getByText('No metrics yet. They appear after a worker starts the job.')).toBeVisible();
  const calls = '**/api/queue/*/metrics?*';
  await page.route(calls, route => route.abort());
  await open(page);
  await expect(page.getByText(/^The metrics could not be loaded/)).toBeVisible();
  await page.unroute(calls);
  await page.getByRole('button', { name: 'Try again' }).click();
  await expect(plotOf(page, 'Loss')).toBeVisible();
});

test("explains why SimpleTuner's own worker reports few points", async ({ page }) => {
  const worker = await orchestrator.createWorker({ name: 'rig-v1', labels: { protocol: 'v1' } });
  const headers = { 'x-worker-token': worker.token, 'content-type': 'application/json' };
  const post = async (path: string, body: object): Promise<void> => {
    const init = { method: 'POST', headers, body: JSON.stringify(body) };
    expect((await fetch(`${orchestrator.url}/api/workers/${path}`, init)).status, path).toBe(200);
  };
  await post('register', { name: 'rig-v1', gpu_info: { count: 1 }, persistent: true });
  const connection = new AbortController();
  const stream = `${orchestrator.url}/api/workers/stream?worker_id=${worker.id}`;
  await fetch(stream, { headers, signal: connection.signal });
  const id = await orchestrator.submit({
    config_name: 'v1-job',
    config: {},
    worker_labels: { protocol: 'v1' },
  });
  await expect
    .poll(async () => (await orchestrator.call('GET', `/api/queue/${id}`))['worker_id'])
    .not.toBeNull();
  const progress = { current_step: 1, total_steps: 10, loss: 0.5 };
  await post(`job/${id}/status`, { status: 'running', progress });
  await signIn(page, orchestrator);
  await open(page, '', id);
  await expect(page.getByText(/^SimpleTuner’s own worker reports only progress/)).toBeVisible();
  await expect(cardOf(page, 'Loss')).toContainText('Latest 0.5 (step 1), lowest 0.5, highest 0.5');
  connection.abort();
  await open(page);
  await expect(plotOf(page, 'Loss')).toBeVisible();
  await expect(page.getByText(/^SimpleTuner’s own worker/)).toHaveCount(0);
});

for (const [name, theme, width] of [
  ['dark', 'dark', 1280],
  ['phone', 'light', 390],
  ['phone-dark', 'dark', 390],
] as const)
  test(`keeps the charts readable and within a ${theme} page of ${width} px`, async ({ page }) => {
    await page.setViewportSize({ width, height: 800 });
    await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
    await signIn(page, orchestrator);
    await open(page);
    await expect(plotOf(page, 'GPU memory (MiB)')).toBeVisible();
    await takePictureOf(page, name);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
    await expectAccessible(page);
    await cardOf(page, 'Loss').getByRole('button', { name: 'Show as table' }).click();
    await takePictureOf(page, `${name}-table`);
    await expectAccessible(page);
  });

for (const language of ['pseudo', 'es', 'zh', 'hi', 'ja'])
  test(`fits the charts on a phone without cut-off text in the language ${language}`, async ({ page }) => {
    await setLanguage(page, language);
    await page.setViewportSize({ width: 390, height: 800 });
    const serverTexts = recordServerTexts(page);
    await signIn(page, orchestrator);
    await open(page, '&scale=log&zoom=0-900');
    const charts = page.locator('.curve');
    await expect(charts.getByRole('img')).toHaveCount(5);
    await charts.first().getByRole('button').click();
    await expect(page.getByRole('table')).toBeVisible();
    await expectFits(page);
    if (language === 'pseudo') expect(await serverTexts.untranslated(await readTexts(page))).toEqual([]);
    else await takePictureOf(page, language);
  });

/** Counts the pixels of the first chart that have exactly this colour. */
const countPixels = (
  page: Page,
  colour: readonly [red: number, green: number, blue: number],
): Promise<number> =>
  page.evaluate<number>(`(() => {
    const canvas = document.querySelector('.curve-plot canvas');
    if (canvas === null) return 0;
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    let count = 0;
    const opaque = 255;
    for (let pixel = 0; pixel < data.length; pixel += 4)
      if ([${colour.join(', ')}, opaque].every((value, channel) => data[pixel + channel] === value)) count += 1;
    return count;
  })()`);

test('redraws the curves in the colors of another theme', async ({ page }) => {
  const colours = { light: [0x24, 0x56, 0xc7], dark: [0x8f, 0xb1, 0xff] } as const;
  await page.emulateMedia({ colorScheme: 'light' });
  await signIn(page, orchestrator);
  await open(page);
  await expect.poll(() => countPixels(page, colours.light)).toBeGreaterThan(100);
  expect(await countPixels(page, colours.dark)).toBe(0);
  await page.emulateMedia({ colorScheme: 'dark' });
  await expect.poll(() => countPixels(page, colours.dark)).toBeGreaterThan(100);
  expect(await countPixels(page, colours.light)).toBe(0);
});
