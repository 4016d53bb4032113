/** The fleet on the overview: the map of GPUs, the cards of workers, and the recent activity. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, type Page, test } from '@playwright/test';
import { pngOf } from '../support/picture.ts';
import { expectAccessible, expectFits, takePicture } from './page-checks.ts';
import { type Orchestrator, signIn, startOrchestrator } from './panel.ts';
import { openTrainingRig, type TrainingRig } from './training-rig.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const demoWorkerCount = 60;

let orchestrator: Orchestrator;
let demoFleet: ChildProcess;
let rig: TrainingRig;

test.beforeAll(async () => {
  test.setTimeout(120_000);
  orchestrator = await startOrchestrator({ args: ['--heartbeat-timeout', '600'] });
  rig = await openTrainingRig(orchestrator, 'atlas');
  const job = await rig.start('flowers');
  const flower = pngOf(96, 96, (x, y) => (Math.hypot(x - 48, y - 48) < 30 ? [200, 40, 90] : [230, 238, 230]));
  await rig.uploadFile(job, 'samples/step_100_rose.png', flower);
  await rig.report(job, 'running', { progress: { current_step: 190, total_steps: 400, eta_s: 600 } });
  const args = ['--data-dir', orchestrator.dataDir, '--workers', String(demoWorkerCount), '--seed', 'map'];
  const jobs = ['--submit-rate', '120/min', '--job-seconds', '600'];
  demoFleet = spawn(process.execPath, [join(root, 'dev/demo-fleet/run.ts'), ...args, ...jobs], {
    cwd: root,
    env: { ...process.env, XDG_CONFIG_HOME: orchestrator.dataDir },
    stdio: 'ignore',
  });
  // Not every worker reports figures of its GPUs.
  await expect.poll(countReporting, { timeout: 90_000 }).toBeGreaterThan(50);
});
test.afterAll(async () => {
  demoFleet.kill('SIGKILL');
  await once(demoFleet, 'exit');
  await orchestrator.close();
});

interface ListedWorker {
  readonly name: string;
  readonly gpu_count: number;
  readonly gpu_figures: readonly object[];
}

async function listWorkers(): Promise<readonly ListedWorker[]> {
  return (await orchestrator.call('GET', '/api/admin/workers'))['workers'] as readonly ListedWorker[];
}

/** Returns the number of workers that have reported figures of their GPUs. */
const countReporting = async (): Promise<number> =>
  (await listWorkers()).filter(({ gpu_figures: figures }) => figures.length > 0).length;

const details = (page: Page) => page.locator('.fleet-details');
const rigLink = (page: Page, name: string) =>
  page.getByRole('link', { name: new RegExp(`^Worker ${name}:`) });

async function openOverview(page: Page): Promise<void> {
  await signIn(page, orchestrator);
  await expect(rigLink(page, 'demo-01')).toBeVisible();
}

test('shows a square for every GPU of the fleet, grouped by worker', async ({ page }) => {
  await openOverview(page);
  const workers = await listWorkers();
  const gpuCount = workers.reduce((sum, { gpu_count: count }) => sum + count, 0);
  await expect(page.locator('.fleet-map .gpu')).toHaveCount(gpuCount);
  const map = page.getByRole('list', { name: 'GPUs by worker' });
  const workersWithGpus = workers.filter(worker => worker.gpu_count > 0);
  await expect(map.getByRole('listitem')).toHaveCount(workersWithGpus.length);
  await expect(rigLink(page, 'demo-04').locator('.gpu')).toHaveCount(8);
});

test('describes the GPU under the pointer, with its figures and its worker', async ({ page }) => {
  await openOverview(page);
  await expect(details(page)).toHaveText(/Point at a GPU/);
  await rigLink(page, 'demo-04').locator('.gpu').nth(6).hover();
  await expect(details(page)).toContainText('demo-04');
  await expect(details(page)).toContainText('GPU 6 · H100');
  await expect(details(page)).toContainText(/Load \d+%.* of 80 GB.*°C.* W/);
});

test('moves between GPUs with the arrow keys, and opens the worker of a GPU with Enter', async ({ page }) => {
  await openOverview(page);
  const first = page.locator('.fleet-map a').first();
  await first.focus();
  await expect(details(page)).toContainText('atlas');
  await page.keyboard.press('ArrowDown');
  await expect(details(page)).toContainText('demo-01');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowRight');
  await expect(details(page)).toContainText(/demo-02.*GPU 1/);
  await expect(page.locator('.fleet-map a[tabindex="0"]')).toHaveCount(1);
  await page.keyboard.press('Enter');
  await expect(page.getByRole('heading', { level: 1, name: 'demo-02' })).toBeVisible();
});

test('shows the job, its progress, time left and newest sample on the card of a worker', async ({ page }) => {
  await openOverview(page);
  const card = page.locator('.rig-card').filter({ has: page.getByRole('link', { name: 'atlas' }) });
  await expect(card.getByRole('link', { name: 'flowers', exact: true })).toBeVisible();
  await expect(card.getByRole('progressbar')).toBeVisible();
  await expect(card.getByText(/^Free in about 10m/)).toBeVisible();
  await expect(card.getByRole('img', { name: 'Newest sample of flowers' })).toBeVisible();
});

test('limits the overview to 12 cards of workers, and links to all workers', async ({ page }) => {
  await openOverview(page);
  await expect(page.locator('.rig-card')).toHaveCount(12);
  await page.getByRole('link', { name: /^All \d+ workers$/ }).click();
  await expect(page).toHaveURL(/\/workers$/);
});

test('shows recent activity as sentences with links', async ({ page }) => {
  await openOverview(page);
  const recent = page.getByRole('region', { name: 'Recent activity' });
  await expect(recent.getByText(/ started on demo-\d+$/).first()).toBeVisible();
  await expect(recent.locator('code')).toHaveCount(0);
});

for (const theme of ['light', 'dark'] as const)
  for (const width of [390, 1280, 1440])
    test(`shows an accessible overview that fits ${width} px in the ${theme} theme`, async ({ page }) => {
      await page.emulateMedia({ colorScheme: theme });
      await page.setViewportSize({ width, height: 1300 });
      const errors: string[] = [];
      page.on('console', message => void (message.type() === 'error' && errors.push(message.text())));
      await openOverview(page);
      await rigLink(page, 'demo-01').locator('.gpu').first().hover();
      await expect(details(page)).toContainText('demo-01');
      await takePicture(page, `fleet-map-${theme}-${width}`);
      await expectFits(page);
      await expectAccessible(page);
      expect(errors).toEqual([]);
    });
