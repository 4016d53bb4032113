/** After a lost connection, the panel shows all changes that happened on the server. */
import { expect, type Page, test } from '@playwright/test';
import { type HttpProxy, startHttpProxy } from './http-proxy.ts';
import { hrefsIn } from './in-page.ts';
import { type Orchestrator, signIn, startOrchestrator } from './panel.ts';

let orchestrator: Orchestrator;
let proxy: HttpProxy;
test.beforeEach(async () => {
  orchestrator = await startOrchestrator();
  proxy = await startHttpProxy(orchestrator.url);
});
test.afterEach(async () => {
  await proxy.close();
  await orchestrator.close();
});

const createWorker = async (name: string): Promise<string> => (await orchestrator.createWorker({ name })).id;
const submitJob = (name: string): Promise<string> =>
  orchestrator.submit({ config_name: name, config: { trainer: 'selftest' } });

/** The two pages that show all workers and all jobs. */
interface OpenPages {
  readonly workersPage: Page;
  readonly jobsPage: Page;
}

/** Expects that the pages show each worker and job of the server exactly once, and no other rows. */
async function expectServerState({ workersPage, jobsPage }: OpenPages): Promise<void> {
  const { workers } = (await orchestrator.call('GET', '/api/admin/workers')) as {
    readonly workers: readonly { readonly id: string }[];
  };
  const { entries } = (await orchestrator.call('GET', '/api/queue')) as {
    readonly entries: readonly { readonly id: string }[];
  };
  const workerPaths = workers.map(({ id }) => `/workers/${id}`).toSorted();
  const jobPaths = entries.map(({ id }) => `/jobs/${id}`).toSorted();
  await expect
    .poll(async () => (await hrefsIn(workersPage, '[data-row] .worker-name')).toSorted())
    .toEqual(workerPaths);
  await expect
    .poll(async () => (await hrefsIn(jobsPage, '[data-row] a[href^="/jobs/"]')).toSorted())
    .toEqual(jobPaths);
}

const badge = (page: Page) => page.locator('.stream-badge');
async function expectLive({ workersPage, jobsPage }: OpenPages): Promise<void> {
  for (const page of [workersPage, jobsPage])
    await expect(badge(page)).toHaveText('Live', { timeout: 30_000 });
}
async function expectStale({ workersPage, jobsPage }: OpenPages): Promise<void> {
  const stale = /^Not up to date since \d{1,2}:\d\d:\d\d/;
  for (const page of [workersPage, jobsPage])
    await expect(badge(page)).toHaveText(stale, { timeout: 20_000 });
}

async function openPages(workersPage: Page, url: string): Promise<OpenPages> {
  await signIn(workersPage, { ...orchestrator, url });
  await workersPage.goto(`${url}/workers`);
  const jobsPage = await workersPage.context().newPage();
  await jobsPage.goto(`${url}/jobs`);
  const pages = { workersPage, jobsPage };
  await expectLive(pages);
  return pages;
}

test('marks the page stale when the connection breaks, and shows missed changes after the reconnect', async ({
  page,
}) => {
  const deletedLater = await createWorker('rig-deleted');
  await submitJob('before');
  const pages = await openPages(page, proxy.url);
  await expectServerState(pages);
  await createWorker('rig-seen');
  await expect(page.getByText('rig-seen')).toBeVisible();

  await proxy.disconnect();
  await expectStale(pages);
  const since = await badge(page).textContent();
  for (const number of [1, 2, 3]) {
    await createWorker(`rig-meanwhile-${number}`);
    await submitJob(`meanwhile-${number}`);
  }
  await orchestrator.call('DELETE', `/api/admin/workers/${deletedLater}`);
  await orchestrator.call('POST', '/api/queue/pause', { note: 'meanwhile' });
  expect(await badge(page).textContent()).toBe(since);
  await expect(page.getByText('rig-deleted')).toBeVisible();

  await proxy.reconnect();
  await expectLive(pages);
  await expectServerState(pages);
  await expect(page.getByText('rig-deleted')).toHaveCount(0);
  await expect(pages.jobsPage.getByRole('row', { name: /meanwhile-1/ })).toContainText('paused by admin');
  await createWorker('rig-afterwards');
  await expect(page.getByText('rig-afterwards')).toHaveCount(1);
  await expectServerState(pages);
});

test('shows all acknowledged changes after the server is killed and restarted', async ({ page }) => {
  await createWorker('rig-before');
  const pages = await openPages(page, orchestrator.url);
  await submitJob('before');
  await expect(pages.jobsPage.getByRole('row', { name: /before/ })).toHaveCount(1);
  // The server acknowledges both calls before the crash, but may not have sent their events to the pages.
  await Promise.all([createWorker('rig-acknowledged'), submitJob('acknowledged')]);
  await orchestrator.crash();
  await expectStale(pages);

  await orchestrator.restart();
  await Promise.all([createWorker('rig-new'), submitJob('new')]);
  await expectLive(pages);
  await expect(page.getByText('rig-acknowledged')).toBeVisible();
  await expect(page.getByText('rig-new')).toBeVisible();
  await expectServerState(pages);
  await createWorker('rig-afterwards');
  await expect(page.getByText('rig-afterwards')).toHaveCount(1);
});
