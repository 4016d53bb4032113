/** A rig loses its power while it runs a job. */
import { expect, test } from '@playwright/test';
import { type Orchestrator, rowOf, signIn, startOrchestrator } from './panel.ts';

/** A server that counts workers as offline after 6 s without a heartbeat. */
let hasty: Orchestrator;
/** A server with the default heartbeat timeout. */
let patient: Orchestrator;
test.beforeAll(async () => {
  [hasty, patient] = await Promise.all([
    startOrchestrator({ args: ['--heartbeat-timeout', '6'] }),
    startOrchestrator(),
  ]);
  const rig = await patient.rig('rig-silent');
  await expect
    .poll(async () => (await patient.call('GET', `/api/admin/workers/${rig.id}`))['status'], {
      timeout: 20_000,
    })
    .toBe('idle');
  // The power is cut long before the page is opened.
  rig.cutPower();
});
test.afterAll(() => Promise.all([hasty.close(), patient.close()]));

test('shows a silent worker and its recovering job, which completes on another worker', async ({
  page,
  context,
}) => {
  const first = await hasty.rig('rig-first');
  const job = await hasty.submit({ config_name: 'selftest', config: { trainer: 'selftest', seconds: 10 } });
  await signIn(page, hasty);
  await page.goto(`${hasty.url}/jobs/${job}`);
  const title = page.locator('.job-title');
  await expect(title).toContainText('running', { timeout: 20_000 });
  await hasty.rig('rig-second');
  const workers = await context.newPage();
  await workers.goto(`${hasty.url}/workers`);
  await expect(rowOf(workers, 'rig-second')).toContainText('idle', { timeout: 20_000 });
  first.cutPower();

  await expect(title).toContainText('recovering', { timeout: 30_000 });
  await expect(page.getByRole('region', { name: 'Now', exact: true })).toContainText(
    /No heartbeat since .+; may still be training\. Moves to another worker at /,
  );
  await expect(page.getByRole('button', { name: 'Requeue now' })).toBeVisible();
  await expect(rowOf(workers, 'rig-first')).toContainText('offline');
  await expect(rowOf(workers, 'rig-first')).toContainText('no heartbeat');

  await expect(title).toContainText('running', { timeout: 30_000 });
  await expect(rowOf(workers, 'rig-second')).toContainText('busy');
  await expect(page.locator('dl.facts').last()).toContainText('2 of 4');
  await expect(title).toContainText('completed', { timeout: 40_000 });
  const attempts = page.getByRole('region', { name: 'Attempts' }).locator('.timeline > li');
  await expect(attempts).toHaveCount(2);
  await expect(attempts.nth(0)).toContainText('Attempt 2');
  await expect(attempts.nth(0)).toContainText('completed');
  await expect(attempts.nth(0)).toContainText('rig-second');
  await expect(attempts.nth(1)).toContainText('lost');
  await expect(attempts.nth(1)).toContainText('rig-first');
  await expect(attempts.nth(1)).toContainText('worker lost');
});

test('marks a worker with an overdue heartbeat before it is offline', async ({ page }) => {
  test.setTimeout(120_000);
  await signIn(page, patient);
  await page.goto(`${patient.url}/workers`);
  const contact = rowOf(page, 'rig-silent').locator('.worker-contact');
  await expect(contact).toHaveAttribute('data-level', 'late', { timeout: 75_000 });
  await expect(contact.locator('time')).toHaveAttribute('title', /Heartbeat overdue/);
  await expect(rowOf(page, 'rig-silent')).not.toContainText('offline');
});
