/** Small actions on several pages: tabs and the Back button, a job that no worker can take, expandable rows. */
import { expect, test } from '@playwright/test';
import { type Orchestrator, signIn, startOrchestrator } from './panel.ts';

let orchestrator: Orchestrator;
test.beforeAll(async () => {
  orchestrator = await startOrchestrator();
});
test.afterAll(() => orchestrator.close());

test('adds each opened tab of a job to the browser history', async ({ page }) => {
  const id = await orchestrator.submit({ config_name: 'tabs', config: {}, gpu_count: 900 });
  await signIn(page, orchestrator);
  await page.goto(`${orchestrator.url}/jobs`);
  await page.getByRole('link', { name: 'tabs' }).click();
  for (const tab of ['Logs', 'Events']) {
    await page.getByRole('tab', { name: tab }).click();
    await expect(page).toHaveURL(new RegExp(`tab=${tab.toLowerCase()}$`));
  }
  await page.goBack();
  await expect(page).toHaveURL(/tab=logs$/);
  await page.goBack();
  await expect(page).toHaveURL(new RegExp(`/jobs/${id}$`));
  await page.goBack();
  await expect(page).toHaveURL(/\/jobs$/);
});

test('warns that no registered worker can run a job, but submits the job anyway', async ({ page }) => {
  await signIn(page, orchestrator);
  await page.goto(`${orchestrator.url}/jobs/new`);
  await page.getByLabel('Text (JSON)').fill('{}');
  await page.getByText('Advanced options').click();
  await page.getByLabel('GPUs', { exact: true }).fill('900');
  await expect(page.getByRole('region', { name: 'If you submit now' })).toContainText(
    'No registered worker meets these requirements',
  );
  await page.getByRole('button', { name: 'Submit', exact: true }).click();
  await expect(page.getByRole('link', { name: 'Open job' })).toBeVisible();
});

test('expands an audit row to its full details', async ({ page }) => {
  await orchestrator.call('POST', '/api/queue/pause', { note: 'x'.repeat(300) });
  await orchestrator.call('POST', '/api/queue/resume');
  await signIn(page, orchestrator);
  await page.goto(`${orchestrator.url}/audit`);
  const row = page.getByRole('row', { name: /queue\.paused/ });
  await expect(row).toHaveAttribute('aria-expanded', 'false');
  await row.click();
  await expect(row).toHaveAttribute('aria-expanded', 'true');
  await expect(row.locator('pre')).toContainText('x'.repeat(300));
  await row.press('Enter');
  await expect(row).toHaveAttribute('aria-expanded', 'false');
});

test('shows a progress bar while the page verifies a long audit trail', async ({ page }) => {
  await signIn(page, orchestrator);
  await page.goto(`${orchestrator.url}/audit`);
  const allowSecondCall = Promise.withResolvers<void>();
  await page.route(/\/api\/audit\?limit=1$/, async route => {
    const response = await route.fetch();
    const { entries, total } = (await response.json()) as {
      readonly entries: object[];
      readonly total: number;
    };
    await route.fulfill({
      response,
      json: { entries: entries.map(row => ({ ...row, seq: 250_000 })), total },
    });
  });
  await page.route(/\/api\/audit\/verify\?from=100001&/, async route => {
    await allowSecondCall.promise;
    await route.continue();
  });
  await page.getByRole('button', { name: 'Verify trail' }).click();
  const progress = page.getByRole('progressbar', { name: 'Verifying the whole trail' });
  await expect(progress).toHaveAttribute('aria-valuenow', '40');
  await expect(page.getByRole('button', { name: 'Verify trail' })).toBeDisabled();
  await page.screenshot({ path: test.info().outputPath('verifying.png') });
  allowSecondCall.resolve();
  await expect(page.getByText(/verified, (all )?unchanged/)).toBeVisible();
  await expect(progress).toBeHidden();
});
