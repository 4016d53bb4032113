/** The page of pools: states, launches, actions, the form that creates a pool, and the test of a pool. */
import { expect, type Locator, type Page, test } from '@playwright/test';
import { untilLoaded } from './in-page.ts';
import { expectAccessible, expectFits, findMisfits, takePicture } from './page-checks.ts';
import { type Orchestrator, signIn, signInWithToken, startOrchestrator } from './panel.ts';
import { type EngineBehaviour, writePrograms } from './pool-programs.ts';

let orchestrator: Orchestrator;
test.beforeEach(async () => {
  orchestrator = await startOrchestrator();
});
test.afterEach(() => orchestrator.close());

async function createPool(name: string, behaviour: EngineBehaviour, settings: object = {}): Promise<string> {
  const program = writePrograms(orchestrator.dataDir, name, behaviour);
  const pool = await orchestrator.call('POST', '/api/admin/pools', {
    name,
    engine: { kind: 'command', programs: name },
    gpus: 0,
    after_s: 0,
    accelerator: null,
    labels: { site: name },
    worker_program: program,
    ...settings,
  });
  return String(pool['pool_id']);
}

const submitTo = (pool: string, gpus = 0): Promise<string> =>
  orchestrator.submit({
    config_name: `${pool}-lora`,
    config: {},
    gpu_count: gpus,
    worker_labels: { site: pool },
  });

async function open(page: Page, path = '/pools'): Promise<void> {
  await signIn(page, orchestrator);
  await page.goto(orchestrator.url + path);
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
}

const cardOf = (page: Page, name: string): Locator => page.getByRole('region', { name, exact: true });

async function chooseAction(page: Page, name: string, item: string): Promise<void> {
  await page.getByRole('button', { name: `Actions for pool ${name}` }).click();
  await page.getByRole('menuitem', { name: item }).click();
}

async function takePictureOf(page: Page, name: string): Promise<void> {
  await untilLoaded(page);
  // Move the pointer away, so that no element shows its hover state.
  await page.mouse.move(0, 0);
  await takePicture(page, `pools-${name}`, { fullPage: true });
}

/** Checks the accessibility and the fit of the page, and takes a picture. */
async function expectShownWell(page: Page, name: string): Promise<void> {
  await takePictureOf(page, name);
  await expectAccessible(page);
  await expectFits(page);
}

/**
 * Takes pictures of the page in both themes and several widths, and checks three of these views. Ends in the light theme at 1280
 * px.
 */
async function expectShownWellEverywhere(page: Page, name: string): Promise<void> {
  const views = [
    { colorScheme: 'light', width: 1_440, check: takePictureOf },
    { colorScheme: 'dark', width: 390, check: takePictureOf },
    { colorScheme: 'light', width: 390, check: expectShownWell },
    { colorScheme: 'dark', width: 1_280, check: expectShownWell },
    { colorScheme: 'light', width: 1_280, check: expectShownWell },
  ] as const;
  for (const { colorScheme, width, check } of views) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await page.setViewportSize({ width, height: 900 });
    await check(page, `${name}-${colorScheme}-${width}`);
  }
}

test('explains pools when none exists, and creates and checks the first pool', async ({ page }) => {
  test.setTimeout(180_000);
  writePrograms(orchestrator.dataDir, 'lab', 'waiting');
  await open(page, '/');
  await page.keyboard.press('g');
  await page.keyboard.press('p');
  await expect(page.getByText('A pool orders machines from a cluster or cloud')).toBeVisible();
  await expectShownWell(page, 'empty');
  await page.getByRole('link', { name: 'Create pool' }).click();
  await page.getByLabel('Name', { exact: true }).fill('Lab 1');
  await page.getByLabel('Partition').fill('-a b');
  await page.getByLabel('Max open launches').fill('0');
  await page.getByLabel('When the pool orders machines').selectOption('some');
  await page.getByLabel('Time zone').fill('Mars');
  await page.getByRole('button', { name: 'Create and check' }).click();
  await expect(page.getByText('Correct 4 fields.')).toBeVisible();
  await expect(page.getByLabel('Name', { exact: true })).toBeFocused();
  await expect(page.getByText('Enter 1 or more.')).toBeVisible();
  await expectShownWellEverywhere(page, 'form');
  await page.getByLabel('Name', { exact: true }).fill('lab');
  await page.getByLabel('Max open launches').fill('2');
  await page.getByLabel('Time zone').fill('Europe/Berlin');
  await page.getByLabel('Engine', { exact: true }).selectOption('command');
  await page.getByLabel('Folder of the programs').fill('lab');
  await page.getByRole('button', { name: 'Create and check' }).click();
  await expect(page.getByText('The engine accepts orders')).toBeVisible();
  await expect(page.getByRole('row', { name: 'a100' })).toContainText('8 nodes with 8 GPUs');
  await expect(page.getByText('every day, 20:00–08:00 (Europe/Berlin)')).toBeVisible();
  await expectShownWellEverywhere(page, 'check');
});

test('shows the state and the launches of each pool, and updates them live', async ({ page }) => {
  test.setTimeout(180_000);
  await createPool('gpu', 'waiting', {
    gpus: 4,
    max_gpus: 16,
    gpu_hours_per_day: 100,
    price_per_gpu_hour: 2.5,
  });
  await createPool('spot', 'running', { warm: 1, gpu_hours_per_day: 24 });
  await createPool('a100', 'refusing', { gpus: 8 });
  await createPool('cluster', 'broken');
  const pausedPool = await createPool('old', 'waiting');
  await orchestrator.call('POST', `/api/admin/pools/${pausedPool}/pause`, {
    reason: 'moves to the new rack',
  });
  await createPool('edge', 'silent', { join_s: 10 });
  // After three launches whose workers never joined, the pool pauses itself.
  for (let count = 0; count < 3; count++) await submitTo('edge');
  await open(page);
  const gpu = cardOf(page, 'gpu');
  await expect(gpu).toContainText('Ready: no machine needed');
  await submitTo('gpu', 4);
  await submitTo('gpu', 2);
  await submitTo('a100', 8);
  await expect(gpu.getByText('Waits for a free machine')).toHaveCount(2);
  await expect(gpu).toContainText('Expected start:');
  await expect(gpu.getByRole('progressbar', { name: 'GPUs of pool gpu' })).toHaveAttribute(
    'aria-valuetext',
    '6 of 16',
  );
  await expect(cardOf(page, 'spot').getByRole('listitem', { name: /: joined$/ })).toBeVisible();
  await expect(cardOf(page, 'a100')).toContainText('Requested node configuration is not available');
  await expect(cardOf(page, 'cluster')).toContainText('Engine does not answer');
  await expect(cardOf(page, 'old')).toContainText('moves to the new rack');
  await expect(cardOf(page, 'edge')).toContainText('The pool paused itself', { timeout: 60_000 });
  await expectShownWellEverywhere(page, 'list');
});

test('pauses, resumes, edits and deletes a pool, and ends its launches', async ({ page }) => {
  test.setTimeout(150_000);
  await createPool('gpu', 'waiting');
  const job = await submitTo('gpu');
  await open(page);
  const gpu = cardOf(page, 'gpu');
  await expect(gpu).toContainText('Waits for a free machine');
  await chooseAction(page, 'gpu', 'Pause');
  const dialog = page.getByRole('alertdialog');
  await dialog.getByLabel('Reason (optional)').fill('too expensive');
  await dialog.getByLabel('Also end its launches').check();
  await expectShownWell(page, 'pause');
  await dialog.getByRole('button', { name: 'Pause pool' }).click();
  await expect(gpu).toContainText('Paused by admin');
  await expect(gpu).toContainText('too expensive');
  await expect(gpu.getByRole('listitem', { name: /ended by a user$/ })).toBeVisible();
  await page.goto(`${orchestrator.url}/jobs/${job}`);
  await expect(page.getByText('admin paused the pool: too expensive')).toBeVisible();
  await expectShownWell(page, 'job');
  await page.getByRole('link', { name: 'gpu', exact: true }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'gpu' })).toBeVisible();
  await page.getByRole('button', { name: 'Resume: pool gpu' }).click();
  await page.getByRole('button', { name: /^End launch gpu-/ }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'End launch' }).click();
  await expect(page.getByRole('listitem', { name: /ended by a user$/ })).toHaveCount(2);
  await orchestrator.call('POST', `/api/queue/${job}/cancel`, {});
  await chooseAction(page, 'gpu', 'Edit');
  await page.getByRole('button', { name: 'Check engine' }).click();
  await expect(page.getByText('The engine accepts orders')).toBeVisible();
  await page.getByLabel('Max open launches').fill('7');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByText('of 7')).toBeVisible();
  await expect(page.getByRole('button', { name: /^End launch/ })).toHaveCount(0, { timeout: 30_000 });
  await chooseAction(page, 'gpu', 'Delete');
  await page.getByLabel('Type gpu to delete it').fill('gpu');
  await page.getByRole('button', { name: 'Delete pool' }).click();
  await expect(page.getByText('A pool orders machines from a cluster')).toBeVisible();
});

test('tests a pool, and explains what to check when the worker of the test never joins', async ({ page }) => {
  test.setTimeout(150_000);
  await createPool('spot', 'running');
  await createPool('edge', 'silent', { join_s: 10 });
  await open(page);
  await page.getByRole('button', { name: 'Test: pool spot' }).click();
  const dialog = page.getByRole('dialog', { name: 'Test of pool spot' });
  await expect(dialog.getByRole('list', { name: 'Phases' })).toBeVisible();
  await expectShownWell(page, 'test-running');
  await expect(dialog).toContainText('Test passed', { timeout: 60_000 });
  await expectShownWellEverywhere(page, 'test-passed');
  await dialog.getByRole('button', { name: 'Close' }).click();
  await expect(cardOf(page, 'spot').getByRole('listitem', { name: /: finished$/ })).toBeVisible();
  await expect(cardOf(page, 'spot')).toContainText('Ready: no machine needed');
  await page.getByRole('button', { name: 'Test: pool edge' }).click();
  const failedTest = page.getByRole('dialog', { name: 'Test of pool edge' });
  await expect(failedTest).toContainText('Test failed: never joined.', { timeout: 60_000 });
  await expect(failedTest).toContainText('can reach the public address of the server');
  await expectShownWell(page, 'test-failed');
});

test('moves between launches of pools with the keys j and k, and fits the pool pages in each language', async ({
  page,
}) => {
  test.setTimeout(180_000);
  await createPool('gpu', 'waiting', { gpu_hours_per_day: 100, price_per_gpu_hour: 2.5 });
  await createPool('a100', 'refusing', { gpus: 8 });
  await submitTo('gpu');
  await submitTo('a100', 8);
  await open(page);
  const launches = page.locator('.launch');
  await expect(launches).toHaveCount(2);
  await page.keyboard.press('j');
  await expect(launches.first()).toBeFocused();
  await page.keyboard.press('j');
  await expect(launches.last()).toBeFocused();
  await page.keyboard.press('k');
  await expect(launches.first()).toBeFocused();
  for (const language of ['es', 'zh', 'hi', 'ja', 'pseudo']) {
    await page.evaluate(`localStorage.setItem('trainyard.preferences', '{"language":"${language}"}')`);
    for (const [path, ready] of [
      ['/pools', '.launch-facts'],
      ['/pools/new', '.pool-form'],
    ] as const) {
      await page.goto(orchestrator.url + path);
      await expect(page.locator(ready).first()).toBeVisible();
      for (const width of [390, 1_280]) {
        await page.setViewportSize({ width, height: 900 });
        await takePictureOf(page, `${ready.slice(1)}-${language}-${width}`);
        expect(await findMisfits(page), language).toEqual([]);
      }
    }
  }
});

test('hides pools from a user without the permission', async ({ page }) => {
  await signInWithToken(page, orchestrator.url, await orchestrator.createToken('ada', ['queue.view']));
  await expect(page.getByRole('link', { name: 'Pools' })).toHaveCount(0);
  await page.goto(`${orchestrator.url}/pools`);
  await expect(page.getByText('“Manage pools” (admin.pools)')).toBeVisible();
});
