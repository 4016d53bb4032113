/** Jobs that wait for other jobs, with a real worker. */
import { expect, type Locator, type Page, test } from '@playwright/test';
import { expectAccessible, expectFits } from './page-checks.ts';
import { digitsTrainer, type Orchestrator, signIn, startOrchestrator } from './panel.ts';

let orchestrator: Orchestrator;
test.beforeEach(async () => {
  orchestrator = await startOrchestrator({ args: ['--heartbeat-timeout', '8'] });
  await orchestrator.startRig('rig-1', { trainer: digitsTrainer });
});
test.afterEach(() => orchestrator.close());

/** A config of the digits trainer, without the number of epochs. */
const training = { batch_size: 32, learning_rate: 0.05, hidden: 32, checkpoint_every: 100_000 };
const submit = (name: string, epochs: number, after?: string): Promise<string> =>
  orchestrator.submit({
    name,
    config: { ...training, epochs },
    max_retries: 0,
    ...(after !== undefined && { after: [after] }),
  });
const open = (page: Page, id: string) => page.goto(`${orchestrator.url}/jobs/${id}`);
const orderOf = (page: Page): Locator => page.getByRole('region', { name: 'Order of jobs' });
const stepOf = (page: Page, title: string): Locator =>
  orderOf(page).locator('.chain-step').filter({ hasText: title });
const reasonOf = (page: Page): Locator => page.getByRole('region', { name: 'Why it is pending' });

test('shows the parent and the children of a job, and updates them live', async ({ page }) => {
  await signIn(page, orchestrator);
  const base = await submit('flux-base', 400);
  const child = await submit('flux-upscaler', 1, base);
  await open(page, child);
  await expect(reasonOf(page)).toContainText('Waits for flux-base (running');
  const parent = stepOf(page, 'Starts after completion of');
  await expect(parent.getByRole('listitem')).toContainText('running');
  await expect(parent.getByRole('progressbar')).toBeVisible();
  const last = await submit('flux-turbo', 1, child);
  await expect(stepOf(page, 'Then start').getByRole('link', { name: 'flux-turbo' })).toHaveAttribute(
    'href',
    `/jobs/${last}`,
  );
  for (const width of [390, 1440]) {
    await page.setViewportSize({ width, height: 900 });
    await expectFits(page);
  }
  await expectAccessible(page, '.chain');

  await orchestrator.call('POST', `/api/queue/${base}/cancel`);
  await expect(reasonOf(page)).toContainText('Waits for flux-base, which was cancelled. Retry that job');
  await parent.getByRole('link', { name: 'flux-base' }).click();
  await expect(page.locator('.job-title h1')).toHaveText('flux-base');
  await expect(stepOf(page, 'Then start').getByRole('link', { name: 'flux-upscaler' })).toBeVisible();
});

test('starts each job of a chain after its parent has completed', async ({ page }) => {
  await signIn(page, orchestrator);
  const first = await submit('first', 1);
  const second = await submit('second', 1, first);
  const third = await submit('third', 1, second);
  await open(page, third);
  await expect(page.locator('.job-title')).toContainText('completed', { timeout: 60_000 });
  await expect(stepOf(page, 'Starts after completion of')).toContainText('completed');
  await page.goto(`${orchestrator.url}/queue`);
  await expect(page.getByText('No pending jobs.')).toBeVisible();
});

test('selects a checkpoint of another job as input on the submit page, and links to that job on the page of the new job', async ({
  page,
}) => {
  await signIn(page, orchestrator);
  const base = await orchestrator.submit({
    name: 'flux-base',
    config: { ...training, epochs: 3, checkpoint_every: 100 },
  });
  await page.goto(`${orchestrator.url}/jobs/new`);
  await page.getByLabel('Configuration name').fill('style');
  const config = JSON.stringify({
    ...training,
    trainer: 'digits',
    epochs: 1,
    description: '{{inputs.base}}',
  });
  await page.locator('.editor textarea').fill(config);
  await page.getByText('Advanced options').click();
  const after = page.getByRole('group', { name: 'Start after other jobs' });
  await after.getByRole('combobox').first().fill(base);
  await after.getByRole('button', { name: 'Take a file of flux-base' }).click();
  const file = after.getByRole('group', { name: 'File of flux-base' });
  await file.getByRole('combobox').selectOption('Another file or folder');
  await file.getByRole('textbox', { name: 'Input name' }).fill('');
  await page.getByRole('button', { name: 'Submit', exact: true }).click();
  await expect(after.getByRole('alert')).toHaveText('Enter a name for each input, and the name of its file.');
  await file.getByRole('textbox', { name: 'Input name' }).fill('base');
  await file.getByRole('combobox').selectOption('Best checkpoint');
  await expect(file).toContainText('{{inputs.base}}');
  await page.getByRole('button', { name: 'Submit', exact: true }).click();
  await page.getByRole('link', { name: 'Open job' }).click();
  const inputs = page.getByRole('region', { name: 'Files of other jobs' });
  await expect(inputs).toContainText('Best checkpoint');
  await expect(page.locator('.job-title')).toContainText('completed', { timeout: 60_000 });
  const link = inputs.getByRole('link', { name: /checkpoint/ });
  await expect(link).toHaveAttribute('href', `/jobs/${base}?tab=files`);
  await expect(inputs).toContainText('1 file');
  await expectAccessible(page, '.job-inputs');
  await link.click();
  await expect(page.locator('.job-title h1')).toHaveText('flux-base');
});
