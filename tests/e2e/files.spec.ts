/** The files of a job: samples, checkpoints that users keep or delete, and downloads. */
import { readFileSync } from 'node:fs';
import { type Download, expect, type Locator, type Page, test } from '@playwright/test';
import { pngOf } from '../support/picture.ts';
import { sha256 } from '../support/upload-bench.ts';
import { readTexts, findOverflows } from './in-page.ts';
import { expectAccessible, expectFits, imageWidth, setLanguage, takePicture } from './page-checks.ts';
import { type Orchestrator, signIn, signInWithToken, startOrchestrator } from './panel.ts';
import { type OfferedJob, openTrainingRig, type TrainingRig } from './training-rig.ts';
import { recordServerTexts } from './words.ts';

let orchestrator: Orchestrator;
let rig: TrainingRig;
/** A job in its second attempt, which started from a checkpoint at step 200. */
let resumedJob: OfferedJob;

test.beforeAll(async () => {
  test.setTimeout(60_000);
  orchestrator = await startOrchestrator({ args: ['--heartbeat-timeout', '600'] });
  rig = await openTrainingRig(orchestrator, 'rig-1');
  await runFirstAttempt(await rig.start('flowers'));
  resumedJob = await rig.takeOffer();

  await rig.uploadFile(resumedJob, 'checkpoint-300/model.safetensors', kilobytes(40));
  await rig.uploadFile(resumedJob, 'samples/broken.png', '<html><script>alert(1)</script></html>');
  await rig.uploadFile(resumedJob, 'samples/scan.tiff', kilobytes(5));
  const svg = '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>';
  await rig.uploadFile(resumedJob, 'logs/page.svg', svg);
  await rig.uploadFile(resumedJob, 'flowers.safetensors', kilobytes(1_200));
});
test.afterAll(() => orchestrator.close());

const prompts = ['rose', 'tulip', 'poppy'] as const;
const kilobytes = (count: number): Uint8Array<ArrayBuffer> => new Uint8Array(count * 1_000).fill(count % 251);
const manifest = JSON.stringify({
  files: [
    { path: 'model.safetensors', bytes: 300_000, sha256: sha256(kilobytes(300)) },
    { path: 'state.json', bytes: 2_000, sha256: sha256(kilobytes(2)) },
  ],
});

/** Returns a picture that differs for each prompt and step. */
const pictureOf = (prompt: (typeof prompts)[number], step: number): Uint8Array<ArrayBuffer> =>
  pngOf(96, 96, (x, y) => {
    const distance = Math.hypot(x - 48, y - 48);
    const petals = 24 + 10 * Math.sin((3 + prompts.indexOf(prompt)) * Math.atan2(y - 48, x - 48) + step);
    return distance < petals ? [200, 40 + prompts.indexOf(prompt) * 60, step % 250] : [230, 238, 230];
  });

/** Reports points with a falling loss, uploads checkpoints and samples, and is then preempted. */
async function runFirstAttempt(job: OfferedJob): Promise<void> {
  const points = Array.from({ length: 250 }, (_, step) => ({ step, values: { loss: 1 - step / 1_000 } }));
  await rig.postPoints(job, points);
  await rig.uploadFile(job, 'checkpoint-000100.bin', kilobytes(20));
  for (const prompt of prompts)
    await rig.uploadFile(job, `samples/step_100_${prompt}.png`, pictureOf(prompt, 100));
  await rig.uploadFile(job, 'checkpoint-200/model.safetensors', kilobytes(300));
  await rig.uploadFile(job, 'checkpoint-200/state.json', kilobytes(2));
  await rig.uploadFile(job, 'checkpoint-200/checkpoint-manifest.json', manifest);
  for (const prompt of prompts)
    await rig.uploadFile(job, `samples/step_200_${prompt}.png`, pictureOf(prompt, 200));
  await rig.report(job, 'running', { progress: { current_step: 237, total_steps: 400 } });
  await rig.report(job, 'failed', { cause: 'preempted' });
}

const urlOf = (id: string = resumedJob.jobId): string => `${orchestrator.url}/jobs/${id}?tab=files`;
const open = async (page: Page, id?: string): Promise<void> => {
  await page.goto(urlOf(id));
  await expect(page.locator('.files')).toHaveAttribute('aria-busy', 'false');
};
const rowOf = (page: Page, table: string, name: string): Locator =>
  page.getByRole('table', { name: table }).getByRole('row').filter({ hasText: name });
const tileOf = (page: Page, name: string): Locator =>
  page.getByRole('button', { name: new RegExp(`^Show ${name} `) });
const expectLoaded = (image: Locator): Promise<void> => expect.poll(() => imageWidth(image)).toBe(96);

const takePictureOf = (page: Page, name: string): Promise<void> =>
  takePicture(page, `files-${name}`, { fullPage: true });

const bytesOf = async (download: Download): Promise<Buffer> => readFileSync(await download.path());

async function downloadBy(page: Page, link: Locator): Promise<Download> {
  const [download] = await Promise.all([page.waitForEvent('download'), link.click()]);
  return download;
}

test('labels checkpoints as newest, best or incomplete, and downloads their files', async ({ page }) => {
  await signIn(page, orchestrator);
  await page.goto(`${orchestrator.url}/jobs/${resumedJob.jobId}`);
  await page.getByRole('tab', { name: 'Files' }).click();
  await expect(page.getByRole('status').filter({ hasText: '15 files, ' })).toBeVisible();
  const checkpoints = page.getByRole('table', { name: 'Checkpoints' });
  await expect(checkpoints.getByRole('rowheader')).toHaveText([
    'checkpoint-300 incomplete',
    'checkpoint-200 newest best',
    'checkpoint-000100.bin',
  ]);
  // The value is the mean loss since the previous checkpoint.
  await expect(rowOf(page, 'Checkpoints', 'checkpoint-200').getByRole('cell').first()).toHaveText('200');
  await expect(rowOf(page, 'Checkpoints', 'checkpoint-200')).toContainText(/0\.8\d/);
  const single = await downloadBy(page, page.getByRole('link', { name: 'Download checkpoint-000100.bin' }));
  expect(single.suggestedFilename()).toBe('checkpoint-000100.bin');
  expect((await bytesOf(single)).length).toBe(20_000);

  const opener = page.getByRole('button', { name: 'Files of checkpoint-200' });
  await opener.focus();
  await page.keyboard.press('Enter');
  await expect(opener).toHaveAttribute('aria-expanded', 'true');
  await expect(page.locator('.files-parts li')).toContainText([
    'checkpoint-manifest.json',
    'state.json',
    'model.safetensors',
  ]);
  const part = page.getByRole('link', { name: 'Download checkpoint-200/model.safetensors' });
  expect((await bytesOf(await downloadBy(page, part))).length).toBe(300_000);
  await takePictureOf(page, 'light');
});

test('groups samples by step, newest first, and displays only real images', async ({ page }) => {
  const requested: string[] = [];
  page.on('request', request => requested.push(new URL(request.url()).pathname));
  await signIn(page, orchestrator);
  await open(page);
  await expect(page.locator('.sample-group h3')).toHaveText(['samples', 'Step 200', 'Step 100']);
  await expect(page.getByRole('list', { name: 'Step 200' }).locator('.sample-name')).toHaveText([
    'step_200_poppy.png',
    'step_200_rose.png',
    'step_200_tulip.png',
  ]);
  await tileOf(page, 'step_100_rose.png').scrollIntoViewIfNeeded();
  for (const step of [100, 200])
    for (const prompt of prompts)
      await expectLoaded(tileOf(page, `step_${step}_${prompt}.png`).locator('img'));
  await expect(tileOf(page, 'broken.png')).toContainText('The sample could not be shown');
  await expect(tileOf(page, 'scan.tiff')).toContainText('Your browser cannot show this');
  expect(requested.filter(path => /scan\.tiff|page\.svg/.test(path))).toEqual([]);
  const sources = await page
    .locator('img')
    .evaluateAll((all: readonly { readonly src: string }[]) => all.map(({ src }) => src));
  expect(sources.filter(src => !/^(?:blob|data):|\/assets\//.test(src))).toEqual([]);
  await expect(rowOf(page, 'Models and other files', 'logs/page.svg')).toContainText('other');
});

test('opens a sample, moves to the next sample by key, and compares samples of two steps', async ({
  page,
}) => {
  await signIn(page, orchestrator);
  await open(page);
  await tileOf(page, 'step_200_rose.png').focus();
  await page.keyboard.press('Enter');
  const viewer = page.getByRole('dialog', { name: 'Sample step_200_rose.png' });
  await expectLoaded(viewer.getByRole('img', { name: 'step_200_rose.png' }));
  await expect(viewer.getByRole('status')).toHaveText('4 of 8');
  await viewer.getByLabel('Compare with').selectOption('Step 100');
  await expectLoaded(viewer.getByRole('img', { name: 'step_100_rose.png' }));
  await expect(viewer.locator('figcaption')).toHaveText(['Step 200', 'Step 100']);
  await takePictureOf(page, 'viewer');
  await expectAccessible(page);
  await viewer.getByRole('button', { name: 'Next' }).focus();
  await page.keyboard.press('ArrowRight');
  // The viewer moves to the next prompt and still compares it with the same earlier step.
  const next = page.getByRole('dialog', { name: 'Sample step_200_tulip.png' });
  await expectLoaded(next.getByRole('img', { name: 'step_100_tulip.png' }));
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('ArrowLeft');
  await expect(page.getByRole('dialog', { name: 'Sample step_200_poppy.png' })).toBeVisible();
  const link = page.getByRole('dialog').getByRole('link', { name: /^Download/ });
  expect(await bytesOf(await downloadBy(page, link))).toEqual(Buffer.from(pictureOf('poppy', 200)));
  await page.keyboard.press('Escape');
  await expect(page.getByRole('dialog')).toHaveCount(0);
  await expect(tileOf(page, 'step_200_rose.png')).toBeFocused();
});

test('shows the checkpoint that an attempt continued from', async ({ page }) => {
  await signIn(page, orchestrator);
  await page.goto(`${orchestrator.url}/jobs/${resumedJob.jobId}`);
  const second = page.getByRole('listitem').filter({ hasText: 'Attempt 2' });
  await expect(second).toContainText('Continued from checkpoint-200 at step 200');
  await expect(second).toContainText(/\d+ steps repeated/);
  await expect(page.getByRole('listitem').filter({ hasText: 'Attempt 1' })).not.toContainText('Continued');
});

test('allows blob URLs only for images and videos in the content security policy', async ({ page }) => {
  await signIn(page, orchestrator);
  const response = await page.goto(urlOf());
  const policy = (await response?.allHeaders())?.['content-security-policy']?.split('; ');
  expect(policy).toEqual(
    expect.arrayContaining([
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "img-src 'self' blob: data:",
      "media-src 'self' blob:",
      "connect-src 'self'",
    ]),
  );
  expect(policy?.filter(rule => rule.includes('blob:'))).toHaveLength(2);
  expect(policy?.join(' ')).not.toContain('unsafe');
});

test('deletes a checkpoint with all its files after a confirmation', async ({ page }) => {
  const job = await rig.startNext('with-checkpoints');
  await rig.uploadFile(job, 'checkpoint-10/a.bin', kilobytes(3));
  await rig.uploadFile(job, 'checkpoint-10/sample.png', pictureOf('rose', 10));
  await rig.uploadFile(
    job,
    'checkpoint-10/checkpoint-manifest.json',
    JSON.stringify({ files: [{ path: 'a.bin', bytes: 3_000, sha256: sha256(kilobytes(3)) }] }),
  );
  await rig.uploadFile(job, 'checkpoint-20.bin', kilobytes(4));
  await signIn(page, orchestrator);
  await open(page, job.jobId);
  const deletion = page.getByRole('button', { name: 'Delete checkpoint-20.bin' });
  await deletion.click();
  const question = page.getByRole('alertdialog', { name: 'Delete checkpoint-20.bin?' });
  await expect(question).toContainText('It is deleted permanently: 4 kB.');
  await expect(question).toContainText('The next attempt of this job would continue from it.');
  await expectAccessible(page);
  await page.keyboard.press('Escape');
  await expect(deletion).toBeFocused();

  await page.getByRole('button', { name: 'Delete checkpoint-10', exact: true }).click();
  await expect(page.getByRole('alertdialog')).toContainText('All of its 2 files are deleted permanently');
  await expect(page.getByRole('alertdialog')).not.toContainText('The next attempt');
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click();
  await expect(page.getByText('checkpoint-10 was deleted.')).toBeVisible();
  await expect(page.getByRole('rowheader')).toHaveText(['checkpoint-20.bin newest']);
  const { artifacts } = (await orchestrator.call('GET', `/api/queue/${job.jobId}/artifacts`)) as {
    readonly artifacts: readonly { readonly key: string }[];
  };
  expect(artifacts.map(({ key }) => key)).toEqual(['checkpoint-20.bin', 'checkpoint-10/sample.png']);

  await page.route('**/artifacts/checkpoint-20.bin', route =>
    route.request().method() === 'DELETE' ? route.abort() : route.continue(),
  );
  await deletion.click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click();
  await expect(page.getByText('1 of 1 files of checkpoint-20.bin could not be deleted')).toBeVisible();
  await expect(page.getByRole('rowheader')).toHaveText(['checkpoint-20.bin newest']);
});

test('shows new files of a job live, explains why a job has no files, and retries after an error', async ({
  page,
}) => {
  const job = await rig.startNext('without-files');
  await signIn(page, orchestrator);
  await open(page, job.jobId);
  await expect(page.getByText('No files yet. Checkpoints, samples')).toBeVisible();
  await expect(page.getByText('SIMPLETUNER_UPLOAD_ENDPOINT')).toBeVisible();
  await takePictureOf(page, 'empty');
  await expectAccessible(page);
  await rig.uploadFile(job, 'checkpoint-1.bin', kilobytes(1));
  await rig.report(job, 'running', { progress: { current_step: 1, total_steps: 9 } });
  await expect(page.getByRole('rowheader', { name: 'checkpoint-1.bin' })).toBeVisible();
  await rig.uploadFile(job, 'step_2.png', pictureOf('rose', 2));
  await page.getByRole('button', { name: 'Refresh' }).click();
  await expectLoaded(tileOf(page, 'step_2.png').locator('img'));

  const waiting = await orchestrator.submit({
    config: {},
    config_name: 'far',
    worker_labels: { no: 'body' },
  });
  await open(page, waiting);
  await expect(page.getByText('No files yet. They appear after a worker starts the job.')).toBeVisible();
  await page.route('**/api/queue/*/artifacts?*', route => route.abort());
  await page.reload();
  await expect(page.getByText(/^The files could not be loaded/)).toBeVisible();
  await page.unroute('**/api/queue/*/artifacts?*');
  await page.getByRole('button', { name: 'Try again' }).click();
  await expect(page.getByText('No files yet. They appear after a worker starts the job.')).toBeVisible();
});

test('tells users without the permission why they see no samples, and sends no refused requests', async ({
  page,
}) => {
  const token = await orchestrator.createToken('watcher', ['queue.view']);
  const refused: string[] = [];
  page.on('response', response => {
    if (/^40[13]/.test(String(response.status()))) refused.push(response.url());
  });
  await signInWithToken(page, orchestrator.url, token);
  refused.length = 0;
  await open(page);
  await expect(page.getByText('You need the permission')).toBeVisible();
  await expect(page.getByRole('rowheader').first()).toBeVisible();
  await expect(page.getByRole('link', { name: /^Download/ })).toHaveCount(0);
  await expect(page.getByRole('button', { name: /^Delete/ })).toHaveCount(0);
  await expect(page.locator('.sample img')).toHaveCount(0);
  expect(refused).toEqual([]);
  await expectAccessible(page);
});

for (const [name, theme, width] of [
  ['dark', 'dark', 1280],
  ['phone', 'light', 390],
  ['phone-dark', 'dark', 390],
] as const)
  test(`keeps the files readable and within a ${theme} page of ${width} px`, async ({ page }) => {
    await page.setViewportSize({ width, height: 800 });
    await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
    await signIn(page, orchestrator);
    await open(page);
    await page.getByRole('button', { name: 'Files of checkpoint-200' }).click();
    // Only samples near the window load.
    await tileOf(page, 'step_200_rose.png').scrollIntoViewIfNeeded();
    await expectLoaded(tileOf(page, 'step_200_rose.png').locator('img'));
    await takePictureOf(page, name);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
    await expectAccessible(page);
    await tileOf(page, 'step_200_rose.png').click();
    await expectLoaded(page.getByRole('dialog').getByRole('img'));
    await takePictureOf(page, `${name}-viewer`);
    expect(await findOverflows(page)).toEqual([]);
    await expectAccessible(page);
  });

for (const language of ['pseudo', 'es', 'zh', 'hi', 'ja'])
  test(`fits the files on a phone without cut-off text in the language ${language}`, async ({ page }) => {
    await setLanguage(page, language);
    await page.setViewportSize({ width: 390, height: 800 });
    const serverTexts = recordServerTexts(page);
    await signIn(page, orchestrator);
    await open(page);
    await expectLoaded(page.locator('.sample img').first());
    await expectFits(page);
    if (language === 'pseudo') expect(await serverTexts.untranslated(await readTexts(page))).toEqual([]);
    else await takePictureOf(page, language);
    await page.locator('.sample').first().click();
    await expect(page.getByRole('dialog')).toBeVisible();
    await expectFits(page);
    if (language === 'pseudo') expect(await serverTexts.untranslated(await readTexts(page))).toEqual([]);
  });
