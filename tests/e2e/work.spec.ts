/** The life of a job from submission to completion, and the drain of a busy worker. */
import { expect, type Locator, type Page, test } from '@playwright/test';
import {
  selectMenuItem,
  chooseConfig,
  digitsTrainer,
  type Orchestrator,
  rowOf,
  signIn,
  startOrchestrator,
} from './panel.ts';

let orchestrator: Orchestrator;
test.beforeAll(async () => {
  orchestrator = await startOrchestrator({ configs: ['examples/digits/configs/digits-quick.json'] });
  await orchestrator.startRig('rig-1', { trainer: digitsTrainer, upload: 'none' });
});
test.afterAll(() => orchestrator.close());

/** Returns the step in a text such as "538 / 2,814". */
async function stepOf(bar: Locator): Promise<number> {
  const text = await bar.getAttribute('aria-valuetext');
  return Number((text ?? '').split('/', 1)[0]?.replaceAll(',', '') ?? 0);
}

/** Finds a value in the details of the job by its label. */
const factOf = (page: Page, name: string): Locator =>
  page.locator('dl.facts > div').filter({ hasText: name }).locator('dd');

test('submits the digits example, and shows the progress during the training and the accuracy at the end', async ({
  page,
}) => {
  await signIn(page, orchestrator);
  await page.goto(`${orchestrator.url}/jobs`);
  await page.getByRole('link', { name: 'Submit job' }).first().click();
  await chooseConfig(page, 'digits-quick');
  await page.getByRole('button', { name: 'Submit', exact: true }).click();
  await page.getByRole('link', { name: 'Open job' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'digits-quick' })).toBeVisible();

  const bar = page.getByRole('progressbar', { name: 'Progress of job digits-quick' });
  await expect.poll(() => stepOf(bar), { timeout: 30_000 }).toBeGreaterThan(0);
  await expect(page.locator('.job-title')).toContainText('running');
  const percentOf = async (): Promise<number> => Number(await bar.getAttribute('aria-valuenow'));
  const earlierStep = await stepOf(bar);
  const earlierPercent = await percentOf();
  await expect.poll(() => stepOf(bar)).toBeGreaterThan(earlierStep);
  await expect.poll(percentOf).toBeGreaterThan(earlierPercent);

  await expect(page.locator('.job-title')).toContainText('completed', { timeout: 60_000 });
  await expect(bar).toHaveAttribute('aria-valuenow', '100');
  expect(Number(await factOf(page, 'accuracy').textContent())).toBeGreaterThan(0.95);
  await expect(page.getByRole('listitem').filter({ hasText: 'Attempt 1' })).toContainText('rig-1');

  await page.getByRole('tab', { name: 'Events' }).click();
  const events = page.getByRole('table', { name: 'Events of this job' }).locator('tbody tr');
  // The newest event is the first.
  await expect(events.locator('td:nth-child(2)')).toHaveText([
    'job.completed',
    // The stored files are a checkpoint and the model.
    'artifact.stored',
    'artifact.stored',
    'job.running',
    'job.starting',
    'job.dispatched',
    'job.submitted',
  ]);
  await expect(events.last()).toContainText('admin');
});

test('lets a draining worker finish its job, and gives the worker the next job only after the undrain', async ({
  page,
  context,
}) => {
  await signIn(page, orchestrator);
  await page.goto(`${orchestrator.url}/workers`);
  const row = rowOf(page, 'rig-1');
  const selftest = (seconds: number) => ({
    config_name: `selftest-${seconds}s`,
    config: { trainer: 'selftest', seconds },
  });
  await orchestrator.submit(selftest(8));
  const bar = row.getByRole('progressbar', { name: 'Job selftest-8s' });
  await expect(bar).toHaveAttribute('aria-valuenow', /\d/, { timeout: 20_000 });
  await selectMenuItem(page, 'rig-1', 'Drain…');
  const question = page.getByRole('alertdialog', { name: 'Drain rig-1?' });
  await expect(question).toContainText('It finishes its current job and accepts no new ones');
  await question.getByLabel(/^Reason/).fill('new fan');
  await question.getByRole('button', { name: 'Drain', exact: true }).click();
  await expect(row).toContainText('draining');
  await expect(row).toContainText('by admin: new fan');
  await expect(bar).toBeVisible();

  const nextJob = await orchestrator.submit(selftest(1));
  const jobPage = await context.newPage();
  await jobPage.goto(`${orchestrator.url}/jobs/${nextJob}`);
  const reason = jobPage.getByRole('region', { name: 'Why it is pending' });
  await expect(reason).toContainText('Waits for rig-1 (draining)');
  // The worker has finished its job, but is still draining.
  await expect(bar).toHaveCount(0, { timeout: 30_000 });
  await expect(row).toContainText('draining');
  await expect(reason).toContainText('Waits for rig-1 (draining)');

  await selectMenuItem(page, 'rig-1', 'Undrain');
  await expect(jobPage.locator('.job-title')).toContainText('completed', { timeout: 30_000 });
  await expect(row).toContainText('idle');
  const jobsPage = await context.newPage();
  await jobsPage.goto(`${orchestrator.url}/jobs`);
  await expect(rowOf(jobsPage, 'selftest-8s')).toContainText('completed');
});

test("requests samples on the page of a job, and offers only the actions that the job's config supports", async ({
  page,
}) => {
  await signIn(page, orchestrator);
  const training = { epochs: 1000, batch_size: 16, learning_rate: 0.01, hidden: 32 };
  const config = { ...training, $requests: { sample: { file: 'sample.now' } } };
  const job = await orchestrator.submit({ config_name: 'long-digits', config });
  await page.goto(`${orchestrator.url}/jobs/${job}`);
  await expect(page.locator('.job-title')).toContainText('running', { timeout: 30_000 });
  await expect(page.getByRole('button', { name: 'Save now' })).toHaveCount(0);
  await page.getByRole('button', { name: 'Sample now' }).click();
  await expect(page.getByText('Requested samples from rig-1.')).toBeVisible();
  await page.getByRole('tab', { name: 'Events' }).click();
  const events = page.getByRole('table', { name: 'Events of this job' });
  await expect(events).toContainText('job.asked');
  await orchestrator.call('POST', `/api/queue/${job}/cancel`, {});
  await expect(page.locator('.job-title')).toContainText('cancelled', { timeout: 30_000 });
  await expect(page.getByRole('button', { name: 'Sample now' })).toHaveCount(0);
});
