/** The page of datasets: stored versions, the jobs that use them, pinning and deleting. */
import { expect, type Locator, type Page, test } from '@playwright/test';
import { ownPermissions } from '../../protocol/call.ts';
import type { DatasetView } from '../../protocol/datasets-api.ts';
import { pushDataset } from '../support/push-dataset.ts';
import { findOverflows } from './in-page.ts';
import { expectAccessible, expectFits } from './page-checks.ts';
import { openTrainingRig } from './training-rig.ts';
import { enterToken, selectMenuItem, type Orchestrator, rowOf, signIn, startOrchestrator } from './panel.ts';

let orchestrator: Orchestrator;
test.beforeEach(async () => {
  orchestrator = await startOrchestrator();
});
test.afterEach(() => orchestrator.close());

const push = (name: string, texts: Readonly<Record<string, string>>): Promise<DatasetView> =>
  pushDataset(orchestrator, name, texts);
const submitWith = ({ version }: DatasetView): Promise<string> =>
  orchestrator.submit({
    config_name: 'portraits',
    config: { instance_data_dir: '/home/ada/photos' },
    data: [{ path: '/home/ada/photos', version }],
  });
const kilobytes = (count: number, letter: string): string => letter.repeat(count * 1_000);

async function open(page: Page, path = '/data'): Promise<void> {
  await signIn(page, orchestrator);
  await page.goto(orchestrator.url + path);
}

const figure = (page: Page, name: string): Locator =>
  page
    .locator('.data-figures > div')
    .filter({ has: page.locator('dt', { hasText: name }) })
    .locator('dd')
    .first();
const question = (page: Page): Locator => page.getByRole('alertdialog');
/** Positions of the columns in the table of datasets. */
const columns = { files: 2, size: 3, owner: 4, jobs: 6, pinned: 7 } as const;
const cell = (page: Page, row: string, column: keyof typeof columns): Locator =>
  rowOf(page, row).getByRole('gridcell').nth(columns[column]);
/** The part of a version that the panel shows. */
const shortVersion = ({ version }: DatasetView): string => version.slice(0, 12);

test('explains how to store training data when none is stored, and copies the command', async ({
  page,
  context,
}) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await open(page, '/');
  await expect(page.getByRole('navigation')).toBeVisible();
  await page.keyboard.press('g');
  await page.keyboard.press('d');
  await expect(page.getByRole('heading', { level: 1, name: 'Data' })).toBeVisible();
  await expect(page.getByText('No training data is stored yet.')).toBeVisible();
  await expect(page.getByText('trainyard jobs submit FILE')).toBeVisible();
  await page.getByRole('button', { name: 'Copy command trainyard data push FOLDER' }).click();
  await expect(page.getByRole('button', { name: 'Copied' })).toBeVisible();
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe('trainyard data push FOLDER');
  await expectAccessible(page);
});

test('lists datasets with their newest version, searches them, and shows all versions of a dataset', async ({
  page,
}) => {
  const first = await push('photos', { 'a.jpg': kilobytes(2, 'a') });
  const second = await push('photos', { 'a.jpg': kilobytes(2, 'a'), 'b.jpg': kilobytes(3, 'b') });
  await push('base model', { 'model.safetensors': kilobytes(40, 'm') });
  await submitWith(first);
  await open(page);
  const photos = rowOf(page, 'photos');
  await expect(photos).toContainText('2 versions');
  await expect(photos.locator('code')).toHaveText(shortVersion(second));
  await expect(photos.locator('code')).toHaveAttribute('title', second.version);
  await expect(cell(page, 'photos', 'files')).toHaveText('2');
  await expect(cell(page, 'photos', 'size')).toHaveText('5 kB');
  await expect(cell(page, 'photos', 'owner')).toHaveText('admin');
  await expect(cell(page, 'photos', 'jobs')).toHaveText('1');
  await expect(figure(page, 'Stored')).toContainText(/^45\.\d kB$/);
  await expect(figure(page, 'Unused')).toHaveText('2 versions, up to 45 kB');
  await page.keyboard.press('/');
  await page.keyboard.type(first.version.slice(0, 8));
  await expect(page.getByRole('status').filter({ hasText: '1 dataset' })).toBeVisible();
  await expect(rowOf(page, 'base model')).toHaveCount(0);
  await expect(page).toHaveURL(`${orchestrator.url}/data?q=${first.version.slice(0, 8)}`);
  await page.keyboard.press('Tab');
  await page.getByRole('searchbox').fill('no such thing');
  await page.getByRole('button', { name: 'Clear the search' }).click();
  await expect(rowOf(page, 'base model')).toBeVisible();
  await photos.focus();
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(`${orchestrator.url}/data/${second.id}`);
  await expect(page.getByRole('heading', { level: 1, name: 'photos' })).toBeVisible();
  const versions = page.getByRole('grid', { name: 'Versions of photos' }).locator('[data-row]');
  await expect(versions).toHaveCount(2);
  await expect(versions.first()).toContainText('newest');
  await expect(versions.first().locator('code')).toHaveText(shortVersion(second));
  await expect(versions.last().locator('code')).toHaveText(shortVersion(first));
  await expectAccessible(page);
});

test('says that an unknown dataset was not found, and links to all datasets', async ({ page }) => {
  await push('photos', { 'a.jpg': 'a' });
  await open(page, '/data/4711');
  await expect(page.getByText('Dataset not found.')).toBeVisible();
  await page.getByRole('link', { name: 'All datasets' }).click();
  await expect(rowOf(page, 'photos')).toBeVisible();
});

test('disables the deletion of a dataset version while it is pinned', async ({ page }) => {
  const { id } = await push('photos', { 'a.jpg': 'a' });
  await open(page);
  await selectMenuItem(page, 'photos', 'Pin newest version');
  await expect(cell(page, 'photos', 'pinned')).toHaveText('pinned');
  await expect(figure(page, 'Unused')).toHaveText('nothing');
  expect(await orchestrator.call('GET', '/api/datasets')).toMatchObject({ datasets: [{ id, pinned: true }] });
  await rowOf(page, 'photos').getByRole('button').last().click();
  const item = page.getByRole('menuitem', { name: 'Delete…' });
  await expect(item).toBeDisabled();
  await expect(item).toContainText('It is pinned');
  await page.keyboard.press('Escape');
  await selectMenuItem(page, 'photos', 'Unpin newest version');
  await expect(cell(page, 'photos', 'pinned')).toHaveText('');
  await expect(figure(page, 'Unused')).toHaveText('1 version, up to 1B');
});

test('deletes one dataset version after a dialog that names the version and the bytes to free', async ({
  page,
}) => {
  const first = await push('photos', { 'a.jpg': kilobytes(20, 'a'), 'shared.jpg': kilobytes(5, 's') });
  const second = await push('photos', { 'shared.jpg': kilobytes(5, 's') });
  const other = await push('cats', { 'cat.jpg': 'a cat' });
  await open(page, `/data/${first.id}`);
  await selectMenuItem(page, shortVersion(first), 'Delete…');
  await expect(question(page)).toContainText('Delete 1 version of photos?');
  await expect(question(page).locator('li')).toHaveText([/photos [0-9a-f]{12} 2 files, 25 kB/]);
  // Another version shares the file, so only the manifest is removed.
  await expect(question(page)).toContainText(/This frees 20\.\d kB on the orchestrator\./);
  await expect(question(page).getByRole('button', { name: 'Cancel' })).toBeFocused();
  await expectAccessible(page);
  await page.keyboard.press('Enter');
  await expect(question(page)).toHaveCount(0);
  await expect(rowOf(page, shortVersion(first))).toBeVisible();
  await selectMenuItem(page, shortVersion(first), 'Delete…');
  await question(page).getByRole('button', { name: 'Delete' }).click();
  await expect(page.locator('[data-sonner-toast]')).toContainText(/1 version deleted, 20\.\d kB freed\./);
  await expect(rowOf(page, shortVersion(first))).toHaveCount(0);
  // The URL still names the deleted version, but its dataset exists.
  await expect(rowOf(page, shortVersion(second))).toBeVisible();
  const { datasets } = await orchestrator.call('GET', '/api/datasets?all=true');
  expect((datasets as readonly DatasetView[]).map(({ id }) => id)).toEqual([other.id, second.id]);
});

test('deletes unused dataset versions and whole datasets, but no version that a job uses', async ({
  page,
}) => {
  const used = await push('photos', { 'a.jpg': 'one' });
  await push('photos', { 'a.jpg': 'two' });
  const newest = await push('photos', { 'a.jpg': 'three' });
  await push('cats', { 'cat.jpg': 'a cat' });
  await submitWith(used);
  await open(page);
  await page.getByRole('button', { name: 'Delete unused old versions…' }).click();
  await expect(question(page)).toContainText('Delete 1 old version?');
  await question(page).getByRole('button', { name: 'Delete' }).click();
  await expect(rowOf(page, 'photos')).toContainText('2 versions');
  await expect(page.getByRole('button', { name: 'Delete unused old versions…' })).toHaveCount(0);
  await selectMenuItem(page, 'cats', 'Delete…');
  await expect(question(page)).toContainText('Delete dataset cats?');
  await question(page).getByRole('button', { name: 'Delete' }).click();
  await expect(rowOf(page, 'cats')).toHaveCount(0);
  await selectMenuItem(page, 'photos', 'Delete unused versions…');
  await expect(question(page).locator('code')).toHaveText([shortVersion(newest)]);
  await question(page).getByRole('button', { name: 'Delete' }).click();
  await expect(rowOf(page, 'photos').locator('code')).toHaveText(shortVersion(used));
  await rowOf(page, 'photos').getByRole('button').last().click();
  await expect(page.getByRole('menuitem', { name: 'Delete…' })).toContainText('1 job uses it');
});

test('refuses to delete a dataset that a job started to use while the dialog was open', async ({ page }) => {
  const photos = await push('photos', { 'a.jpg': 'one' });
  await open(page);
  await selectMenuItem(page, 'photos', 'Delete…');
  await expect(question(page)).toBeVisible();
  await submitWith(photos);
  await question(page).getByRole('button', { name: 'Delete' }).click();
  await expect(page.locator('[data-sonner-toast]')).toContainText('Nothing was deleted.');
  await expect(cell(page, 'photos', 'jobs')).toHaveText('1');
});

test('updates the number of jobs of a dataset live, and reloads the datasets when the page gets focus', async ({
  page,
}) => {
  const photos = await push('photos', { 'a.jpg': 'one' });
  await open(page);
  await expect(cell(page, 'photos', 'jobs')).toHaveText('0');
  await submitWith(photos);
  await expect(cell(page, 'photos', 'jobs')).toHaveText('1');
  await push('cats', { 'cat.jpg': 'a cat' });
  await page.evaluate('dispatchEvent(new Event("focus"))');
  await expect(rowOf(page, 'cats')).toBeVisible();
});

test('shows users without access to the data of others only their own datasets, and lets them pin these datasets', async ({
  page,
}) => {
  await push('photos', { 'a.jpg': 'of the admin' });
  const token = await orchestrator.createToken('eve', ownPermissions);
  await pushDataset({ url: orchestrator.url, token }, 'cats', { 'cat.jpg': 'of eve' });
  await page.goto(`${orchestrator.url}/data`);
  await enterToken(page, token);
  await expect(rowOf(page, 'cats')).toContainText('eve');
  // Users who may not list workers do not see the names of workers here either.
  await expect(page.getByRole('columnheader', { name: 'On workers' })).toHaveCount(0);
  await expect(rowOf(page, 'photos')).toHaveCount(0);
  await selectMenuItem(page, 'cats', 'Pin newest version');
  await expect(rowOf(page, 'cats')).toContainText('pinned');
});

test('shows which workers have a dataset, in the list, on the page of a job and in the submit form', async ({
  page,
}) => {
  const photos = await push('photos', { 'a.jpg': kilobytes(3, 'a') });
  await openTrainingRig(orchestrator, 'rig-1', { datasets: [photos.version] });
  await openTrainingRig(orchestrator, 'rig-2', { datasets: [] });
  await open(page);
  await expect(rowOf(page, 'photos')).toContainText('1 of 2 workers');
  await expect(rowOf(page, 'photos').getByTitle('On rig-1')).toHaveAttribute(
    'title',
    'On rig-1\nNot on rig-2',
  );
  const job = await submitWith(photos);
  await page.goto(`${orchestrator.url}/jobs/${job}`);
  const data = page.getByRole('region', { name: 'Training data' });
  await expect(data).toContainText('On rig-1');
  await page.goto(`${orchestrator.url}/jobs/new?from=${job}`);
  await expect(page.getByText('On rig-1. Other workers download 3 kB before the start.')).toBeVisible();
  await expect(page.getByRole('region', { name: 'If you submit now' })).toContainText('rig-2');
  await expectFits(page);
});

test('offers no actions on datasets of other users', async ({ page }) => {
  await push('photos', { 'a.jpg': 'of the admin' });
  const token = await orchestrator.createToken('eve', ['queue.view', 'queue.submit.own']);
  await pushDataset({ url: orchestrator.url, token }, 'cats', { 'cat.jpg': 'of eve' });
  await page.goto(`${orchestrator.url}/data`);
  await enterToken(page, token);
  await expect(rowOf(page, 'cats').getByRole('button')).toHaveCount(1);
  await expect(rowOf(page, 'photos')).toBeVisible();
  await expect(rowOf(page, 'photos').getByRole('button')).toHaveCount(0);
});

test('shows the training data of a job, and links to its dataset', async ({ page }) => {
  const photos = await push('photos', { 'a.jpg': kilobytes(3, 'a'), 'a.txt': 'a caption' });
  const job = await submitWith(photos);
  await open(page, `/jobs/${job}`);
  const data = page.getByRole('region', { name: 'Training data' });
  await expect(data).toContainText('2 files, 3.01 kB');
  await expect(data).toContainText('/home/ada/photos');
  await expect(data.locator('code')).toHaveText(shortVersion(photos));
  await expectAccessible(page);
  await data.getByRole('link', { name: 'photos' }).click();
  await expect(page).toHaveURL(`${orchestrator.url}/data/${photos.id}`);
  await expect(page.getByRole('heading', { level: 1, name: 'photos' })).toBeVisible();
});

test('fits the data pages with long names on a phone', async ({ page }) => {
  const name = `wedding-${'photos-of-the-summer-'.repeat(5)}2026`;
  const { id } = await push(name, { 'a.jpg': 'one' });
  await push(name, { 'a.jpg': 'two' });
  await page.setViewportSize({ width: 390, height: 800 });
  await open(page);
  await expect(page.getByRole('link', { name })).toBeVisible();
  await expectFits(page);
  await selectMenuItem(page, 'wedding', 'Delete…');
  await expect(question(page)).toBeVisible();
  expect(await findOverflows(page)).toEqual([]);
  await page.keyboard.press('Escape');
  await page.goto(`${orchestrator.url}/data/${id}`);
  await expect(page.getByRole('heading', { level: 1, name })).toBeVisible();
  await expectFits(page);
});
