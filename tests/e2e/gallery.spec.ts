/** The gallery: the wall of all samples, and the comparison of jobs by prompt and step. */
import { join } from 'node:path';
import { AxeBuilder } from '@axe-core/playwright';
import { expect, type Locator, type Page, test } from '@playwright/test';
import { pngOf } from '../support/picture.ts';
import { type Offered, upload } from '../support/upload-bench.ts';
import { cutTexts, textsOf, tooWide } from './in-page.ts';
import { type Orchestrator, signIn, startOrchestrator } from './panel.ts';
import { recordPolicyViolations } from './policy.ts';
import { openTrainingRig, type TrainingRig } from './training-rig.ts';
import { recordAnswers } from './words.ts';

let orchestrator: Orchestrator;
let rig: TrainingRig;
let roses: Offered;
let tulips: Offered;

const prompts = ['red', 'blue'] as const;

test.beforeAll(async () => {
  test.setTimeout(90_000);
  orchestrator = await startOrchestrator({ args: ['--heartbeat-timeout', '600'] });
  rig = await openTrainingRig(orchestrator, 'rig-1');
  roses = await rig.start('roses');
  for (const step of [100, 200, 300]) await uploadStep(roses, step, 'samples/');
  await uploadFile(roses, 'page.svg', '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>');
  await uploadFile(roses, 'page.png', '<html><script>alert(1)</script></html>');
  await rig.report(roses, 'completed');
  tulips = await rig.start('tulips');
  for (const step of [150, 250]) await uploadStep(tulips, step, '');
  await uploadFile(tulips, 'step_250_film_0_64x64.webm', 'no video');
});
test.afterAll(() => orchestrator.close());

const pictureOf = (step: number, isRed: boolean): Uint8Array<ArrayBuffer> =>
  pngOf(96, 96, (x, y) => {
    const isInside = Math.hypot(x - 48, y - 48) < 16 + step / 12;
    return isInside ? [isRed ? 200 : 40, step % 250, isRed ? 40 : 200] : [230, 238, 230];
  });

async function uploadFile(of: Offered, key: string, body: string | Uint8Array<ArrayBuffer>): Promise<void> {
  expect((await upload(orchestrator.url, of.token, key, { body })).status, key).toBe(200);
}

async function uploadStep(of: Offered, step: number, folder: string): Promise<void> {
  for (const prompt of prompts)
    await uploadFile(of, `${folder}step_${step}_${prompt}_0_96x96.png`, pictureOf(step, prompt === 'red'));
}

async function open(page: Page, query = ''): Promise<void> {
  await signIn(page, orchestrator);
  await page.goto(`${orchestrator.url}/gallery${query}`);
  await expect(page.locator('.gallery-page')).toHaveAttribute('aria-busy', 'false');
}
const bothJobs = (): string => `?jobs=${roses.jobId},${tulips.jobId}`;
const button = (page: Page, name: string): Locator => page.getByRole('button', { name, exact: true });
const slider = (page: Page): Locator => page.getByRole('slider', { name: 'Step' });
const widthOf = (picture: Locator): Promise<number> =>
  picture.evaluate((element: { readonly naturalWidth: number }) => element.naturalWidth);
const expectSeen = (picture: Locator): Promise<void> => expect.poll(() => widthOf(picture)).toBe(96);
const captions = (page: Page): Locator => page.locator('.gallery-comparison .gallery-name');

async function expectAccessible(page: Page): Promise<void> {
  const { violations } = await new AxeBuilder({ page }).analyze();
  expect(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' and ')}`)).toEqual(
    [],
  );
}

const takePicture = async (page: Page, name: string): Promise<void> => {
  const path = join(test.info().project.outputDir, 'screens', `gallery-${name}.png`);
  await page.screenshot({ path, animations: 'disabled' });
};

test('lists the samples of all jobs, the newest job first, and runs no content of files', async ({
  page,
}) => {
  const violations = await recordPolicyViolations(page);
  const requested: string[] = [];
  page.on('request', request => requested.push(new URL(request.url()).pathname));
  await open(page);
  await expect(page.getByRole('status').filter({ hasText: '12 samples of 2 jobs' })).toBeVisible();
  await expect(page.getByRole('heading', { level: 2 })).toHaveText(['tulips', 'roses']);
  await expectSeen(button(page, 'roses, red, Step 300').locator('img'));
  await expect(page.locator('.gallery-tile').filter({ hasText: 'could not be shown' })).toHaveCount(1);
  expect(requested.filter(path => path.endsWith('page.svg'))).toEqual([]);
  expect(violations().filter(what => what.startsWith('script'))).toEqual([]);
  await expectAccessible(page);
});

test('moves through the wall by arrow keys, and through steps and prompts in full screen', async ({
  page,
}) => {
  await open(page);
  await button(page, 'roses, red, Step 300').focus();
  await page.keyboard.press('ArrowLeft');
  await expect(button(page, 'roses, blue, Step 300')).toBeFocused();
  await page.keyboard.press('Enter');
  const full = page.getByRole('dialog');
  await expectSeen(full.getByRole('img', { name: 'roses, blue, Step 300' }));
  await page.keyboard.press('ArrowLeft');
  await expectSeen(full.getByRole('img', { name: 'roses, blue, Step 200' }));
  await page.keyboard.press('ArrowDown');
  await expectSeen(full.getByRole('img', { name: 'roses, red, Step 200' }));
  await expect(full.getByRole('button', { name: 'Next prompt' })).toBeDisabled();
  await expectAccessible(page);
  await page.keyboard.press('Escape');
  await expect(full).toHaveCount(0);
  await expect(button(page, 'roses, blue, Step 300')).toBeFocused();
});

test('compares chosen jobs at the nearest earlier step, and shares the view by its address', async ({
  page,
}) => {
  await open(page);
  await page.getByRole('checkbox', { name: 'Choose roses to compare' }).check();
  await page.getByRole('checkbox', { name: 'Choose tulips to compare' }).check();
  await button(page, 'Compare samples').click();
  await expect(page.getByRole('columnheader')).toContainText(['roses', 'tulips']);
  await expect(slider(page)).toHaveAttribute('aria-valuetext', 'Step 300');
  await expect(page.getByRole('rowheader')).toHaveText(['blue', 'film', 'red']);
  // Without a sample at step 300, tulips shows its last one.
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
  await expectSeen(page.getByRole('dialog').getByRole('img', { name: 'roses, red, Step 100' }));
  await page.keyboard.press('ArrowRight');
  await expectSeen(page.getByRole('dialog').getByRole('img', { name: 'roses, red, Step 200' }));
  await expect(page).toHaveURL(/at=step-200&prompt=%2Fred&open=/);
  await page.reload();
  await expectSeen(page.getByRole('dialog').getByRole('img', { name: 'roses, red, Step 200' }));
  await page.keyboard.press('Escape');
  await expect(slider(page)).toHaveAttribute('aria-valuetext', 'Step 200');
  await button(page, 'Remove tulips').click();
  await expect(page.getByRole('columnheader')).toHaveCount(1);
});

test('opens from the files of a job, and returns to a shared address after signing in', async ({ page }) => {
  await page.goto(`${orchestrator.url}/gallery${bothJobs()}&at=step-200`);
  await page.getByLabel('Token').fill(orchestrator.token);
  await page.getByRole('button', { name: 'Sign in' }).click();
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
  test(`keeps the gallery readable and within the page: ${name}`, async ({ page }) => {
    await page.setViewportSize({ width, height: 800 });
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await open(page);
    // On a phone, the rows of the other job are below the window and therefore not rendered.
    await expectSeen(button(page, 'tulips, red, Step 250').locator('img'));
    await takePicture(page, name);
    expect(await tooWide(page)).toEqual([]);
    await expectAccessible(page);
    await page.goto(`${orchestrator.url}/gallery${bothJobs()}&at=step-250`);
    await expectSeen(button(page, 'roses, blue, Step 200').locator('img'));
    await takePicture(page, `${name}-compare`);
    expect(await tooWide(page)).toEqual([]);
    await expectAccessible(page);
    await page.keyboard.press('f');
    await expectSeen(page.getByRole('dialog').getByRole('img'));
    await takePicture(page, `${name}-full`);
    expect(await tooWide(page)).toEqual([]);
    await expectAccessible(page);
  });

for (const language of ['pseudo', 'es', 'zh', 'hi', 'ja'])
  test(`fits the gallery on a phone without cut-off text in the language ${language}`, async ({ page }) => {
    const preferences = JSON.stringify({ theme: 'system', language });
    await page.addInitScript(kept => localStorage.setItem('trainyard.preferences', kept), preferences);
    await page.setViewportSize({ width: 390, height: 800 });
    const answers = recordAnswers(page);
    const check = async (): Promise<void> => {
      expect([...(await tooWide(page)), ...(await cutTexts(page))]).toEqual([]);
      if (language === 'pseudo') expect(await answers.untranslated(await textsOf(page))).toEqual([]);
    };
    await open(page);
    await expectSeen(page.locator('.gallery-tile img').first());
    await check();
    await page.goto(`${orchestrator.url}/gallery${bothJobs()}`);
    await expectSeen(page.locator('.gallery-cell img').first());
    await check();
    await takePicture(page, language);
  });

test('shows a new sample of a compared job without a reload', async ({ page }) => {
  await open(page, bothJobs());
  await expect(slider(page)).toHaveAttribute('aria-valuetext', 'Step 300');
  await uploadStep(tulips, 400, '');
  await expect(slider(page)).toHaveAttribute('aria-valuetext', 'Step 400');
  // Only rows near the window load their images.
  await expectSeen(button(page, 'tulips, blue, Step 400').locator('img'));
});

test('explains how samples arrive when there are none', async ({ page }) => {
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
