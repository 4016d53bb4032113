/** The tabs of a browser share one event stream. */
import { type BrowserContext, expect, type Page, test } from '@playwright/test';
import { type HttpProxy, startHttpProxy } from './http-proxy.ts';
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

const expectLive = (tab: Page) =>
  expect(tab.getByText('Live', { exact: true })).toBeVisible({ timeout: 15_000 });
const expectShown = (tab: Page, worker: string) =>
  expect(tab.getByText(worker).first()).toBeVisible({ timeout: 15_000 });
const createWorker = (name: string) => orchestrator.createWorker({ name });
const expectStreams = (count: number) => expect.poll(proxy.countStreams, { timeout: 15_000 }).toBe(count);

/** Signs in, and opens this number of tabs with the workers page. */
async function openTabs(context: BrowserContext, count: number): Promise<readonly [Page, ...Page[]]> {
  const first = await context.newPage();
  await signIn(first, { ...orchestrator, url: proxy.url });
  const others = await Promise.all(Array.from({ length: count - 1 }, () => context.newPage()));
  for (const tab of [first, ...others]) {
    await tab.goto(`${proxy.url}/workers`);
    await expectLive(tab);
  }
  return [first, ...others];
}

test('shares one event stream among three tabs, and among the other two after one tab is closed', async ({
  context,
}) => {
  const [first, ...others] = await openTabs(context, 3);
  await expectStreams(1);
  await createWorker('rig-for-all');
  for (const tab of [first, ...others]) await expectShown(tab, 'rig-for-all');
  await first.close();
  await createWorker('rig-for-two');
  for (const tab of others) await expectShown(tab, 'rig-for-two');
  await expectStreams(1);
  for (const tab of others) await tab.goto('about:blank');
  await expectStreams(0);
});

test('shows all events in a tab that was opened later, and in a tab that returns to the panel', async ({
  context,
}) => {
  const [first] = await openTabs(context, 1);
  await createWorker('rig-early');
  await expectShown(first, 'rig-early');
  const second = await context.newPage();
  await second.goto(`${proxy.url}/workers`);
  await expectShown(second, 'rig-early');
  await first.goto(`${proxy.url}/docs`);
  await createWorker('rig-meanwhile');
  await expectShown(second, 'rig-meanwhile');
  await first.goBack();
  await expectShown(first, 'rig-meanwhile');
  await expectLive(first);
  await createWorker('rig-last');
  for (const tab of [first, second]) await expectShown(tab, 'rig-last');
  await expectStreams(1);
});

test('marks every tab stale when the connection breaks, and shows missed changes after the reconnect', async ({
  context,
}) => {
  const tabs = await openTabs(context, 2);
  await proxy.disconnect();
  for (const tab of tabs) await expect(tab.getByText(/^Not up to date since/)).toBeVisible();
  await createWorker('rig-unseen');
  await proxy.reconnect();
  for (const tab of tabs) {
    await expectShown(tab, 'rig-unseen');
    await expectLive(tab);
  }
  await expectStreams(1);
});

test('signs out all tabs of a browser when the user signs out in one of them', async ({ context }) => {
  const [first, ...others] = await openTabs(context, 3);
  await first.goto(`${proxy.url}/settings`);
  await first.getByRole('button', { name: 'Sign out' }).click();
  for (const tab of [first, ...others])
    await expect(tab.getByLabel('Token')).toBeVisible({ timeout: 15_000 });
  await expectStreams(0);
});

test('opens one event stream per tab when the browser lacks shared workers', async ({ context }) => {
  await context.addInitScript(() => Reflect.deleteProperty(globalThis, 'SharedWorker'));
  const tabs = await openTabs(context, 2);
  await expectStreams(2);
  await createWorker('rig-alone');
  for (const tab of tabs) await expectShown(tab, 'rig-alone');
  await tabs[0].close();
  await expectStreams(1);
});

test('opens the event stream in the tab itself when the script of the shared worker is missing', async ({
  context,
}) => {
  proxy.hide(/^\/assets\/stream-worker-/);
  const [tab] = await openTabs(context, 1);
  expect(proxy.countHidden()).toBeGreaterThan(0);
  await createWorker('rig-without-script');
  await expectShown(tab, 'rig-without-script');
  await expectStreams(1);
});
