/** The gallery: all samples as tiles, and the comparison of jobs by prompt and step. */
import { expect, type Locator, type Page, test } from '@playwright/test';
import { pngOf } from '../support/picture.ts';
import { readTexts, findOverflows } from './in-page.ts';
import { expectAccessible, expectFits, imageWidth, setLanguage, takePicture } from './page-checks.ts';
import { enterToken, type Orchestrator, signIn, startOrchestrator } from './panel.ts';
import { recordPolicyViolations } from './policy.ts';
import { type OfferedJob, openTrainingRig, type TrainingRig } from './training-rig.ts';
import { recordServerTexts } from './words.ts';

let orchestrator: Orchestrator;
let rig: TrainingRig;
let roses: OfferedJob;
let tulips: OfferedJob;

const prompts = ['red', 'blue'] as const;

test.beforeAll(async () => {
  test.setTimeout(90_000);
  orchestrator = await startOrchestrator({ args: ['--heartbeat-timeout', '600'] });
  rig = await openTrainingRig(orchestrator, 'rig-1');
  roses = await rig.start('roses');
  for (const step of [100, 200, 300]) await uploadStep(roses, step, 'samples/');
  await rig.uploadFile(roses, 'page.svg', '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>');
  await rig.uploadFile(roses, 'page.png', '<html><script>alert(1)</script></html>');
  await rig.report(roses, 'completed');
  tulips = await rig.start('tulips');
  for (const step of [150, 250]) await uploadStep(tulips, step, '');
  await rig.uploadFile(tulips, 'step_250_film_0_64x64.webm', 'no video');
});
test.afterAll(() => orchestrator.close());

const pictureOf = (step: number, isRed: boolean): Uint8Array<ArrayBuffer> =>
  pngOf(96, 96, (x, y) => {
    const isInside = Math.hypot(x - 48, y - 48) < 16 + step / 12;
    return isInside ? [isRed ? 200 : 40, step % 250, isRed ? 40 : 200] : [230, 238, 230];
  });

/** Uploads a sample of each prompt. */
async function uploadStep(job: OfferedJob, step: number, folder: string): Promise<void> {
  for (const prompt of prompts) {
    const key = `${folder}step_${step}_${prompt}_0_96x96.png`;
    await rig.uploadFile(job, key, pictureOf(step, prompt === 'red'));
  }
}

async function open(page: Page, query = ''): Promise<void> {
  await signIn(page, orchestrator);
  await page.goto(`${orchestrator.url}/gallery${query}`);
  await expect(page.locator('.gallery-page')).toHaveAttribute('aria-busy', 'false');
}
const bothJobs = (): string => `?jobs=${roses.jobId},${tulips.jobId}`;
const button = (page: Page, name: string): Locator => page.getByRole('button', { name, exact: true });
const slider = (page: Page): Locator => page.getByRole('slider', { name: 'Step' });
const expectLoaded = (image: Locator): Promise<void> => expect.poll(() => imageWidth(image)).toBe(96);
const captions = (page: Page): Locator => page.locator('.gallery-comparison .gallery-name');

test('lists the samples of all jobs, newest job first, and runs no scripts in uploaded files', async ({
  page,
}) => {
  const newViolations = await recordPolicyViolations(page);
  const requested: string[] = [];
  page.on('request', request => requested.push(new URL(request.url()).pathname));
  await open(page);
  await expect(page.getByRole('status').filter({ hasText: '12 samples of 2 jobs' })).toBeVisible();
  await expect(page.getByRole('heading', { level: 2 })).toHaveText(['tulips', 'roses']);
  await expectLoaded(button(page, 'roses, red, Step 300').locator('img'));
  await expect(page.locator('.gallery-tile').filter({ hasText: 'could not be shown' })).toHaveCount(1);
  expect(requested.filter(path => path.endsWith('page.svg'))).toEqual([]);
  expect(newViolations().filter(violation => violation.startsWith('script'))).toEqual([]);
  await expectAccessible(page);
});

test('moves with the arrow keys between samples, and in full screen between steps and prompts', async ({
  page,
}) => {
  await open(page);
  await button(page, 'roses, red, Step 300').focus();
  await page.keyboard.press('ArrowLeft');
  await expect(button(page, 'roses, blue, Step 300')).toBeFocused();
  await page.keyboard.press('Enter');
  const full = page.getByRole('dialog');
  await expectLoaded(full.getByRole('img', { name: 'roses, blue, Step 300' }));
  await page.keyboard.press('ArrowLeft');
  await expectLoaded(full.getByRole('img', { name: 'roses, blue, Step 200' }));
  await page.keyboard.press('ArrowDown');
  await expectLoaded(full.getByRole('img', { name: 'roses, red, Step 200' }));
  await expect(full.getByRole('button', { name: 'Next prompt' })).toBeDisabled();
  await expectAccessible(page);
  await page.keyboard.press('Escape');
  await expect(full).toHaveCount(0);
  await expect(button(page, 'roses, blue, Step 300')).toBeFocused();
});

test('compares the samples of selected jobs at the nearest earlier step, and keeps the view in the URL', async ({
  page,
}) => {
  await open(page);
  await page.getByRole('checkbox', { name: 'Choose roses to compare' }).check();
  await page.getByRole('checkbox', { name: 'Choose tulips to compare' }).check();
  await button(page, 'Compare samples').click();
  await expect(page.getByRole('columnheader')).toContainText(['roses', 'tulips']);
  await expect(slider(page)).toHaveAttribute('aria-valuetext', 'Step 300');
  await expect(page.getByRole('rowheader')).toHaveText(['blue', 'film', 'red']);
  // The job tulips has no sample at step 300, so the page shows its sample of step 250.
  await expect(captions(page)).toHaveText(['Step 300', 'Step 250', 'Step 250', 'Step 300', 'Step 250']);
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('ArrowLeft');
  await slider(page).focus();
  await page.keyboard.press('ArrowLeft');
  await expect(slider(page)).toHaveAttribute('aria-valuetext', 'Step 150');
  await expect(captions(page)).toHaveText(['Step 100', 'Step 150', 'Step 100', 'Step 150']);
  await page.keyboard.press('ArrowLeft');
  await expect(page.getByText('No sample at or before this step').first()).toBeVisible();
  await button(page, 'roses, red, Step 100').focus();
  await page.keyboard.press('f');
  await expectLoaded(page.getByRole('dialog').getByRole('img', { name: 'roses, red, Step 100' }));
  await page.keyboard.press('ArrowRight');
  await expectLoaded(page.getByRole('dialog').getByRole('img', { name: 'roses, red, Step 200' }));
  await expect(page).toHaveURL(/at=step-200&prompt=%2Fred&open=/);
  await page.reload();
  await expectLoaded(page.getByRole('dialog').getByRole('img', { name: 'roses, red, Step 200' }));
  await page.keyboard.press('Escape');
  await expect(slider(page)).toHaveAttribute('aria-valuetext', 'Step 200');
  await button(page, 'Remove tulips').click();
  await expect(page.getByRole('columnheader')).toHaveCount(1);
});

test('opens the gallery from the files of a job, and opens a shared gallery URL after signing in', async ({
  page,
}) => {
  await page.goto(`${orchestrator.url}/gallery${bothJobs()}&at=step-200`);
  await enterToken(page, orchestrator.token);
  await expect(slider(page)).toHaveAttribute('aria-valuetext', 'Step 200');
  await page.goto(`${orchestrator.url}/jobs/${roses.jobId}?tab=files`);
  await page.getByRole('link', { name: 'Open in gallery' }).click();
  await expect(page).toHaveURL(new RegExp(`/gallery\\?jobs=${roses.jobId}$`));
  await expect(page.getByText('1 sample is not shown')).toBeVisible();
});

for (const [name, colorScheme, width] of [
  ['light', 'light', 1280],
  ['dark', 'dark', 1280],
  ['wide', 'light', 1440],
  ['phone', 'light', 390],
  ['phone-dark', 'dark', 390],
] as const)
  test(`keeps the gallery readable and within a ${colorScheme} page of ${width} px`, async ({ page }) => {
    await page.setViewportSize({ width, height: 800 });
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await open(page);
    // On a phone, the rows of the other job are below the window and therefore not rendered.
    await expectLoaded(button(page, 'tulips, red, Step 250').locator('img'));
    await takePicture(page, `gallery-${name}`);
    expect(await findOverflows(page)).toEqual([]);
    await expectAccessible(page);
    await page.goto(`${orchestrator.url}/gallery${bothJobs()}&at=step-250`);
    await expectLoaded(button(page, 'roses, blue, Step 200').locator('img'));
    await takePicture(page, `gallery-${name}-compare`);
    expect(await findOverflows(page)).toEqual([]);
    await expectAccessible(page);
    await page.keyboard.press('f');
    await expectLoaded(page.getByRole('dialog').getByRole('img'));
    await takePicture(page, `gallery-${name}-full`);
    expect(await findOverflows(page)).toEqual([]);
    await expectAccessible(page);
  });

for (const language of ['pseudo', 'es', 'zh', 'hi', 'ja'])
  test(`fits the gallery on a phone without cut-off text in the language ${language}`, async ({ page }) => {
    await setLanguage(page, language);
    await page.setViewportSize({ width: 390, height: 800 });
    const serverTexts = recordServerTexts(page);
    const check = async (): Promise<void> => {
      await expectFits(page);
      if (language === 'pseudo') expect(await serverTexts.untranslated(await readTexts(page))).toEqual([]);
    };
    await open(page);
    await expectLoaded(page.locator('.gallery-tile img').first());
    await check();
    await page.goto(`${orchestrator.url}/gallery${bothJobs()}`);
    await expectLoaded(page.locator('.gallery-cell img').first());
    await check();
    await takePicture(page, `gallery-${language}`);
  });

test('shows a new sample of a compared job without a reload', async ({ page }) => {
  await open(page, bothJobs());
  await expect(slider(page)).toHaveAttribute('aria-valuetext', 'Step 300');
  await uploadStep(tulips, 400, '');
  await expect(slider(page)).toHaveAttribute('aria-valuetext', 'Step 400');
  // Only rows near the window load their images.
  await expectLoaded(button(page, 'tulips, blue, Step 400').locator('img'));
});

test('explains in an empty gallery how samples get there', async ({ page }) => {
  const empty = await startOrchestrator();
  try {
    await signIn(page, empty);
    await page.keyboard.press('g');
    await page.keyboard.press('g');
    await expect(page.getByRole('heading', { level: 1, name: 'Gallery' })).toBeVisible();
    await expect(page.getByText('No samples yet.')).toBeVisible();
    await expectAccessible(page);
  } finally {
    await empty.close();
  }
});
