/** The panel on a phone: users can reach the navigation and the actions with a thumb. */
import { expect, type Locator, type Page, test } from '@playwright/test';
import { findOverflows } from './in-page.ts';
import { expectFits, takePicture } from './page-checks.ts';
import { digitsTrainer, type Orchestrator, signIn, startOrchestrator } from './panel.ts';
import { openTrainingRig } from './training-rig.ts';

const height = 844;
test.use({ viewport: { width: 390, height }, hasTouch: true });

let orchestrator: Orchestrator;
test.beforeAll(async () => {
  orchestrator = await startOrchestrator();
});
test.afterAll(() => orchestrator.close());

/** Expects that a thumb can reach the element: at least 44 px high and wide, in the lower half of the screen. */
async function expectInReach(element: Locator): Promise<void> {
  const box = await element.boundingBox();
  if (box === null) throw new Error('the element is not visible');
  expect(Math.min(box.width, box.height)).toBeGreaterThanOrEqual(44);
  expect(box.y).toBeGreaterThan(height / 2);
  expect(box.y + box.height).toBeLessThanOrEqual(height);
}

const actionButton = (page: Page, name: string): Locator =>
  page.getByRole('group', { name: 'Job actions' }).getByRole('button', { name });

test('shows the navigation at the bottom of a phone, and scrolls the end of the page above the navigation', async ({
  page,
}) => {
  await signIn(page, orchestrator);
  for (const name of ['Overview', 'Workers', 'Jobs', 'Gallery'])
    await expectInReach(page.getByRole('navigation').getByRole('link', { name }));
  await page.getByRole('navigation').getByRole('link', { name: 'Jobs' }).tap();
  await expect(page).toHaveURL(/\/jobs$/);
  await page.goto(`${orchestrator.url}/settings`);
  const last = page.getByText('Version:');
  await last.scrollIntoViewIfNeeded();
  await page.mouse.wheel(0, 10_000);
  const bar = await page.getByRole('navigation').boundingBox();
  await expect(async () => {
    const box = await last.boundingBox();
    expect((box?.y ?? height) + (box?.height ?? 0)).toBeLessThanOrEqual(bar?.y ?? 0);
  }).toPass();
  // The link of the current page is in view, although the navigation is wider than the screen.
  await expect(page.getByRole('navigation').getByRole('link', { name: 'Settings' })).toBeInViewport();
  expect(await findOverflows(page)).toEqual([]);
});

test('approves a job on a phone with one tap, on the overview or on the page of the job', async ({
  page,
}) => {
  const job = { config: {}, requires_approval: true };
  const first = await orchestrator.submit({ ...job, config_name: 'from-overview' });
  const second = await orchestrator.submit({ ...job, config_name: 'from-page' });
  const approvalOf = async (id: string) => (await orchestrator.call('GET', `/api/queue/${id}`))['approval'];
  await signIn(page, orchestrator);
  const entry = page.getByRole('listitem').filter({ hasText: 'from-overview' });
  const button = entry.getByRole('button', { name: 'Approve' });
  expect((await button.boundingBox())?.height).toBeGreaterThanOrEqual(44);
  await button.tap();
  await expect.poll(() => approvalOf(first)).toBe('given');
  await page.goto(`${orchestrator.url}/jobs/${second}`);
  for (const name of ['Approve', 'Reject', 'Cancel job']) await expectInReach(actionButton(page, name));
  await expectFits(page);
  await takePicture(page, 'phone-approve');
  await actionButton(page, 'Approve').tap();
  await expect.poll(() => approvalOf(second)).toBe('given');
  await expect(actionButton(page, 'Approve')).toHaveCount(0);
});

test('shows on a phone, without scrolling sideways, why jobs wait and for how long workers are busy', async ({
  page,
}) => {
  const server = await startOrchestrator();
  const rig = await openTrainingRig(server, 'rig-1');
  await server.submit({ config_name: 'first-job', config: {}, gpu_count: 0 });
  const job = await rig.takeOffer();
  await rig.report(job, 'running', { progress: { step: 10, total_steps: 100, eta_s: 2_400 } });
  await server.submit({ config_name: 'second-job', config: {}, gpu_count: 0 });
  await signIn(page, server);
  for (const [path, text] of [
    ['/jobs', 'Waits for rig-1 (busy, 40m left)'],
    ['/jobs', '10 / 100'],
    ['/queue', 'Waits for rig-1 (busy, 40m left)'],
    ['/workers', 'first-job'],
    ['/workers', '40m left'],
  ] as const) {
    await page.goto(server.url + path);
    const answer = page.getByRole('row').getByText(text, { exact: true });
    await expect(answer).toBeVisible();
    const box = await answer.boundingBox();
    expect(box?.x).toBeGreaterThanOrEqual(0);
    expect((box?.x ?? 0) + (box?.width ?? 1_000)).toBeLessThanOrEqual(390);
    await expectFits(page);
  }
  await server.close();
});

test('shows the actions of a running job as buttons at the bottom of a phone, not covered by messages', async ({
  page,
}) => {
  test.setTimeout(120_000);
  await orchestrator.startRig('rig-1', { trainer: digitsTrainer });
  const id = await orchestrator.submit({
    config_name: 'long-digits',
    config: {
      epochs: 400,
      batch_size: 32,
      learning_rate: 0.05,
      hidden: 32,
      checkpoint_every: 100_000,
      $requests: { save: { signal: 'SIGUSR1' }, sample: { file: 'sample.now' } },
    },
  });
  await signIn(page, orchestrator);
  await page.goto(`${orchestrator.url}/jobs/${id}`);
  for (const name of ['Save now', 'Sample now', 'Duplicate', 'Cancel job']) {
    await expect(actionButton(page, name)).toBeVisible({ timeout: 60_000 });
    await expectInReach(actionButton(page, name));
  }
  await expectInReach(page.getByRole('button', { name: 'Actions for job long-digits' }));
  await expectFits(page);
  await takePicture(page, 'phone-job');
  await page.emulateMedia({ colorScheme: 'dark' });
  await takePicture(page, 'phone-job-dark');
  await actionButton(page, 'Save now').tap();
  // The message does not cover the buttons.
  const toast = page.getByText(/^Requested a checkpoint from rig-1/);
  await expect(toast).toBeVisible();
  await actionButton(page, 'Sample now').tap();
  await page.getByRole('button', { name: 'Actions for job long-digits' }).tap();
  await expect(page.getByRole('menuitem', { name: 'Set priority' })).toBeInViewport();
  await page.keyboard.press('Escape');
  await actionButton(page, 'Cancel job').tap();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Cancel job' }).tap();
  await expect(page.locator('.job-title')).toContainText('cancelled', { timeout: 30_000 });
});
