/** The tabs of a browser share one event stream, and each shows changes as fast as with a stream of its own. */
import { type BrowserContext, expect, type Page, test } from '@playwright/test';
import { type CountingProxy, startCountingProxy } from './counting-proxy.ts';
import { type Orchestrator, signIn, startOrchestrator } from './panel.ts';

let orchestrator: Orchestrator;
let proxy: CountingProxy;
test.beforeEach(async () => {
  orchestrator = await startOrchestrator();
  proxy = await startCountingProxy(orchestrator.url);
});
test.afterEach(async () => {
  await proxy.close();
  await orchestrator.close();
});

const isLive = (tab: Page) => expect(tab.getByText('Live', { exact: true })).toBeVisible({ timeout: 15_000 });
const shows = (tab: Page, worker: string) =>
  expect(tab.getByText(worker).first()).toBeVisible({ timeout: 15_000 });
const happens = (name: string) => orchestrator.call('POST', '/api/admin/workers', { name });
const streams = (count: number) => expect.poll(proxy.streams, { timeout: 15_000 }).toBe(count);

/** Signs in, and opens this number of tabs with the workers page. */
async function openTabs(context: BrowserContext, count: number): Promise<readonly [Page, ...Page[]]> {
  const first = await context.newPage();
  await signIn(first, { ...orchestrator, url: proxy.url });
  const others = await Promise.all(Array.from({ length: count - 1 }, () => context.newPage()));
  for (const tab of [first, ...others]) {
    await tab.goto(`${proxy.url}/workers`);
    await isLive(tab);
  }
  return [first, ...others];
}

test('shares one event stream among three tabs, also after one is closed', async ({ context }) => {
  const [first, ...others] = await openTabs(context, 3);
  await streams(1);
  await happens('rig-for-all');
  for (const tab of [first, ...others]) await shows(tab, 'rig-for-all');
  await first.close();
  await happens('rig-for-two');
  for (const tab of others) await shows(tab, 'rig-for-two');
  await streams(1);
  for (const tab of others) await tab.goto('about:blank');
  await streams(0);
});

test('shows earlier and later events in a tab that is opened late or returns', async ({ context }) => {
  const [first] = await openTabs(context, 1);
  await happens('rig-early');
  await shows(first, 'rig-early');
  const late = await context.newPage();
  await late.goto(`${proxy.url}/workers`);
  await shows(late, 'rig-early');
  await first.goto(`${proxy.url}/docs`);
  await happens('rig-meanwhile');
  await shows(late, 'rig-meanwhile');
  await first.goBack();
  await shows(first, 'rig-meanwhile');
  await isLive(first);
  await happens('rig-at-last');
  for (const tab of [first, late]) await shows(tab, 'rig-at-last');
  await streams(1);
});

test('marks every tab stale when the connection breaks, and shows missed changes afterwards', async ({
  context,
}) => {
  const tabs = await openTabs(context, 2);
  proxy.cut();
  for (const tab of tabs) await expect(tab.getByText(/^Not up to date since/)).toBeVisible();
  await happens('rig-unseen');
  proxy.mend();
  for (const tab of tabs) {
    await shows(tab, 'rig-unseen');
    await isLive(tab);
  }
  await streams(1);
});

test('signs out all tabs of a browser when one signs out', async ({ context }) => {
  const [first, ...others] = await openTabs(context, 3);
  await first.goto(`${proxy.url}/settings`);
  await first.getByRole('button', { name: 'Sign out' }).click();
  for (const tab of [first, ...others])
    await expect(tab.getByLabel('Token')).toBeVisible({ timeout: 15_000 });
  await streams(0);
});

test('opens one stream per tab when the browser lacks shared workers', async ({ context }) => {
  await context.addInitScript(() => Reflect.deleteProperty(globalThis, 'SharedWorker'));
  const tabs = await openTabs(context, 2);
  await streams(2);
  await happens('rig-alone');
  for (const tab of tabs) await shows(tab, 'rig-alone');
  await tabs[0].close();
  await streams(1);
});

test('opens a stream in the tab itself when the shared worker script is missing', async ({ context }) => {
  proxy.hide(/^\/assets\/stream-worker-/);
  const [tab] = await openTabs(context, 1);
  expect(proxy.hidden()).toBeGreaterThan(0);
  await happens('rig-without-script');
  await shows(tab, 'rig-without-script');
  await streams(1);
});
