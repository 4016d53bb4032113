/** After the connection between page and server was lost, no change is missing. */
import { expect, type Page, test } from '@playwright/test';
import { hrefsIn } from './in-page.ts';
import { type Orchestrator, signIn, startOrchestrator } from './panel.ts';
import { openWire, type Wire } from './wire.ts';

let orchestrator: Orchestrator;
let wire: Wire;
test.beforeEach(async () => {
  orchestrator = await startOrchestrator();
  wire = await openWire(orchestrator.url);
});
test.afterEach(async () => {
  await wire.close();
  await orchestrator.close();
});

const create = async (name: string): Promise<string> =>
  String((await orchestrator.call('POST', '/api/admin/workers', { name }))['worker_id']);
const submit = (name: string): Promise<string> =>
  orchestrator.submit({ config_name: name, config: { trainer: 'selftest' } });

/** Expects that the page shows each object of the server exactly once, and no other. */
async function expectServerState(page: Page, jobs: Page): Promise<void> {
  const { workers } = (await orchestrator.call('GET', '/api/admin/workers')) as {
    readonly workers: readonly { readonly id: string }[];
  };
  const { entries } = (await orchestrator.call('GET', '/api/queue')) as {
    readonly entries: readonly { readonly id: string }[];
  };
  const sorted = async (shown: Promise<readonly string[]>) => (await shown).toSorted();
  await expect
    .poll(() => sorted(hrefsIn(page, '[data-row] .worker-name')))
    .toEqual(workers.map(({ id }) => `/workers/${id}`).toSorted());
  await expect
    .poll(() => sorted(hrefsIn(jobs, '[data-row] a[href^="/jobs/"]')))
    .toEqual(entries.map(({ id }) => `/jobs/${id}`).toSorted());
}

const badge = (page: Page) => page.locator('.stream-badge');
const expectLive = (page: Page): Promise<void> => expect(badge(page)).toHaveText('Live', { timeout: 30_000 });
const expectStale = (page: Page): Promise<void> =>
  expect(badge(page)).toHaveText(/^Not up to date since \d{1,2}:\d\d:\d\d/, { timeout: 20_000 });

async function openBoth(page: Page, url: string): Promise<Page> {
  await signIn(page, { url, signInPath: orchestrator.signInPath });
  await page.goto(`${url}/workers`);
  const jobs = await page.context().newPage();
  await jobs.goto(`${url}/jobs`);
  await expectLive(page);
  await expectLive(jobs);
  return jobs;
}

test('marks the page stale when the connection breaks, and shows missed changes afterwards', async ({
  page,
}) => {
  const doomed = await create('rig-doomed');
  await submit('before');
  const jobs = await openBoth(page, wire.url);
  await expectServerState(page, jobs);
  await create('rig-seen');
  await expect(page.getByText('rig-seen')).toBeVisible();

  await wire.cut();
  await expectStale(page);
  await expectStale(jobs);
  const since = await badge(page).textContent();
  for (const number of [1, 2, 3]) {
    await create(`rig-meanwhile-${number}`);
    await submit(`meanwhile-${number}`);
  }
  await orchestrator.call('DELETE', `/api/admin/workers/${doomed}`);
  await orchestrator.call('POST', '/api/queue/pause', { note: 'meanwhile' });
  expect(await badge(page).textContent()).toBe(since);
  await expect(page.getByText('rig-doomed')).toBeVisible();

  await wire.mend();
  await expectLive(page);
  await expectLive(jobs);
  await expectServerState(page, jobs);
  await expect(page.getByText('rig-doomed')).toHaveCount(0);
  await expect(jobs.getByRole('row', { name: /meanwhile-1/ })).toContainText('paused by admin');
  await create('rig-afterwards');
  await expect(page.getByText('rig-afterwards')).toHaveCount(1);
  await expectServerState(page, jobs);
});

test('shows all acknowledged changes after the server is killed and restarted', async ({ page }) => {
  await create('rig-before');
  const jobs = await openBoth(page, orchestrator.url);
  await submit('before');
  await expect(jobs.getByRole('row', { name: /before/ })).toHaveCount(1);
  // Both calls are answered before the crash, but their events have reached no reader.
  await Promise.all([create('rig-answered'), submit('answered')]);
  await orchestrator.crash();
  await expectStale(page);
  await expectStale(jobs);

  await orchestrator.restart();
  await Promise.all([create('rig-new'), submit('new')]);
  await expectLive(page);
  await expectLive(jobs);
  await expect(page.getByText('rig-answered')).toBeVisible();
  await expect(page.getByText('rig-new')).toBeVisible();
  await expectServerState(page, jobs);
  await create('rig-afterwards');
  await expect(page.getByText('rig-afterwards')).toHaveCount(1);
});
