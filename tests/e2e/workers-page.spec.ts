/** The workers page: the map of GPUs, the chosen columns, actions for several workers, and the usage on the overview. */

import { expect, type Locator, type Page, test } from '@playwright/test';
import { createSimulatedWorker, type SimulatedWorker } from '../../agent/simulated/simulated-worker.ts';
import { expectAccessible, expectFits, takePicture } from './page-checks.ts';
import { type Orchestrator, rowOf, signIn, startOrchestrator } from './panel.ts';

let orchestrator: Orchestrator;
const workerIds = new Map<string, string>();
const agents: { readonly worker: SimulatedWorker; readonly exited: Promise<number> }[] = [];
/** Temperature of GPU 0 on each rig, in degrees Celsius. GPU 1 is 10 degrees cooler. */
const temperatures = { alpha: 81, beta: 62, gamma: 47 } as const;

test.beforeAll(async () => {
  test.setTimeout(60_000);
  // Workers send a heartbeat every two seconds.
  orchestrator = await startOrchestrator({ args: ['--heartbeat-timeout', '8'] });
  for (const [name, degrees] of Object.entries(temperatures)) await joinRig(name, degrees);
});
test.afterAll(async () => {
  for (const { worker } of agents) worker.leaveNow();
  await Promise.all(agents.map(({ exited }) => exited));
  await orchestrator.close();
});

async function joinRig(name: string, degrees: number): Promise<void> {
  const { id, token } = await orchestrator.createWorker({ name, labels: { site: 'berlin' } });
  workerIds.set(name, id);
  const worker = createSimulatedWorker({
    url: orchestrator.url,
    token,
    name,
    persistent: true,
    accelerator: 'cuda',
    gpus: [0, 1].map(index => ({ index, name: 'NVIDIA GeForce RTX 4090', vramGb: 24 })),
    trainer: () => ({
      exited: Promise.resolve({ code: 0, signal: null, tail: '' }),
      stop: () => undefined,
    }),
    telemetry: () => ({
      gpu_utilization: 40,
      vram_used_gb: 12,
      gpu_figures: [0, 1].map(index => ({
        index,
        utilization: 40,
        vram_used_gb: 6,
        temperature_c: degrees - 10 * index,
        power_w: 360_000,
        power_limit_w: 450_000,
      })),
    }),
    random: Math.random,
    onConnection: () => undefined,
    log: () => undefined,
  });
  agents.push({ worker, exited: worker.run() });
  await expect.poll(async () => (await findWorker(name))?.gpu_figures.length, { timeout: 20_000 }).toBe(2);
}

interface ListedWorker {
  readonly id: string;
  readonly name: string;
  readonly gpu_figures: readonly object[];
  readonly drain: object | null;
  readonly admin_labels: object;
}

async function findWorker(name: string): Promise<ListedWorker | undefined> {
  const { workers } = await orchestrator.call('GET', '/api/admin/workers');
  return (workers as readonly ListedWorker[]).find(worker => worker.name === name);
}

async function openWorkers(page: Page): Promise<void> {
  await signIn(page, orchestrator);
  await page.goto(`${orchestrator.url}/workers`);
  await expect(rigOf(page, 'alpha')).toBeVisible();
}

const rigOf = (page: Page, name: string): Locator => page.locator('[data-rig]').filter({ hasText: name });
const details = (page: Page): Locator => page.locator('.fleet-details');
const bulkBar = (page: Page): Locator => page.getByRole('group', { name: /selected/ });
const button = (parent: Page | Locator, name: string): Locator =>
  parent.getByRole('button', { name, exact: true });
const resultOf = (dialog: Locator, name: string): Locator =>
  dialog.getByRole('listitem').filter({ hasText: name });

async function selectWorkers(page: Page, ...names: readonly string[]): Promise<void> {
  for (const name of names) await rowOf(page, name).getByRole('checkbox').check();
}

test('colours the map of GPUs by the selected figure, describes a GPU, and remembers the figure', async ({
  page,
}) => {
  await openWorkers(page);
  await page.getByLabel('Show').selectOption('Temperature');
  const squares = rigOf(page, 'alpha').locator('.gpu');
  const [hot, cool] = [squares.nth(0), squares.nth(1)];
  const shareOf = async (square: Locator): Promise<number> => Number(await square.getAttribute('data-share'));
  expect(await shareOf(hot)).toBeGreaterThan(await shareOf(cool));
  await cool.hover();
  await expect(details(page)).toContainText(/alpha.*GPU 1 · RTX 4090.*71 °C/);
  await page.reload();
  await expect(page.getByLabel('Show')).toHaveValue('temperature');
  await page.goto(orchestrator.url);
  await expect(page.getByLabel('Show')).toHaveValue('temperature');
});

test('selects workers on the map of GPUs with the keyboard alone', async ({ page }) => {
  await openWorkers(page);
  await page.getByLabel('Show').selectOption('Temperature');
  await page.getByLabel('Show').focus();
  await page.keyboard.press('Tab');
  await expect(rigOf(page, 'alpha')).toBeFocused();
  await expect(rigOf(page, 'alpha')).toHaveAccessibleName(
    /Worker alpha: idle, 2 GPUs; GPU 0: 81 °C; GPU 1: 71 °C/,
  );
  await page.keyboard.press('ArrowRight');
  await expect(details(page)).toContainText(/alpha.*GPU 1/);
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await expect(rigOf(page, 'beta')).toHaveAttribute('aria-pressed', 'true');
  await expect(rowOf(page, 'beta').getByRole('checkbox')).toBeChecked();
  await page.keyboard.press('End');
  await page.keyboard.press('Space');
  await expect(bulkBar(page)).toContainText('2 selected');
  await page.keyboard.press('Space');
  await expect(bulkBar(page)).toContainText('1 selected');
});

test('remembers the selected columns of the workers page, sorts by a column, and restores the default columns', async ({
  page,
}) => {
  await openWorkers(page);
  await button(page, 'Columns').click();
  await page.getByRole('menuitemcheckbox', { name: 'Hottest' }).click();
  await page.getByRole('menuitemcheckbox', { name: 'Labels' }).click();
  await page.keyboard.press('Escape');
  await page.reload();
  const head = page.getByRole('columnheader', { name: 'Hottest' });
  await expect(head).toBeVisible();
  await expect(page.getByRole('columnheader', { name: 'Labels' })).toHaveCount(0);
  await expect(rowOf(page, 'gamma')).toContainText('47 °C');
  await head.getByRole('button').click();
  await expect(page.locator('[data-row="0"]')).toContainText('gamma');
  await head.getByRole('button').click();
  await expect(page.locator('[data-row="0"]')).toContainText('alpha');
  await button(page, 'Columns').click();
  await page.getByRole('menuitem', { name: 'Default columns' }).click();
  await expect(page.getByRole('columnheader', { name: 'Labels' })).toBeVisible();
  await expect(head).toHaveCount(0);
});

test('keeps the map of GPUs hidden after a reload when the user has hidden the map', async ({ page }) => {
  await openWorkers(page);
  await button(page, 'Hide map').click();
  await expect(page.locator('.fleet-map')).toHaveCount(0);
  await page.reload();
  await expect(button(page, 'Show map')).toBeVisible();
  await expect(page.locator('.fleet-map')).toHaveCount(0);
});

test('drains and undrains several workers, and shows why the drain of one worker failed', async ({
  page,
}) => {
  await orchestrator.createWorker({ name: 'deleted' });
  await openWorkers(page);
  await selectWorkers(page, 'alpha', 'beta', 'deleted');
  await button(bulkBar(page), 'Drain…').click();
  const question = page.getByRole('alertdialog', { name: 'Drain 3 workers?' });
  await expect(resultOf(question, 'alpha')).toContainText('accepts no new jobs from now on');
  // Another user deletes one of the workers while the dialog is open.
  const { id } = (await findWorker('deleted')) ?? { id: 'missing' };
  await orchestrator.call('DELETE', `/api/admin/workers/${id}`);
  await question.getByLabel('Reason (optional)').fill('new fans');
  await button(question, 'Drain').click();
  const results = page.getByRole('dialog', { name: 'Drain of 3 workers' });
  await expect(results).toContainText('2 of 3 done, 1 failed');
  await expect(resultOf(results, 'deleted')).toContainText(/failed: There is no worker/);
  await expect(resultOf(results, 'beta')).toContainText('done');
  // Failures come first.
  await expect(results.getByRole('listitem').first()).toContainText('deleted');
  await button(results, 'Done').click();
  await expect(rowOf(page, 'alpha')).toContainText(/draining.*new fans/);

  await selectWorkers(page, 'gamma');
  await button(bulkBar(page), 'Undrain…').click();
  const undrainDialog = page.getByRole('alertdialog', { name: 'Undrain 2 of 3 workers?' });
  await expect(resultOf(undrainDialog, 'gamma')).toContainText('is not draining; stays as it is');
  await button(undrainDialog, 'Undrain').click();
  const undrained = page.getByRole('dialog', { name: 'Undrain of 2 workers' });
  await expect(undrained).toContainText('2 of 2 done, 0 failed');
  await expect(resultOf(undrained, 'gamma')).toContainText('unchanged');
  await button(undrained, 'Done').click();
  await expect(rowOf(page, 'alpha')).toContainText('idle');
  expect((await findWorker('beta'))?.drain).toBeNull();
});

test('adds and removes labels of several workers, after a preview of the changes', async ({ page }) => {
  await openWorkers(page);
  await selectWorkers(page, 'alpha', 'gamma');
  await button(bulkBar(page), 'Labels…').click();
  const dialog = page.getByRole('dialog', { name: 'Labels of 2 workers' });
  await expect(button(dialog, 'Change 0 workers')).toBeDisabled();
  const added = dialog.getByLabel(/^Add or replace/);
  await added.fill('no label');
  await expect(dialog).toContainText('Invalid label: no label');
  await added.fill('team=video');
  await dialog.getByRole('checkbox', { name: 'site' }).check();
  await expect(resultOf(dialog, 'gamma')).toContainText('+team=video −site');
  await button(dialog, 'Change 2 workers').click();
  await expect(page.getByRole('dialog', { name: 'Labels of 2 workers' })).toContainText(
    '2 of 2 done, 0 failed',
  );
  expect((await findWorker('alpha'))?.admin_labels).toEqual({ team: 'video' });
  expect((await findWorker('beta'))?.admin_labels).toEqual({ site: 'berlin' });
});

test('shows each GPU of a worker with bars on the page of the worker', async ({ page }) => {
  await signIn(page, orchestrator);
  await page.goto(`${orchestrator.url}/workers/${workerIds.get('beta')}`);
  const table = page.getByRole('table', { name: 'GPUs of beta' });
  await expect(table.getByRole('row')).toHaveCount(3);
  await expect(table.getByRole('row').nth(2)).toContainText(/40 %.*6 \/ 24 GB.*52 °C/);
  await expect(table.locator('.gpu-bar')).toHaveCount(8);
});

test('shows GPU-hours, energy and cost of the last days on the overview', async ({ page }) => {
  await signIn(page, orchestrator);
  await page.goto(orchestrator.url);
  const card = page.getByRole('region', { name: 'Usage' });
  await expect(card.getByRole('link', { name: 'Settings' })).toBeVisible();
  await card.getByRole('link', { name: 'Settings' }).click();
  const settings = page.getByRole('region', { name: 'Electricity' });
  await settings.getByLabel(/^Price/).fill('0.32');
  await settings.getByLabel(/^Currency/).fill('EUR');
  await button(settings, 'Save').click();
  await expect(settings).toContainText('A kWh costs 0.32 EUR.');
  await page.goto(orchestrator.url);
  await expect(card.getByRole('figure')).toHaveCount(3);
  await expect(card.getByRole('figure').nth(1)).toContainText(/\d kWh/);
  await expect(card.getByRole('figure').nth(2)).toContainText(/\d\.\d\d EUR/);
  await expect(card.getByRole('table', { name: 'Cost' }).getByRole('row')).toHaveCount(7);
  await button(card, '30 days').click();
  await expect(card.getByRole('table', { name: 'Cost' }).getByRole('row')).toHaveCount(30);
});

for (const theme of ['light', 'dark'] as const)
  for (const width of [390, 1280, 1440])
    test(`shows an accessible workers page that fits ${width} px in the ${theme} theme`, async ({ page }) => {
      await page.emulateMedia({ colorScheme: theme });
      await page.setViewportSize({ width, height: 900 });
      await openWorkers(page);
      await page.getByLabel('Show').selectOption('Power');
      await rigOf(page, 'beta').click();
      await expect(bulkBar(page)).toBeVisible();
      await takePicture(page, `workers-page-${theme}-${width}`);
      await expectFits(page);
      await expectAccessible(page);
    });
