/** The submit page: the form, the text of the config, and the forecast of when and where the job would run. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, type Locator, type Page, test } from '@playwright/test';
import { untilLoaded } from './in-page.ts';
import { expectAccessible, expectFits, takePicture } from './page-checks.ts';
import { chooseConfig, type Orchestrator, signIn, startOrchestrator } from './panel.ts';
import { openTrainingRig, type TrainingRig } from './training-rig.ts';

// A config as users write it, with comments above, behind and between the settings.
const text = `# LoRA of my dog
script = "sdxl_train_network.py"
pretrained_model_name_or_path = "stabilityai/stable-diffusion-xl-base-1.0"
train_data_dir = "/data/dog"
network_module = "networks.lora"
network_dim = 16 # rank
learning_rate = 1e-4 # low
max_train_steps = 1000

# the big cards take more
resolution = "1024,1024"
train_batch_size = 2
optimizer_type = "AdamW8bit"
mixed_precision = "bf16"
`;

let orchestrator: Orchestrator;
let rig: TrainingRig;
test.beforeAll(async () => {
  test.setTimeout(60_000);
  orchestrator = await startOrchestrator({ args: ['--heartbeat-timeout', '600'] });
  writeFileSync(join(orchestrator.dataDir, 'configs/dog.toml'), text);
  rig = await openTrainingRig(orchestrator, 'rig-1', { gpu_vram_gb: 24, trainers: [{ name: 'kohya' }] });
  await openTrainingRig(orchestrator, 'rig-2', { gpu_vram_gb: 24, trainers: [{ name: 'simpletuner' }] });
  for (const memoryMb of [20_480, 21_913]) {
    await orchestrator.submit({ config_name: 'dog' });
    const job = await rig.takeOffer();
    await rig.postPoints(job, [{ step: 1, values: { 'gpu.0.memory_mb': memoryMb } }]);
    await rig.report(job, 'completed', { progress: { step: 1_000, total_steps: 1_000 } });
  }
});
test.afterAll(() => orchestrator.close());

/** Completes the next job that the rig is offered. */
const completeNextJob = async (): Promise<void> => rig.report(await rig.takeOffer(), 'completed');

const open = async (page: Page, path = '/jobs/new'): Promise<void> => {
  await signIn(page, orchestrator);
  await page.goto(orchestrator.url + path);
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
};

/** Presses Tab until an element has the focus. */
async function tabTo(page: Page, selector: string): Promise<void> {
  const maxTabs = 40;
  for (let count = 0; count < maxTabs && (await page.locator(`${selector}:focus`).count()) === 0; count++)
    await page.keyboard.press('Tab');
}

const editorOf = (page: Page): Locator => page.locator('.editor textarea');
const forecastOf = (page: Page): Locator => page.getByRole('region', { name: 'If you submit now' });

test('shows which workers can run the job while the user changes settings in the form and in the text', async ({
  page,
}) => {
  await open(page);
  const forecast = forecastOf(page);
  await expect(forecast).toContainText('Choose a configuration to see which workers can run it.');
  await chooseConfig(page, 'dog');
  await expect(editorOf(page)).toHaveValue(text);
  await expect(forecast).toContainText('Starts now on rig-1');
  await expect(forecast).toContainText('1 of 2 workers fit');
  await expect(forecast.getByRole('listitem').filter({ hasText: 'rig-2' })).toContainText(
    'does not have the trainer kohya',
  );
  await expect(forecast).toContainText('Needs 21.4 of 24 GB per GPU on rig-1');
  await expect(forecast).toContainText('From the last 2 similar jobs');

  const rate = page.getByLabel('Learning rate');
  await expect(rate).toHaveValue('1e-4');
  await rate.fill('3e-4');
  await expect(editorOf(page)).toHaveValue(text.replace('1e-4', '3e-4'));
  const changes = page.getByRole('table', { name: 'Differences from dog' });
  await expect(changes.getByRole('row').last()).toHaveText(/learning_rate\s*0\.0001\s*0\.0003/);
  await editorOf(page).fill(text.replace('network_dim = 16', 'network_dim = 64'));
  await expect(page.getByLabel('LoRA rank')).toHaveValue('64');
  await expect(forecast).toContainText('No similar job has completed yet.');

  await page.getByText('Advanced options').click();
  await page.getByLabel('GPUs', { exact: true }).fill('900');
  await expect(forecast).toContainText('No registered worker meets these requirements');
  await page.getByLabel('GPUs', { exact: true }).fill('');
  await expect(forecast).toContainText('Starts now on rig-1');

  await page.getByLabel('Job name').fill('Dog at rank 64');
  await page.getByRole('button', { name: 'Submit', exact: true }).click();
  await page.getByRole('link', { name: 'Open job' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Dog at rank 64' })).toBeVisible();
  await completeNextJob();
});

test('shows how a duplicate differs from its original job, and keeps the changes after a reload', async ({
  page,
}) => {
  const config = { script: 'flux_train_network.py', pretrained_model_name_or_path: 'flux', seed: 4 };
  const id = await orchestrator.submit({ config: { ...config, network_module: 'a' }, gpu_count: 900 });
  await open(page, `/jobs/new?from=${id}`);
  await page.getByLabel('Seed').fill('5');
  const row = page.getByRole('row').filter({ hasText: 'seed' });
  await expect(row.locator('.diff-before')).toHaveText('4');
  await expect(row.locator('.diff-after')).toHaveText('5');
  await expect(forecastOf(page)).toContainText('No registered worker meets these requirements');
  await page.reload();
  await expect(row.locator('.diff-after')).toHaveText('5');
  await page.getByLabel('Seed').fill('4');
  await expect(row).toHaveCount(0);
});

test('lists the problems of a config, and replaces misspelt keys and values', async ({ page }) => {
  await open(page);
  const editor = editorOf(page);
  await editor.fill(text.replace('learning_rate', 'lerning_rate').replace('"bf16"', '"bf-16"'));
  const problems = page.getByRole('list', { name: 'Problems in the text' });
  await expect(problems.getByRole('listitem')).toHaveText([
    /^Line 7: lerning_rate is unknown to kohya's sd-scripts\./,
    /^Line 14: mixed_precision: “bf-16” is not a valid value\./,
  ]);
  await problems.getByRole('button', { name: 'Replace with learning_rate' }).click();
  await problems.getByRole('button', { name: 'Replace with bf16' }).click();
  await expect(editor).toHaveValue(text);
  await expect(problems).toHaveCount(0);

  await page.getByLabel('Steps').fill('many');
  await expect(page.getByRole('alert')).toHaveText('Enter a number.');
  await expect(editor).toHaveValue(text);
  await page.getByLabel('Steps').fill('1000');
  await editor.fill('learning_rate = ');
  await expect(page.getByRole('alert')).toContainText(/^Invalid (TOML|YAML|JSON) at line 1/);
  await expect(forecastOf(page)).toContainText('The form has a problem');
  await editor.fill('{"lr": 1}');
  await expect(page.getByLabel('Text (JSON)')).toBeVisible();
  await editor.fill(text.replace('script = ', 'script_name = '));
  await expect(forecastOf(page)).toContainText('The server refuses this job');
  await expect(forecastOf(page)).toContainText('it does not name its script');
});

test('submits a job with a parent that the user enters by id, and reports an unknown parent', async ({
  page,
}) => {
  const parent = await orchestrator.submit({ config: {}, config_name: 'base', gpu_count: 900 });
  await open(page);
  await chooseConfig(page, 'dog');
  // The fields of the config move the options down when the config has loaded.
  await expect(editorOf(page)).toHaveValue(text);
  await expect(page.getByLabel('Learning rate')).toHaveValue('1e-4');
  await page.getByText('Advanced options').click();
  const after = page.getByRole('group', { name: 'Start after other jobs' });
  await after.getByRole('combobox').first().fill('j_unknown');
  await after.getByRole('combobox').first().press('Enter');
  await expect(after.getByRole('alert')).toContainText('There is no job j_unknown');
  await after.getByRole('button', { name: 'Do not wait for j_unknown' }).click();
  await after.getByRole('combobox').first().fill(parent);
  await expect(after).toContainText('base');
  await after.getByRole('combobox', { name: 'Start when all of them' }).selectOption('end');
  await expect(forecastOf(page)).toContainText('base');
  await page.getByRole('button', { name: 'Submit', exact: true }).click();
  await expect(page.getByRole('link', { name: 'Open job' })).toBeVisible();
  const { entries } = (await orchestrator.call('GET', '/api/queue?limit=1')) as {
    readonly entries: readonly { readonly after: unknown }[];
  };
  expect(entries[0]?.after).toMatchObject({ on: 'end', parents: [{ job_id: parent, done: false }] });
});

test('completes config keys and values and submits the job with the keyboard alone', async ({ page }) => {
  await open(page);
  await page.getByLabel('Configuration name').focus();
  await page.keyboard.type('dog');
  await expect(editorOf(page)).toHaveValue(text);
  await page.keyboard.press('Escape');
  const editor = editorOf(page);
  await tabTo(page, '.editor textarea');
  await page.keyboard.press('Control+End');
  await page.keyboard.type('cache_latents_to');
  const options = page.getByRole('listbox', { name: 'Keys and values' });
  await expect(options.getByRole('option')).toHaveText(['cache_latents_to_disk']);
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await expect(editor).toHaveValue(`${text}cache_latents_to_disk = `);
  await page.keyboard.press('Control+Space');
  await expect(options.getByRole('option')).toHaveText(['true', 'false']);
  await page.keyboard.press('Enter');
  await expect(editor).toHaveValue(`${text}cache_latents_to_disk = true`);
  // Tab moves the focus out of the text, so that keyboard users can reach the rest of the page.
  await page.keyboard.press('Tab');
  await expect(editor).not.toBeFocused();
  const submit = page.getByRole('button', { name: 'Submit', exact: true });
  await tabTo(page, 'button[type="submit"]');
  await expect(submit).toBeFocused();
  await page.keyboard.press('Enter');
  await expect(page.getByRole('heading', { level: 2 })).toBeFocused();
  await completeNextJob();
});

test('shows an accessible submit form that fits in both themes and at each width', async ({ page }) => {
  test.setTimeout(90_000);
  await open(page);
  await chooseConfig(page, 'dog');
  await page.getByLabel('Learning rate').fill('3e-4');
  await expect(forecastOf(page)).toContainText('Starts now on rig-1');
  await editorOf(page).fill(`${text.replace('1e-4', '3e-4')}cashe_latents = true\n`);
  await expect(page.getByRole('list', { name: 'Problems in the text' })).toBeVisible();
  await page.getByText('Advanced options').click();
  for (const colorScheme of ['light', 'dark'] as const)
    for (const width of [1440, 1280, 390]) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 900 });
      await untilLoaded(page);
      await expect(forecastOf(page)).toHaveAttribute('aria-busy', 'false');
      await takePicture(page, `submit-form-${colorScheme}-${width}`, { fullPage: true });
      await expectAccessible(page);
      await expectFits(page);
    }
});
