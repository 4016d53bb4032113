/** Workers whose machines lose power. */
import { expect, test } from '@playwright/test';
import { type Orchestrator, rowOf, signIn, startOrchestrator } from './panel.ts';

/** A server that counts workers as offline after 6 s without a heartbeat. */
let shortTimeout: Orchestrator;
/** A server with the default heartbeat timeout. */
let defaultTimeout: Orchestrator;
test.beforeAll(async () => {
  [shortTimeout, defaultTimeout] = await Promise.all([
    startOrchestrator({ args: ['--heartbeat-timeout', '6'] }),
    startOrchestrator(),
  ]);
  const rig = await defaultTimeout.startRig('rig-silent');
  await expect
    .poll(async () => (await defaultTimeout.call('GET', `/api/admin/workers/${rig.id}`))['status'], {
      timeout: 20_000,
    })
    .toBe('idle');
  // Cutting the power already here makes the last heartbeat old when the second test starts.
  rig.cutPower();
});
test.afterAll(() => Promise.all([shortTimeout.close(), defaultTimeout.close()]));

test('shows a job as recovering after its worker lost power, and completes it on another worker', async ({
  page,
  context,
}) => {
  const first = await shortTimeout.startRig('rig-first');
  const job = await shortTimeout.submit({
    config_name: 'selftest',
    config: { trainer: 'selftest', seconds: 10 },
  });
  await signIn(page, shortTimeout);
  await page.goto(`${shortTimeout.url}/jobs/${job}`);
  const title = page.locator('.job-title');
  await expect(title).toContainText('running', { timeout: 20_000 });
  await shortTimeout.startRig('rig-second');
  const workers = await context.newPage();
  await workers.goto(`${shortTimeout.url}/workers`);
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
  // The facts contain the number of the attempt and the maximum number of attempts.
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

test('marks the heartbeat of a silent worker as overdue before the worker counts as offline', async ({
  page,
}) => {
  test.setTimeout(120_000);
  await signIn(page, defaultTimeout);
  await page.goto(`${defaultTimeout.url}/workers`);
  const contact = rowOf(page, 'rig-silent').locator('.worker-contact');
  await expect(contact).toHaveAttribute('data-level', 'late', { timeout: 75_000 });
  await expect(contact.locator('time')).toHaveAttribute('title', /Heartbeat overdue/);
  await expect(rowOf(page, 'rig-silent')).not.toContainText('offline');
});
