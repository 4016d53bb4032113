/** The table of jobs with more jobs than the panel keeps in memory, so that the server searches, sorts and counts them. */
import { expect, test } from '@playwright/test';
import { type Orchestrator, signIn, startOrchestrator } from './panel.ts';

let orchestrator: Orchestrator;
test.beforeAll(async () => {
  orchestrator = await startOrchestrator();
});
test.afterAll(() => orchestrator.close());

test('finds, counts and sorts 601 jobs, and opens the oldest job from the command palette', async ({
  page,
}) => {
  test.setTimeout(180_000);
  const submitCancelled = async (name: string): Promise<string> => {
    const id = await orchestrator.submit({ config_name: name, config: {}, gpu_count: 900 });
    await orchestrator.call('POST', `/api/queue/${id}/cancel`);
    return id;
  };
  const oldestJob = await submitCancelled('needle');
  // 600 more jobs, ten at a time.
  for (let batch = 0; batch < 60; batch++)
    await Promise.all(Array.from({ length: 10 }, (_, index) => submitCancelled(`hay-${batch}-${index}`)));
  await signIn(page, orchestrator);
  await page.goto(`${orchestrator.url}/jobs`);
  const count = page.locator('.filter-row [role="status"]');
  await expect(count).toHaveText('601 jobs');
  await expect(page.getByRole('button', { name: /^cancelled/ })).toHaveText(/601/);

  await page.getByRole('searchbox').fill('needle');
  await expect(page.getByRole('row', { name: /needle/ })).toHaveCount(1);
  await expect(count).toHaveText('1 job');

  await page.getByRole('searchbox').fill('');
  await expect(count).toHaveText('601 jobs');
  // The second click reverses the order.
  const byName = page.getByRole('columnheader', { name: 'Config, user' }).getByRole('button');
  await byName.click();
  await byName.click();
  await expect(page).toHaveURL(/sort=name/);
  await expect(page.locator('[data-row="0"]')).toContainText('needle');
  await page.getByRole('button', { name: /^cancelled/ }).click();
  await page.getByRole('button', { name: /^failed/ }).click();
  await expect(page).toHaveURL(/q=state%3Afailed%2Ccancelled/);
  await expect(count).toHaveText('601 jobs');

  // Scrolling loads further pages.
  await page.locator('.table-scroll').hover();
  await expect(async () => {
    await page.mouse.wheel(0, 20_000);
    await expect(page.getByRole('grid')).toHaveAttribute('aria-rowcount', '602', { timeout: 500 });
  }).toPass();

  await page.keyboard.press('Control+k');
  await page.getByPlaceholder('Page, worker, job or action').fill(oldestJob);
  await page.getByRole('option', { name: /needle/ }).click();
  await expect(page).toHaveURL(new RegExp(`/jobs/${oldestJob}$`));
});
