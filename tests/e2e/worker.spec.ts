/** A worker from its creation to its deletion, managed with only the panel and a terminal. */
import { expect, type Locator, type Page, test } from '@playwright/test';
import {
  selectMenuItem,
  openJoinDialog,
  type Orchestrator,
  rowOf,
  signIn,
  startOrchestrator,
} from './panel.ts';
import { openTrainingRig } from './training-rig.ts';

let orchestrator: Orchestrator;
test.beforeAll(async () => {
  orchestrator = await startOrchestrator();
});
test.afterAll(() => orchestrator.close());

/** Creates a worker, and returns the dialog with its join command. */
async function createWorker(page: Page, name: string): Promise<Locator> {
  await signIn(page, orchestrator);
  await page.goto(`${orchestrator.url}/workers`);
  const dialog = await openJoinDialog(page);
  await dialog.getByLabel('Name', { exact: true }).fill(name);
  await dialog.getByRole('button', { name: 'Create and show command' }).click();
  return dialog;
}

/**
 * Shows the token in the command, and returns the command. `prefix`: the prefix of the token; by default, that of join tokens.
 */
async function showCommand(dialog: Locator, prefix = 'tj_'): Promise<string> {
  const command = dialog.locator('pre').first();
  await expect(command).toContainText(/agent\/install\.sh|trainyard worker|simpletuner worker/);
  await expect(command).not.toContainText(prefix);
  await dialog.getByRole('button', { name: 'Show', exact: true }).click();
  await expect(command).toContainText(prefix);
  return (await command.textContent()) ?? '';
}

/** The worker's exit code when the server refuses its token (docs/workers.md). */
const tokenRefusedCode = 3;

test('joins a worker with the shown command, runs a test job, drains the worker and deletes it', async ({
  page,
}) => {
  const row = rowOf(page, 'rig-e2e');
  const dialog = await createWorker(page, 'rig-e2e');
  const terminal = orchestrator.paste(await showCommand(dialog));
  await expect(dialog.getByText(/^Connected/)).toBeVisible({ timeout: 20_000 });
  await dialog.getByRole('button', { name: 'Send test job' }).click();
  await dialog.getByRole('link', { name: 'Open job' }).click();
  await expect(page.getByText('completed').first()).toBeVisible({ timeout: 40_000 });

  await page.goto(`${orchestrator.url}/workers`);
  await selectMenuItem(page, 'rig-e2e', 'Drain…');
  await page.getByLabel(/^Reason/).fill('new fan');
  await page.getByRole('button', { name: 'Drain', exact: true }).click();
  await expect(row).toContainText('draining');
  await selectMenuItem(page, 'rig-e2e', 'Undrain');
  await expect(row).toContainText('idle');

  await row.getByRole('button').last().click();
  const deletion = page.getByRole('menuitem', { name: /Delete/ });
  await expect(deletion).toBeDisabled();
  await expect(deletion).toContainText('Only an offline worker can be deleted');
  await page.keyboard.press('Escape');
  await terminal.interrupt();
  await expect(row).toContainText('offline');
  await selectMenuItem(page, 'rig-e2e', 'Delete…');
  await page.getByLabel(/^Type rig-e2e/).fill('rig-e2e');
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await expect(row).toHaveCount(0);
});

test('disconnects a worker when its token is rotated, and reconnects it with the new command', async ({
  page,
}) => {
  const row = rowOf(page, 'rig-rotated');
  const joinDialog = await createWorker(page, 'rig-rotated');
  const oldCommand = await showCommand(joinDialog);
  const terminal = orchestrator.paste(oldCommand);
  await expect(joinDialog.getByText(/^Connected/)).toBeVisible({ timeout: 20_000 });
  await joinDialog.getByRole('button', { name: 'Done' }).click();
  await expect(row).toContainText('idle');

  await selectMenuItem(page, 'rig-rotated', 'Rotate token…');
  const question = page.getByRole('alertdialog', { name: 'Rotate the token of rig-rotated?' });
  await expect(question).toContainText('The worker must join again.');
  await expect(question.getByRole('button', { name: 'Cancel' })).toBeFocused();
  await question.getByRole('button', { name: 'Rotate token' }).click();
  const tokenDialog = page.getByRole('dialog', { name: 'New token for rig-rotated' });
  await expect(tokenDialog).toContainText('won’t be shown again');
  const newCommand = await showCommand(tokenDialog);
  expect(newCommand).not.toBe(oldCommand);
  expect(await terminal.exited).toBe(tokenRefusedCode);
  await tokenDialog.getByRole('button', { name: 'Done' }).click();
  await expect(page.getByText(/wt_|tj_/)).toHaveCount(0);
  await expect(row).toContainText('not connected');

  orchestrator.paste(newCommand);
  await expect(row).toContainText('idle', { timeout: 20_000 });
});

test('rejects a second machine that runs the same join command', async ({ page }) => {
  const row = rowOf(page, 'rig-once');
  const dialog = await createWorker(page, 'rig-once');
  await expect(dialog.getByText(/^Works once\. Expires at \d/)).toBeVisible();
  const command = await showCommand(dialog);
  const firstTerminal = orchestrator.paste(command);
  await expect(dialog.getByText(/^Connected/)).toBeVisible({ timeout: 20_000 });
  // After the worker has connected, the command is no longer needed.
  await expect(dialog.getByText(/^Works once/)).toHaveCount(0);
  await dialog.getByRole('button', { name: 'Done' }).click();
  const secondTerminal = orchestrator.paste(command, 'second-machine');
  expect(await secondTerminal.exited).toBe(tokenRefusedCode);
  await expect(row).toContainText('idle');
  await firstTerminal.interrupt();
});

test('creates a new join command after the first join command has expired', async ({ page }) => {
  await page.clock.install();
  const dialog = await createWorker(page, 'rig-late');
  const expiredCommand = await showCommand(dialog);
  await page.clock.fastForward('01:00:01');
  await expect(dialog.getByText(/^Expired at \d/)).toBeVisible();
  await dialog.getByRole('button', { name: 'Create new command' }).click();
  await expect(dialog.getByText(/^Works once\. Expires at \d/)).toBeVisible();
  expect(await dialog.locator('pre').first().textContent()).not.toBe(expiredCommand);
});

test("shows the worker token in the command for SimpleTuner's own worker", async ({ page }) => {
  const dialog = await createWorker(page, 'rig-v1');
  await dialog.getByRole('tab', { name: 'SimpleTuner' }).click();
  expect(await showCommand(dialog, 'wt_')).toContain('simpletuner worker --orchestrator-url');
  await expect(dialog).toContainText('joining revokes this token');
});

test('opens a worker after a click on its row, but not after a click on the checkbox or menu of the row', async ({
  page,
}) => {
  await orchestrator.createWorker({ name: 'rig-row' });
  await signIn(page, orchestrator);
  await page.goto(`${orchestrator.url}/workers?q=rig-row`);
  const row = rowOf(page, 'rig-row');
  await row.getByRole('checkbox').check();
  await selectMenuItem(page, 'rig-row', 'Name and labels…');
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  await expect(row).toBeVisible();
  await row.getByRole('gridcell').nth(1).click();
  await expect(page.getByRole('region', { name: 'Connection' })).toBeVisible();
  await expect(page).toHaveURL(/\/workers\/w_/);
});

test('shows every column of the table of workers without clipping in a window of 1280 pixels with a scroll bar', async ({
  page,
}) => {
  const gpus = { accelerator: 'cuda', gpu_name: 'NVIDIA GeForce RTX 4090', gpu_count: 8, gpu_vram_gb: 24 };
  const rig = await openTrainingRig(orchestrator, 'rig-loaded', gpus);
  await rig.beat({ gpu_utilization: 100, vram_used_gb: 187.5 });
  // A headless browser hides scroll bars, which are 15 pixels wide.
  await page.setViewportSize({ width: 1280 - 15, height: 800 });
  await signIn(page, orchestrator);
  await page.goto(`${orchestrator.url}/workers`);
  const row = rowOf(page, 'rig-loaded');
  await expect(row).toContainText('100 %');
  await page.getByRole('columnheader', { name: 'Utilisation' }).getByRole('button').click();
  // The text of an element is clipped when it is wider than the element.
  const clipped = await page.evaluate<readonly string[]>(`
    [...document.querySelectorAll('.table-scroll, [role="columnheader"], [role="gridcell"], .worker-load')]
      .filter(each => each.scrollWidth > each.clientWidth + 1 && each.clientWidth > 0)
      .map(each => each.className + ' ' + each.textContent + ': ' + each.scrollWidth + ' in ' + each.clientWidth)`);
  expect(clipped).toEqual([]);
});
