/** Names, tags and notes of jobs in the panel, and the page that compares jobs. */
import { expect, type Page, test } from '@playwright/test';
import { pngOf } from '../support/picture.ts';
import { expectShownWell } from './page-checks.ts';
import { type Orchestrator, rowOf, signIn, startOrchestrator } from './panel.ts';
import { type OfferedJob, openTrainingRig, type TrainingRig } from './training-rig.ts';

let orchestrator: Orchestrator;
let rig: TrainingRig;
test.beforeAll(async () => {
  test.setTimeout(60_000);
  orchestrator = await startOrchestrator({ args: ['--heartbeat-timeout', '600'] });
  rig = await openTrainingRig(orchestrator, 'rig-1');
  await orchestrator.call('POST', '/api/queue/sweeps', {
    config_name: 'flowers',
    config: { trainer: 'selftest', learning_rate: 1, rank: 1, optimizer: 'x' },
    group: 'rates',
    tags: ['baseline'],
    gpu_count: 0,
    sweep: [
      { key: 'learning_rate', values: [1e-4, 3e-4] },
      { key: 'rank', values: [8, 16] },
      { key: 'optimizer', values: ['adamw', 'prodigy'] },
    ],
  });
  // Each of the eight jobs has a different loss. The first job has the lowest.
  for (const [index, level] of [1, 6, 3, 8, 5, 2, 7, 4].entries()) {
    const job = await rig.takeOffer();
    await postLoss(job, level);
    if (index < 2) await uploadSamples(job, index);
    await rig.report(job, 'running', { progress: { step: 100, total_steps: 100, loss: 0.1 * level } });
    await rig.report(job, 'completed');
  }
});
test.afterAll(() => orchestrator.close());

const widths = [1280, 390] as const;

/** Uploads samples of two prompts at two steps. The pictures differ for each `number`. */
async function uploadSamples(job: OfferedJob, number: number): Promise<void> {
  for (const step of [50, 100])
    for (const prompt of ['red', 'blue']) {
      const body = pngOf(64, 64, (x, y) =>
        x < step / 2 && y > number * 20 ? [200, 60, step] : [240, 240, 240],
      );
      await rig.uploadFile(job, `step_${step}_${prompt}_0_64x64.png`, body);
    }
}

const postLoss = (job: OfferedJob, level: number): Promise<void> =>
  rig.postPoints(
    job,
    Array.from({ length: 100 }, (_, step) => ({
      step,
      values: { loss: level * (0.1 + Math.exp(-step / 20)) },
    })),
  );

async function open(page: Page, path: string): Promise<void> {
  await signIn(page, orchestrator);
  await page.goto(orchestrator.url + path);
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
}

test('shows the values, results and curves of all jobs of a group, and marks the best job', async ({
  page,
}) => {
  await open(page, '/compare?group=rates');
  const table = page.locator('.compare-table');
  await expect(table.getByRole('row')).toHaveCount(9);
  for (const key of ['learning_rate', 'rank', 'optimizer'])
    await expect(table.getByRole('columnheader', { name: key, exact: true })).toBeVisible();
  const best = table.getByRole('row').filter({ has: page.getByText('Best', { exact: true }) });
  await expect(best).toHaveCount(1);
  await expect(best).toContainText('0.0001');
  await table.getByRole('button', { name: 'Best loss' }).click();
  await expect(table.getByRole('columnheader', { name: 'Best loss' })).toHaveAttribute(
    'aria-sort',
    'ascending',
  );
  await expect(table.getByRole('row').nth(1)).toContainText('Best');
  await expect(page.locator('.parallel polyline')).toHaveCount(8);
  await expect(page.locator('.curve-plot')).toBeVisible();
  await expect(page.locator('.curve-legend li')).toHaveCount(8);
  await expectShownWell(page, 'compare-group', widths);
  await best.getByRole('link').click();
  await expect(page).toHaveURL(/\/jobs\/j_/);
});

test('shows the samples of the first four jobs at a common step, and keeps the step in the URL', async ({
  page,
}) => {
  await open(page, '/compare?group=rates');
  const samples = page.getByRole('region', { name: 'Samples of the first 4 jobs' });
  await expect(samples.getByRole('columnheader')).toHaveCount(4);
  await samples.getByRole('slider').scrollIntoViewIfNeeded();
  await expect(samples.locator('img').first()).toBeVisible();
  await expect(samples.getByRole('button', { name: /, Step 100$/ })).toHaveCount(4);
  await samples.getByRole('button', { name: 'Previous step' }).click();
  await expect(samples.getByRole('button', { name: /, Step 50$/ })).toHaveCount(4);
  await expect(page).toHaveURL(/group=rates.*at=step-50/);
  await page.reload();
  await expect(samples.getByRole('button', { name: /, Step 50$/ })).toHaveCount(4);
  await expectShownWell(page, 'compare-samples', widths);
  await samples.getByRole('link', { name: 'Open in gallery' }).click();
  await expect(page).toHaveURL(/\/gallery\?jobs=j_.*at=step-50/);
});

test('compares the jobs that are selected in the table, and names them in the URL', async ({ page }) => {
  for (const rate of [1, 2])
    await orchestrator.submit({
      config_name: `plain-${rate}`,
      config: { model_type: 'lora', rate, same: 1 },
      gpu_count: 9,
    });
  await open(page, '/jobs?q=plain');
  for (const name of ['plain-1', 'plain-2']) await rowOf(page, name).getByRole('checkbox').check();
  await page.getByRole('link', { name: 'Compare', exact: true }).click();
  await expect(page).toHaveURL(/\/compare\?jobs=j_\w+,j_\w+$/);
  await expect(page.getByRole('columnheader', { name: 'rate', exact: true })).toBeVisible();
  await expect(page.getByRole('columnheader', { name: 'same', exact: true })).toHaveCount(0);
  await expect(page.getByText('None of these jobs has reported a curve yet.')).toBeVisible();
  await page.goto(`${page.url()},j_unknown`);
  await expect(page.getByText('1 job was not found.')).toBeVisible();
  await expect(page.getByRole('table').getByRole('row')).toHaveCount(3);
});

test('explains how to choose jobs when the URL of the compare page names none', async ({ page }) => {
  await open(page, '/compare');
  await expect(page.getByText('Choose at least two jobs to compare.')).toBeVisible();
});

test('edits the name, group, tags and notes of a job on its page', async ({ page }) => {
  const id = await orchestrator.submit({ config_name: 'editable', config: {}, gpu_count: 9 });
  await open(page, `/jobs/${id}`);
  await page.getByRole('button', { name: 'Edit name and notes' }).click();
  await page.getByLabel('Name', { exact: true }).fill('Tulips, low rate');
  await page.getByLabel('Group', { exact: true }).fill('two words');
  await page.getByLabel('Tags', { exact: true }).fill('one two one');
  await page.getByLabel('Notes', { exact: true }).fill('first line\nsecond line');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await expect(page.getByRole('alert')).toContainText('group');
  await page.getByLabel('Group', { exact: true }).fill('tulips');
  await expectShownWell(page, 'compare-editor', widths);
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Tulips, low rate');
  await expect(page.locator('.job-notes')).toHaveText('first line\nsecond line');
  await expectShownWell(page, 'compare-edited', widths);
  await page.getByRole('link', { name: 'Show jobs with the tag two' }).click();
  await expect(page).toHaveURL(/q=tag%3Atwo/);
  await expect(page.getByRole('row').filter({ hasText: 'Tulips, low rate' })).toBeVisible();
});

test('filters the table of jobs after a click on a group', async ({ page }) => {
  await open(page, '/jobs');
  await expectShownWell(page, 'compare-list', widths);
  await page.getByRole('link', { name: 'Show jobs of the group rates' }).first().click();
  await expect(page.getByRole('searchbox')).toHaveValue('group:rates');
  await expect(page.locator('[data-row]')).toHaveCount(8);
});

test('says on the page of a job what has changed in its config since the previous run', async ({ page }) => {
  const config = { trainer: 'selftest', model: { rank: 8 }, learning_rate: 0.0001 };
  const job = { config_name: 'poppies', gpu_count: 0 };
  const configs = [
    config,
    config,
    {
      ...config,
      model: { rank: 16 },
      learning_rate: 0.0003,
      optimizer: 'prodigy',
      seed: 7,
      resolution: 768,
      epochs: 4,
      batch_size: 2,
    },
  ];
  const ids: string[] = [];
  for (const each of configs) {
    ids.push(await orchestrator.submit({ ...job, config: each }));
    await rig.report(await rig.takeOffer(), 'completed');
  }
  await open(page, `/jobs/${ids[1]}`);
  await expect(page.getByText('Same config as the previous run')).toBeVisible();
  await page.goto(`${orchestrator.url}/jobs/${ids[2]}`);
  const changes = page.locator('.job-changes');
  await expect(changes).toContainText('Changed since the previous run');
  await expect(changes.getByRole('listitem')).toHaveText([
    'rank: 8 → 16',
    'learning_rate: 0.0001 → 0.0003',
    'optimizer: not set → prodigy',
    'seed: not set → 7',
    'resolution: not set → 768',
    'epochs: not set → 4',
  ]);
  await expect(changes.getByRole('link').first()).toHaveAttribute('href', `/jobs/${ids[1]}`);
  await expect(changes.getByRole('link', { name: 'and 1 more difference' })).toBeVisible();
  await expectShownWell(page, 'job-changes');
});
