/** Config values as columns of the table of jobs, and the workers of a job on several workers. */
import { expect, type Page, test } from '@playwright/test';
import { expectShownWell } from './page-checks.ts';
import {
  digitsTrainer,
  type Orchestrator,
  rowOf,
  signIn,
  signInWithToken,
  startOrchestrator,
} from './panel.ts';

let orchestrator: Orchestrator;
test.beforeAll(async () => {
  orchestrator = await startOrchestrator();
  for (const [index, rate] of [1e-4, 3e-4, 5e-4].entries())
    await orchestrator.submit({
      config_name: `flowers-${index}`,
      config: {
        trainer: 'selftest',
        learning_rate: rate,
        network: { rank: 8 * (index + 1) },
        hub_token: `hf_${index}`,
        steps: 1000,
      },
      // No worker has 900 GPUs, so the jobs stay pending.
      gpu_count: 900,
    });
});
test.afterAll(() => orchestrator.close());

async function open(page: Page): Promise<void> {
  await signIn(page, orchestrator);
  await page.goto(`${orchestrator.url}/jobs?q=flowers`);
  await expect(rowOf(page, 'flowers-2')).toBeVisible();
}

test('offers the keys in which configs differ as columns, shows their values, and remembers the selection', async ({
  page,
}) => {
  test.setTimeout(120_000);
  await open(page);
  await page.getByRole('button', { name: 'Columns' }).click();
  const dialog = page.getByRole('dialog', { name: 'Config values as columns' });
  await expect(dialog.getByRole('checkbox')).toHaveCount(3);
  for (const key of ['learning_rate', 'network.rank', 'hub_token'])
    await dialog.getByRole('checkbox', { name: key }).check();
  await expect(dialog.getByRole('status')).toHaveText('3 of 8 selected');
  await expectShownWell(page, 'columns-dialog');
  await page.keyboard.press('Escape');
  await expect(page.getByRole('columnheader', { name: 'rank', exact: true })).toBeVisible();
  await expect(rowOf(page, 'flowers-1')).toContainText('0.0003');
  await expect(rowOf(page, 'flowers-1')).toContainText('16');
  await expect(rowOf(page, 'flowers-1')).toContainText('[redacted]');
  await expect(page.getByText('hf_1')).toHaveCount(0);
  await page.reload();
  await expect(rowOf(page, 'flowers-0')).toContainText('0.0001');
  await expectShownWell(page, 'columns-table');
  await page.getByRole('button', { name: 'Columns' }).click();
  await dialog.getByRole('checkbox', { name: 'hub_token' }).uncheck();
  await page.keyboard.press('Escape');
  await expect(page.getByRole('columnheader', { name: 'hub_token' })).toHaveCount(0);
});

test('hides config values from users who may not see configs', async ({ page }) => {
  const token = await orchestrator.createToken('viewer', ['queue.view']);
  await signInWithToken(page, orchestrator.url, token);
  await page.evaluate(() =>
    localStorage.setItem('trainyard.preferences', '{"jobColumns":["learning_rate"]}'),
  );
  await page.goto(`${orchestrator.url}/jobs?q=flowers`);
  await expect(rowOf(page, 'flowers-2')).toBeVisible();
  await expect(page.getByRole('button', { name: 'Columns' })).toHaveCount(0);
  await expect(page.getByRole('columnheader', { name: 'learning_rate' })).toHaveCount(0);
});

test('shows the name of one worker and "+1" in the row of a job that runs on two workers', async ({
  page,
}) => {
  for (const name of ['rig-upstairs', 'rig-cellar'])
    await orchestrator.startRig(name, { trainer: digitsTrainer });
  await orchestrator.submit({ config_name: 'shared', config: {}, num_nodes: 2, gpu_count: 0 });
  await signIn(page, orchestrator);
  await page.goto(`${orchestrator.url}/jobs?q=shared`);
  await expect(rowOf(page, 'shared')).toContainText(/rig-(upstairs|cellar) \+1/, { timeout: 60_000 });
});
