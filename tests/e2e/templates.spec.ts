/** Templates of jobs: creating a template from the form or from a job, submitting, editing and deleting. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, type Locator, type Page, test } from '@playwright/test';
import { untilLoaded } from './in-page.ts';
import { expectAccessible, expectFits } from './page-checks.ts';
import {
  chooseConfig,
  type Orchestrator,
  selectMenuItem,
  signIn,
  signInWithToken,
  startOrchestrator,
} from './panel.ts';
import { openTrainingRig, type TrainingRig } from './training-rig.ts';

// From the example configs of ai-toolkit, with its comments.
const text = `---
job: extension
config:
  # this name will be the folder and filename name
  name: "my_first_flux_lora_v1"
  process:
    - type: 'sd_trainer'
      training_folder: "output"
      device: cuda:0
      network:
        type: "lora"
        linear: 16
        linear_alpha: 16
      datasets:
        - folder_path: "/path/to/images/folder"
          caption_ext: "txt"
          caption_dropout_rate: 0.05  # will drop out the caption 5% of time
          shuffle_tokens: false
          resolution: [ 512, 768, 1024 ]  # flux enjoys multiple resolutions
      train:
        batch_size: 1
        steps: 2000  # total number of steps to train 500 - 4000 is a good range
        gradient_checkpointing: true
        optimizer: "adamw8bit"
        lr: 1e-4
        dtype: bf16
      model:
        name_or_path: "black-forest-labs/FLUX.1-dev"
        is_flux: true
        quantize: true
meta:
  name: "[name]"
  version: '1.0'
`;

let orchestrator: Orchestrator;
let rig: TrainingRig;
test.beforeAll(async () => {
  test.setTimeout(60_000);
  orchestrator = await startOrchestrator({ args: ['--heartbeat-timeout', '600'] });
  writeFileSync(join(orchestrator.dataDir, 'configs/flux.yaml'), text);
  rig = await openTrainingRig(orchestrator, 'rig-1', { gpu_vram_gb: 24, trainers: [{ name: 'ai-toolkit' }] });
  await openTrainingRig(orchestrator, 'rig-2', { gpu_vram_gb: 24, trainers: [{ name: 'simpletuner' }] });
});
test.afterAll(() => orchestrator.close());

const open = async (page: Page, path: string): Promise<void> => {
  await signIn(page, orchestrator);
  await page.goto(orchestrator.url + path);
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
};
const forecastOf = (page: Page): Locator => page.getByRole('region', { name: 'If you submit now' });
const parametersOf = (page: Page): Locator => page.getByRole('region', { name: 'Values to ask for' });
const parameterOf = (page: Page, key: string): Locator =>
  parametersOf(page).locator('fieldset').filter({ hasText: key });
const saveTemplate = (name: string, parameters: readonly object[], config: object = {}) =>
  orchestrator.call('POST', '/api/templates', { name, submission: { config }, parameters });

test('saves the submit form as a template that asks for selected values, and submits a job from the template', async ({
  page,
}) => {
  await open(page, '/jobs/new');
  await chooseConfig(page, 'flux');
  await expect(forecastOf(page)).toContainText('Starts now on rig-1');
  await page.getByRole('button', { name: 'Save as template…' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Save as template' })).toBeVisible();
  await expect(parametersOf(page)).toContainText('Select the values that change from job to job.');
  await page.getByLabel('Template name').fill('Flux LoRA');
  await page.getByLabel('Description').fill('24 GB, eight bit');
  const keys = page.getByRole('region', { name: 'All values' });
  await keys.getByLabel('config.process.0.train.lr').check();
  await keys.getByLabel('Find a value').fill('folder_path');
  await expect(keys.getByRole('checkbox')).toHaveCount(1);
  await keys.getByRole('checkbox').check();
  await keys.getByLabel('Find a value').fill('linear');
  await keys.getByLabel('config.process.0.network.linear', { exact: false }).first().check();
  await keys.getByLabel('Find a value').fill('');
  await expect(keys.getByLabel('config.process.0.train.lr')).toBeChecked();

  const data = parameterOf(page, 'folder_path');
  await data.getByLabel('Label').fill('Folder of images');
  await data.getByLabel('Default').fill('');
  const rank = parameterOf(page, 'network.linear');
  await expect(rank.getByLabel('Type')).toHaveValue('integer');
  await rank.getByLabel('Label').fill('Rank');
  await rank.getByText('Help and limits').click();
  await rank.getByLabel('Allowed values').fill('8\n16\n32');
  const rate = parameterOf(page, 'train.lr');
  await expect(rate.getByLabel('Type')).toHaveValue('number');
  await rate.getByText('Help and limits').click();
  await rate.getByLabel('Largest value').fill('0.00001');
  await expect(rate.getByRole('alert')).toHaveText('Enter at most 0.00001.');
  await expect(page.getByRole('button', { name: 'Save template' })).toBeDisabled();
  await rate.getByLabel('Largest value').fill('0.01');
  await data.getByRole('button', { name: /^Move .* up$/ }).click();
  await page.getByRole('button', { name: 'Save template' }).click();

  await expect(page.getByRole('heading', { level: 1, name: 'Submit from template Flux LoRA' })).toBeVisible();
  await expect(page.getByText('24 GB, eight bit', { exact: true })).toBeVisible();
  const fields = page.getByRole('group', { name: 'Values' }).locator('.field > label');
  await expect(fields).toHaveText(['Folder of images', 'config.process.0.train.lr', 'Rank', 'Job name']);
  await expect(forecastOf(page)).toContainText('Enter a value: Folder of images');
  await page.getByRole('button', { name: 'Submit', exact: true }).click();
  await expect(page.getByRole('alert')).toHaveText('Enter a value.');
  await page.getByLabel('Folder of images').fill('/data/cat');
  await page.getByLabel('config.process.0.train.lr').fill('2');
  await expect(page.getByRole('alert')).toHaveText('Enter at most 0.01.');
  await page.getByLabel('config.process.0.train.lr').fill('3e-4');
  await page.getByLabel('Rank').selectOption('32');
  await expect(forecastOf(page)).toContainText('Starts now on rig-1');
  await expect(forecastOf(page)).toContainText('1 of 2 workers fit');
  const changes = page.getByRole('table', { name: 'Differences from the template' });
  await expect(changes.getByRole('row')).toHaveText([
    /Setting/,
    /folder_path.*"\/path\/to\/images\/folder".*"\/data\/cat"/,
    /network\.linear.*16.*32/,
    /train\.lr.*0\.0001.*0\.0003/,
  ]);
  await page.getByLabel('Job name').fill('Cat');
  await page.getByRole('button', { name: 'Submit', exact: true }).click();
  await page.getByRole('link', { name: 'Open job' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Cat' })).toBeVisible();
  await expect(page.getByRole('link', { name: 'Flux LoRA' })).toBeVisible();
  const job = await rig.takeOffer();
  const { config } = await orchestrator.call('GET', `/api/queue/${job.jobId}/config`);
  expect(config).toMatchObject({
    config: {
      name: 'my_first_flux_lora_v1',
      process: [{ network: { linear: 32, linear_alpha: 16 }, train: { lr: 3e-4, steps: 2000 } }],
    },
  });
  await rig.report(job, 'completed');
});

test('saves a job as a template from the menu of the job, but refuses to store a secret', async ({
  page,
}) => {
  const config = { script: 'flux_train_network.py', seed: 4, huggingface_token: 'hf_0123456789abcdef' };
  await orchestrator.submit({ config_name: 'from-menu', config, gpu_count: 900 });
  await open(page, '/jobs');
  await selectMenuItem(page, 'from-menu', 'Save as template');
  await page.getByLabel('Template name').fill('From a job');
  await page.getByLabel('seed').check();
  await page.getByRole('button', { name: 'Save template' }).click();
  await expect(page.getByRole('alert')).toContainText(
    'must not contain secrets: remove the value of huggingface_token',
  );
  await expect(page.getByRole('main')).not.toContainText('hf_0123456789abcdef');
  await page.getByLabel('huggingface_token').check();
  await expect(parameterOf(page, 'huggingface_token')).toContainText('does not store this secret');
  await page.getByRole('button', { name: 'Save template' }).click();
  await expect(page).toHaveURL(/template=From/);
  await expect(page.getByRole('button', { name: 'Edit template' })).toBeVisible();
  await expect(page.getByLabel('seed')).toHaveValue('4');
  await expect(page.getByLabel('huggingface_token')).toHaveAttribute('type', 'password');
});

test('finds, changes and deletes a template, and shows changes of other users immediately', async ({
  page,
}) => {
  for (const name of ['alpha', 'beta', 'gamma'])
    await saveTemplate(name, [{ key: 'lr', type: 'number' }], { lr: 1 });
  await open(page, '/jobs/new');
  const picker = page.getByLabel('Template', { exact: true });
  await picker.click();
  await picker.fill('gam');
  await expect(page.getByRole('listbox', { name: 'Templates' }).getByRole('option')).toHaveText([
    /gamma.*asks for 1 value/,
  ]);
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(/template=gamma$/);
  await expect(page.getByLabel('lr')).toHaveValue('');

  await page.getByRole('button', { name: 'Edit template' }).click();
  await parameterOf(page, 'lr').getByLabel('Default').fill('5');
  await page.getByLabel('Template name').fill('beta');
  await page.getByRole('button', { name: 'Save template' }).click();
  await expect(page.getByRole('alert')).toContainText('There is a template "beta" already');
  await page.getByLabel('Template name').fill('delta');
  await page.getByRole('button', { name: 'Save template' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Submit from template delta' })).toBeVisible();
  await expect(page.getByLabel('lr')).toHaveValue('5');

  await orchestrator.call('PUT', '/api/templates/delta', {
    name: 'delta',
    submission: { config: { lr: 1 } },
    parameters: [{ key: 'lr', type: 'number', label: 'Rate' }],
  });
  await expect(page.getByLabel('Rate')).toBeVisible();
  await page.getByLabel('Rate').fill('7');
  await page.getByRole('button', { name: 'Edit all settings' }).click();
  await expect(page.locator('.editor textarea')).toHaveValue(/"lr": 7/);

  await page.goto(`${orchestrator.url}/jobs/new?template=delta`);
  await page.getByRole('button', { name: 'Delete template' }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click();
  await expect(page).toHaveURL(/\/jobs\/new$/);
  await page.goto(`${orchestrator.url}/jobs/new?template=delta`);
  await expect(page.getByRole('alert')).toContainText('There is no template delta.');
});

test('submits a sweep over two parameters of a template, and explains invalid values of a sweep', async ({
  page,
}) => {
  await saveTemplate(
    'swept',
    [
      { key: 'lr', type: 'number', default: 1, max: 10 },
      { key: 'optimizer', choices: ['adamw', 'lion', 'prodigy'], default: 'adamw' },
    ],
    { script: 'flux_train_network.py', lr: 1, optimizer: 'adamw', seed: 4, network: { rank: 8 } },
  );
  await open(page, '/jobs/new?template=swept');
  const several = page.getByRole('button', { name: 'Try several values' });
  await several.first().click();
  await expect(page.getByLabel('lr')).toHaveValue('1');
  await page.getByLabel('lr').fill('2\n20');
  await expect(page.getByRole('alert')).toHaveText('20: Enter at most 10.');
  await page.getByLabel('lr').fill('2\n2.0');
  await expect(page.getByRole('alert')).toHaveText('2.0 is given twice.');
  await page.getByLabel('lr').fill('2\n3');
  await several.click();
  await page.getByRole('group', { name: 'optimizer' }).getByLabel('lion').check();
  await page.getByRole('button', { name: 'Vary another value' }).click();
  await page.getByLabel('Path in the config').fill('lost.key');
  await expect(page.getByRole('alert').first()).toHaveText('The config has no such value.');
  await page.getByLabel('Path in the config').fill('seed');
  await page.getByLabel('Values to try').fill('4\nfive');
  await expect(page.getByRole('alert')).toHaveText('five: Enter a whole number.');
  await page.getByLabel('Values to try').fill(Array.from({ length: 65 }, (_, n) => n).join('\n'));
  await expect(page.getByRole('alert').first()).toContainText(
    'A sweep has at most 256 jobs. This would be 260.',
  );
  await page.getByLabel('Values to try').fill('4\n5');
  const summary = page.getByText('Submits 8 jobs:');
  await expect(summary).toBeVisible();
  await page.getByRole('button', { name: 'Do not try several values of seed' }).click();
  await expect(page.getByText('Submits 4 jobs:')).toBeVisible();
  await page.getByRole('button', { name: 'Submit', exact: true }).click();
  await expect(page.getByRole('heading', { name: '4 jobs submitted' })).toBeFocused();
  await expect(page.getByRole('status').getByRole('listitem')).toHaveText([
    'swept lr=2 optimizer=adamw',
    'swept lr=2 optimizer=lion',
    'swept lr=3 optimizer=adamw',
    'swept lr=3 optimizer=lion',
  ]);
  await page.getByRole('link', { name: 'Open the group' }).click();
  await expect(page.getByRole('link', { name: 'swept lr=3 optimizer=lion' })).toBeVisible();
});

test('offers templates, but no changes of templates, to users who may only submit jobs', async ({ page }) => {
  await saveTemplate('for all', [{ key: 'lr', type: 'number', default: 1 }], { lr: 1 });
  const token = await orchestrator.createToken('ada', ['queue.submit.own', 'queue.view.own']);
  await signInWithToken(page, orchestrator.url, token);
  await page.goto(`${orchestrator.url}/jobs/new`);
  await expect(page.getByRole('button', { name: 'Submit', exact: true })).toBeVisible();
  await expect(page.getByRole('button', { name: 'Save as template…' })).toHaveCount(0);
  await page.goto(`${orchestrator.url}/jobs/new?template=for%20all`);
  await expect(page.getByLabel('lr')).toHaveValue('1');
  for (const name of ['Edit template', 'Delete template'])
    await expect(page.getByRole('button', { name })).toHaveCount(0);
  await page.getByRole('button', { name: 'Submit', exact: true }).click();
  await expect(page.getByRole('link', { name: 'Open job' })).toBeVisible();
});

async function expectShownWell(page: Page): Promise<void> {
  await untilLoaded(page);
  await expectFits(page);
  await expectAccessible(page);
}

for (const width of [390, 1440])
  test(`shows accessible template pages that fit ${width} px`, async ({ page }) => {
    await page.setViewportSize({ width, height: 900 });
    await saveTemplate(`wide ${width}`, [
      {
        key: 'learning_rate',
        type: 'number',
        default: 1e-4,
        min: 0,
        max: 1,
        help: 'Lower it for a large rank.',
      },
      { key: 'a_boolean_with_a_long_name', type: 'boolean', default: true, label: 'Gradient checkpointing' },
      { key: 'optimizer', choices: ['adamw', 'lion'] },
    ]);
    await open(page, `/jobs/new?template=wide%20${width}`);
    await expectShownWell(page);
    await page.getByRole('button', { name: 'Edit template' }).click();
    await expectShownWell(page);
  });
