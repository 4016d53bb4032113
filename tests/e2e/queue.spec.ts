/** The queue page: moving jobs by mouse, finger and keyboard, and the groups of jobs that wait for the same reason. */
import { expect, type Locator, type Page, test } from '@playwright/test';
import { expectShownWell, takePicture } from './page-checks.ts';
import { type Orchestrator, signIn, startOrchestrator } from './panel.ts';
import { openTrainingRig } from './training-rig.ts';

let orchestrator: Orchestrator;
test.beforeEach(async () => {
  orchestrator = await startOrchestrator({ args: ['--heartbeat-timeout', '600'] });
});
test.afterEach(() => orchestrator.close());

/** Submits a job that stays pending, because no worker has nine GPUs. */
const submit = (name: string, fields: object = {}): Promise<string> =>
  orchestrator.submit({ config_name: name, config: { trainer: 'selftest' }, gpu_count: 9, ...fields });

async function submitAll(names: readonly string[], fields: object = {}): Promise<void> {
  for (const name of names) await submit(name, fields);
}

async function open(page: Page): Promise<void> {
  await signIn(page, orchestrator);
  await page.goto(`${orchestrator.url}/queue`);
  await expect(page.locator('[data-row="0"]')).toBeVisible();
}

/** Finds the drag handle in the row of a job. */
const grip = (page: Page, name: string): Locator =>
  page.getByRole('button', { name: `Move job ${name}`, exact: true });
const status = (page: Page): Locator => page.locator('.queue-page [role="status"]').last();

/** Returns the names of the jobs in the table, in the order of their rows. */
async function readOrder(page: Page): Promise<readonly string[]> {
  const rows = await Promise.all(
    (await page.locator('[data-row]').all()).map(async row => ({
      position: Number(await row.getAttribute('data-row')),
      name: (await row.getByRole('link').first().textContent()) ?? '',
    })),
  );
  return rows.toSorted((a, b) => a.position - b.position).map(({ name }) => name);
}

const expectOrder = (page: Page, names: readonly string[]): Promise<void> =>
  expect.poll(() => readOrder(page)).toEqual(names);

/** Drags the handle of a job to the upper or lower half of the row `over`, and keeps the mouse button pressed. */
async function drag(page: Page, name: string, over: string, half: 'upper' | 'lower'): Promise<void> {
  const from = await grip(page, name).boundingBox();
  const to = await grip(page, over).boundingBox();
  if (from === null || to === null) throw new Error('a drag handle is out of view');
  // The handle is 40 pixels high.
  await page.mouse.move(from.x + 10, from.y + 20);
  await page.mouse.down();
  await page.mouse.move(to.x + 14, to.y + (half === 'upper' ? 5 : 35), { steps: 4 });
}

test('moves a job with the mouse, and shows the new order in other tabs and after a restart of the server', async ({
  page,
  context,
}) => {
  await submitAll(['one', 'two', 'three', 'four']);
  await open(page);
  const secondTab = await context.newPage();
  await open(secondTab);
  await drag(page, 'four', 'two', 'upper');
  await expect(page.locator('.drag-ghost')).toContainText('four');
  await expect(status(page)).toHaveText('four moves to position 2');
  await takePicture(page, 'queue-dragging');
  await page.mouse.up();
  for (const tab of [page, secondTab]) await expectOrder(tab, ['one', 'four', 'two', 'three']);
  await orchestrator.crash();
  await orchestrator.restart();
  await expect(page.locator('.stream-badge')).toHaveText('Live', { timeout: 30_000 });
  await page.reload();
  await expectOrder(page, ['one', 'four', 'two', 'three']);
  await drag(page, 'one', 'three', 'lower');
  await page.keyboard.press('Escape');
  await page.mouse.up();
  await expect(status(page)).toHaveText('one stays at position 1');
  await expectOrder(page, ['one', 'four', 'two', 'three']);
});

test('refuses to drop a job among jobs of another priority, and shows the reason during the drag', async ({
  page,
}) => {
  await submitAll(['first', 'second'], { priority: 'high' });
  await submitAll(['third', 'fourth']);
  await open(page);
  await drag(page, 'fourth', 'first', 'upper');
  const reason = 'fourth has normal priority and first has high';
  await expect(page.locator('.drag-ghost')).toContainText(reason);
  await expect(status(page)).toContainText(reason);
  await expect(page.locator('.drop-line')).toHaveAttribute('data-refused', 'true');
  await takePicture(page, 'queue-refused');
  await page.mouse.up();
  await expectOrder(page, ['first', 'second', 'third', 'fourth']);
  // The drop is allowed above `third`, the first job with the same priority as `fourth`.
  await drag(page, 'fourth', 'third', 'upper');
  await page.mouse.up();
  await expectOrder(page, ['first', 'second', 'fourth', 'third']);
});

test('moves a job with the keyboard among jobs of its priority, and keeps the focus', async ({ page }) => {
  await submitAll(['top'], { priority: 'high' });
  await submitAll(['one', 'two', 'three']);
  await open(page);
  await grip(page, 'three').focus();
  await page.keyboard.press('Space');
  await expect(grip(page, 'three')).toHaveAttribute('aria-pressed', 'true');
  await expect(status(page)).toContainText('three is at position 4');
  await page.keyboard.press('ArrowUp');
  await expect(status(page)).toHaveText('three moves to position 3');
  await page.keyboard.press('Home');
  await expect(status(page)).toContainText('and top has high');
  await expect(page.locator('.move-bar')).toHaveAttribute('data-refused', 'true');
  await page.keyboard.press('Enter');
  await expectOrder(page, ['top', 'three', 'one', 'two']);
  await expect(status(page)).toHaveText('three moved to position 2');
  await expect(grip(page, 'three')).toBeFocused();
  await page.keyboard.press('Space');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Escape');
  await expect(status(page)).toHaveText('three stays at position 2');
  await expectOrder(page, ['top', 'three', 'one', 'two']);
  // While no job is being moved, the arrow keys move between rows as in every table.
  await page.keyboard.press('ArrowDown');
  await expect(page.locator('[data-row="2"]')).toBeFocused();
});

test("moves a job with taps, and explains why the move fails after another job's priority has changed", async ({
  browser,
}) => {
  await submitAll(['one', 'two', 'three']);
  const last = await submit('four');
  const context = await browser.newContext({ hasTouch: true, viewport: { width: 390, height: 800 } });
  const page = await context.newPage();
  await open(page);
  await grip(page, 'three').tap();
  await page.getByRole('button', { name: 'Up', exact: true }).tap();
  await takePicture(page, 'queue-tapped-390');
  await page.getByRole('button', { name: 'Move here' }).tap();
  await expectOrder(page, ['one', 'three', 'two', 'four']);
  await grip(page, 'two').tap();
  await page.getByRole('button', { name: 'Down', exact: true }).tap();
  await orchestrator.call('POST', `/api/queue/${last}/priority`, { priority: 'low' });
  await page.getByRole('button', { name: 'Move here' }).tap();
  await expect(status(page)).toContainText('two has normal priority and four has low');
  await page.getByRole('button', { name: 'Cancel', exact: true }).tap();
  await expectOrder(page, ['one', 'three', 'two', 'four']);
  await context.close();
});

test('moves a job in a table of 2,000 rows with PageDown, and by holding the mouse below the table so that it scrolls', async ({
  page,
}) => {
  test.setTimeout(120_000);
  for (let start = 0; start < 2_000; start += 100)
    await Promise.all(Array.from({ length: 100 }, (_, index) => submit(`job-${start + index}`)));
  await open(page);
  // Until the page has loaded the order, it shows only the jobs that it knows from events. The first row must be one of the jobs
  // 0 to 99, which were submitted at the same time.
  await expect.poll(async () => (await readOrder(page))[0]).toMatch(/^job-\d{1,2}$/);
  const [first = ''] = await readOrder(page);
  await grip(page, first).focus();
  await page.keyboard.press('Space');
  for (let pages = 0; pages < 12; pages += 1) await page.keyboard.press('PageDown');
  await expect(status(page)).toHaveText(`${first} moves to position 121`);
  await expect(page.locator('.drop-line')).toBeVisible();
  await page.keyboard.press('Space');
  await expect(status(page)).toHaveText(`${first} moved to position 121`);
  await expect(grip(page, first)).toBeFocused();
  await expect(page.locator('[data-row="120"]')).toContainText(first);

  const box = await grip(page, first).boundingBox();
  const table = await page.locator('.table-scroll').boundingBox();
  if (box === null || table === null) throw new Error('the table is out of view');
  await page.mouse.move(box.x + 10, box.y + 20);
  await page.mouse.down();
  // The table scrolls as long as the pointer is below its lower edge.
  await page.mouse.move(box.x + 12, table.y + table.height + 60, { steps: 3 });
  await expect
    .poll(() => page.locator('.table-scroll').evaluate(element => Number(Reflect.get(element, 'scrollTop'))))
    .toBeGreaterThan(9_000);
  await page.mouse.move(box.x + 12, table.y + 200);
  await expect(status(page)).toContainText(`${first} moves to position`);
  await page.mouse.up();
  await expect(status(page)).toContainText(`${first} moved to position`);
  const position = Number(/(\d+)$/.exec((await status(page).textContent()) ?? '')?.[1]);
  expect(position).toBeGreaterThan(180);
  await expect(page.locator(`[data-row="${position - 1}"]`)).toContainText(first);
});

test('groups pending jobs by the reason for waiting, and links a queue limit to its setting', async ({
  page,
}) => {
  test.setTimeout(180_000);
  const rig = await openTrainingRig(orchestrator, 'rig-1');
  const running = await orchestrator.submit({
    config_name: 'busy',
    config: { trainer: 'selftest' },
    gpu_count: 0,
  });
  const job = await rig.takeOffer();
  expect(job.jobId).toBe(running);
  await rig.report(job, 'running', { progress: { step: 10, total_steps: 100, steps_per_second: 0.05 } });
  for (const name of ['same-1', 'same-2', 'same-3']) await submit(name, { gpu_count: 0 });
  await submit('huge', { gpu_count: 64 });
  await open(page);
  const groups = page.locator('.wait-groups > li');
  await expect(groups).toHaveCount(2);
  await expect(groups.first()).toContainText('3 jobs wait');
  await expect(groups.first()).toContainText('rig-1 is busy');
  await expect(groups.first()).toContainText('next free in about 30m');
  await expect(groups.last()).toContainText('huge waits for 64 GPUs');
  await groups.first().getByRole('button').focus();
  await page.keyboard.press('Enter');
  await expect(groups.first().getByRole('listitem')).toHaveText([/1.*same-1/, /2.*same-2/, /3.*same-3/]);
  await expectShownWell(page, 'queue-groups');
  await page.keyboard.press('Enter');
  await expect(groups.first().getByRole('listitem')).toHaveCount(0);

  await orchestrator.call('POST', '/api/queue/concurrency', { max_concurrent: 1 });
  await expect(groups).toHaveCount(1, { timeout: 15_000 });
  await expect(groups).toContainText('Queue limit reached: 1 of 1 running');
  await expect(page.locator('.queue-figures')).toContainText('1 of 1 jobs running');
  await groups.getByRole('link', { name: 'Change limits' }).click();
  await expect(page.getByLabel('Max running jobs')).toBeFocused();
  await expectShownWell(page, 'queue-limit', [390]);
});
