/** The panel hides actions that the user may not perform, and requests no data that the user may not read. */

import { expect, type Page, test } from '@playwright/test';
import { ownPermissions, type Permission } from '../../protocol/call.ts';
import type { DatasetView } from '../../protocol/datasets-api.ts';
import { pushDataset } from '../support/push-dataset.ts';
import { expectAccessible } from './page-checks.ts';
import { selectMenuItem, type Orchestrator, rowOf, signInWithToken, startOrchestrator } from './panel.ts';

let orchestrator: Orchestrator;
/** A job that no worker can take. */
let pendingJob: string;
let photos: DatasetView;
test.beforeAll(async () => {
  orchestrator = await startOrchestrator();
  await orchestrator.startRig('rig-a');
  pendingJob = await orchestrator.submit({
    config_name: 'far',
    config: {},
    worker_labels: { nobody: 'has-this' },
  });
  await orchestrator.submit({ config_name: 'unapproved', config: {}, requires_approval: true });
  photos = await pushDataset(orchestrator, 'photos', { 'a.jpg': 'a photo' });
});
test.afterAll(() => orchestrator.close());

interface Traffic {
  /** Each call with its status, such as "403 GET /api/audit". */
  readonly calls: readonly string[];
  refused(): readonly string[];
}

async function signInAs(page: Page, name: string, permissions: readonly Permission[]): Promise<Traffic> {
  const calls: string[] = [];
  page.on('response', response => {
    const { pathname } = new URL(response.url());
    calls.push(`${response.status()} ${response.request().method()} ${pathname}`);
  });
  await signInWithToken(page, orchestrator.url, await orchestrator.createToken(name, permissions));
  return { calls, refused: () => calls.filter(call => /^40[13]/.test(call)) };
}

const pageLinksOf = (page: Page): Promise<readonly string[]> =>
  page.getByRole('navigation').getByRole('link').allTextContents();

/** Returns the texts of the actions on a page. Ignores controls for filters, sorting, tabs and folded lists. */
const actionsOn = (page: Page): Promise<readonly string[]> =>
  page
    .locator('#content :is(button, .button, [type="checkbox"])')
    .and(page.locator(':not(.chip-button, .table-sort, .wait-toggle, [role="tab"])'))
    .allTextContents();

async function expectLoadedWithoutErrors(page: Page): Promise<void> {
  await expect(page.locator('[aria-busy="true"]')).toHaveCount(0);
  await expect(page.getByRole('alert')).toHaveCount(0);
  await expect(page.locator('[data-sonner-toast]')).toHaveCount(0);
  await expectAccessible(page);
}

test('offers read-only users no actions on any page, and sends no refused requests', async ({ page }) => {
  const traffic = await signInAs(page, 'watcher', ['queue.view']);
  expect(await pageLinksOf(page)).toEqual([
    'Overview',
    'Jobs',
    'Gallery',
    'Queue',
    'Timeline',
    'Data',
    'Settings',
    'Help',
  ]);
  await expect(page.getByRole('link', { name: 'Signed in as watcher' })).toBeVisible();
  const tour: readonly (readonly [path: string, text: string, actions: readonly string[]])[] = [
    ['/', 'Workers: requires the permission “Manage workers”', ['See reason', 'Open job']],
    ['/jobs', 'far', []],
    [`/jobs/${pendingJob}`, 'Why it is pending', []],
    [`/jobs/${pendingJob}?tab=raw`, '"config_name": "far"', ['Copy']],
    ['/queue', '1 job needs approval', []],
    ['/data', 'photos', []],
    [`/data/${photos.id}`, 'All datasets', []],
    ['/settings', 'View all jobs', ['Sign out']],
    [
      '/settings/notifications',
      'Push messages in this browser',
      // The six checkboxes have no text: five events, and "only the user's own jobs".
      [...Array<string>(6).fill(''), 'Turn on push messages'],
    ],
    ['/help', '"queue.view"', ['Copy']],
  ];
  for (const [path, text, actions] of tour) {
    await page.goto(orchestrator.url + path);
    await expect(page.getByText(text).first()).toBeVisible();
    await expectLoadedWithoutErrors(page);
    expect(await actionsOn(page), path).toEqual(actions);
  }
  await expect(page.getByText('Live', { exact: true })).toBeVisible();
  await page.keyboard.press('Control+k');
  const palette = page.getByRole('dialog', { name: 'Go to' });
  await expect(palette.getByRole('combobox')).toBeFocused();
  const options = palette.getByRole('option');
  await page.keyboard.type('r');
  await expect(options.filter({ hasText: 'far' })).toHaveCount(1);
  await expect(options.filter({ hasText: 'rig-a' })).toHaveCount(0);
  await page.keyboard.press('Escape');
  // The shortcut of the workers page does nothing.
  await page.keyboard.press('g');
  await page.keyboard.press('w');
  await expect(page.getByRole('heading', { level: 1, name: 'Help' })).toBeVisible();
  expect(traffic.refused()).toEqual([]);
});

test('names the missing permission, and how to get it, on each page that the user may not open', async ({
  page,
}) => {
  const traffic = await signInAs(page, 'guest', ['queue.view']);
  const pages: readonly (readonly [path: string, permission: Permission])[] = [
    ['/audit', 'admin.audit'],
    ['/workers', 'admin.workers'],
    ['/jobs/new', 'queue.submit.own'],
    [`/jobs/${pendingJob}?tab=config`, 'queue.manage'],
  ];
  for (const [path, permission] of pages) {
    await page.goto(orchestrator.url + path);
    const message = page.locator('.missing');
    await expect(message).toContainText(`(${permission})`);
    await expect(message).toContainText('Signed in as guest');
    await expect(message).toContainText(`trainyard tokens create NAME --allow queue.view,${permission}`);
    await expectLoadedWithoutErrors(page);
  }
  expect(traffic.refused()).toEqual([]);
  await page.getByRole('button', { name: 'Sign in with another token' }).click();
  await expect(page.getByLabel('Token')).toBeVisible();
});

test('offers only the actions submit, duplicate and retry to users with the submit permission', async ({
  page,
}) => {
  const traffic = await signInAs(page, 'submitter', ['queue.view', 'queue.submit']);
  await page.goto(`${orchestrator.url}/jobs`);
  await page.getByRole('link', { name: 'Submit job' }).first().click();
  await page.getByLabel('Text (JSON)').fill('{ "steps": 3 }');
  await expect(page.getByRole('button', { name: /Save/ })).toHaveCount(0);
  await page.getByText('Advanced options').click();
  await page.getByLabel('GPUs', { exact: true }).fill('64');
  await page.getByRole('button', { name: 'Submit', exact: true }).click();
  await page.getByRole('link', { name: 'Open job' }).click();
  await expect(page.locator('.job-title')).toContainText('pending');
  await expect(page.locator('.job-head').getByRole('button')).toHaveText(['Duplicate', '']);
  await page.locator('.job-head').getByRole('button').last().click();
  await expect(page.getByRole('menuitem')).toHaveText([/Retry/]);
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Duplicate' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Submit a job like inline' })).toBeVisible();
  await expectLoadedWithoutErrors(page);
  expect(traffic.refused()).toEqual([]);
});

test('shows only their own jobs to users with permissions for own jobs, and updates these jobs live', async ({
  page,
}) => {
  const traffic = await signInAs(page, 'ada', ownPermissions);
  await page.goto(`${orchestrator.url}/jobs`);
  await expect(page.getByText('Live', { exact: true })).toBeVisible();
  const eveToken = await orchestrator.createToken('eve', ownPermissions);
  const response = await page.request.post(`${orchestrator.url}/api/queue/submit`, {
    headers: { authorization: `Bearer ${eveToken}` },
    data: { config_name: 'of-eve', config: {}, gpu_count: 64 },
  });
  const { job_id: jobOfEve } = (await response.json()) as { readonly job_id: string };
  await page.getByRole('link', { name: 'Submit job' }).first().click();
  await page.getByLabel('Text (JSON)').fill('{ "steps": 3 }');
  await page.getByText('Advanced options').click();
  await page.getByLabel('GPUs', { exact: true }).fill('64');
  await page.getByRole('button', { name: 'Submit', exact: true }).click();
  await page.getByRole('link', { name: 'Open job' }).click();
  await expect(page.locator('.job-head').getByRole('button')).toHaveText(['Duplicate', 'Cancel job', '']);
  await page.locator('.job-head').getByRole('button').last().click();
  await expect(page.getByRole('menuitem')).toHaveText([/Retry/, /Delete/]);
  await page.keyboard.press('Escape');
  await page.goto(`${orchestrator.url}/jobs`);
  await expect(rowOf(page, 'inline')).toHaveCount(1);
  await expect(rowOf(page, 'of-eve')).toHaveCount(0);
  await expect(rowOf(page, 'far')).toHaveCount(0);
  await page.goto(`${orchestrator.url}/queue`);
  await expect(page.getByRole('row').filter({ hasText: 'inline' })).toBeVisible();
  await expectLoadedWithoutErrors(page);
  expect(traffic.refused()).toEqual([]);
  await page.goto(`${orchestrator.url}/jobs/${jobOfEve}`);
  await expect(page.getByText(`Job ${jobOfEve} not found`)).toBeVisible();
  await expect(page.getByText('of-eve')).toHaveCount(0);
});

test('lets users with only the workers permission drain workers, and requests no jobs and no event stream', async ({
  page,
}) => {
  const traffic = await signInAs(page, 'rigger', ['admin.workers']);
  expect(await pageLinksOf(page)).toEqual(['Overview', 'Workers', 'Settings', 'Help']);
  await expect(page.getByText('Jobs: requires the permission “View its own jobs”')).toBeVisible();
  await page.goto(`${orchestrator.url}/workers`);
  await expect(rowOf(page, 'rig-a')).toContainText('idle', { timeout: 20_000 });
  await expect(page.getByText('Updated every 10 seconds')).toBeVisible();
  await selectMenuItem(page, 'rig-a', 'Drain…');
  await page.getByRole('button', { name: 'Drain', exact: true }).click();
  await expect(rowOf(page, 'rig-a')).toContainText('by rigger');
  await selectMenuItem(page, 'rig-a', 'Undrain');
  await expect(rowOf(page, 'rig-a')).toContainText('idle');
  await page.goto(`${orchestrator.url}/settings/network`);
  await expect(page.getByRole('region', { name: 'Network' })).toBeVisible();
  await expectLoadedWithoutErrors(page);
  expect(traffic.refused()).toEqual([]);
  expect(traffic.calls.filter(call => /\/api\/(events|queue|audit|tokens)/.test(call))).toEqual([]);
});

test("offers a user who manages tokens only that user's own permissions for a new token", async ({
  page,
}) => {
  const traffic = await signInAs(page, 'keeper', ['queue.view', 'admin.tokens']);
  await page.goto(`${orchestrator.url}/settings/access`);
  await page.getByRole('button', { name: 'Add token' }).click();
  await expect(page.getByRole('dialog').getByRole('checkbox')).toHaveCount(3);
  await expect(page.getByRole('checkbox', { name: 'Manage tokens' })).toBeVisible();
  await expect(page.getByRole('checkbox', { name: 'View its own jobs' })).toBeChecked();
  await expect(page.getByRole('checkbox', { name: 'View all jobs' })).not.toBeChecked();
  // The dialog has the right layout although no other page has loaded the styles.
  await expect(page.getByRole('dialog').locator('form')).toHaveCSS('display', 'flex');
  expect(traffic.refused()).toEqual([]);
});

test('applies the permissions of another user who signs in in the same browser, without a reload', async ({
  page,
}) => {
  await signInAs(page, 'before', ['queue.view', 'admin.workers', 'admin.audit']);
  await page.goto(`${orchestrator.url}/workers`);
  await expect(rowOf(page, 'rig-a')).toBeVisible();
  const response = await page.request.post(`${orchestrator.url}/api/session`, {
    headers: { origin: orchestrator.url },
    data: { token: await orchestrator.createToken('after', ['queue.view']) },
  });
  expect(response.status()).toBe(200);
  // The page learns about the other user from the response to its next request for the workers.
  await expect(page.locator('.missing')).toContainText('Signed in as after', { timeout: 30_000 });
  await expect
    .poll(() => pageLinksOf(page))
    .toEqual(['Overview', 'Jobs', 'Gallery', 'Queue', 'Timeline', 'Data', 'Settings', 'Help']);
  await expect(page.getByText('Live', { exact: true })).toBeVisible();
});
