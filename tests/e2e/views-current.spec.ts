/** Overview, gallery, comparison, queue, timeline and job page are up to date again after lost connections and server crashes. */
import { type BrowserContext, expect, type Page, test } from '@playwright/test';
import { pngOf } from '../support/picture.ts';
import { type HttpProxy, startHttpProxy } from './http-proxy.ts';
import { enterToken, type Orchestrator, signIn, startOrchestrator } from './panel.ts';
import { type OfferedJob, openTrainingRig, type TrainingRig } from './training-rig.ts';

let orchestrator: Orchestrator;
let proxy: HttpProxy;
let rig: TrainingRig;
let roses: OfferedJob;

test.beforeEach(async () => {
  orchestrator = await startOrchestrator({ args: ['--heartbeat-timeout', '600'] });
  proxy = await startHttpProxy(orchestrator.url);
  rig = await openTrainingRig(orchestrator, 'rig-1');
  roses = await rig.start('roses');
  await addSample(100);
  await report(100);
});
test.afterEach(async () => {
  await proxy.close();
  await orchestrator.close();
});

function addSample(step: number): Promise<void> {
  const picture = pngOf(96, 96, (x, y) => [x, y, step % 250]);
  return rig.uploadFile(roses, `samples/step_${step}_red_0_96x96.png`, picture);
}

/** Reports a step of the running job, and submits a job that no worker can take, for the queue page. */
async function report(step: number): Promise<void> {
  await rig.report(roses, 'running', { progress: { step, total_steps: 1000, loss: 0.5 } });
  await orchestrator.submit({ config_name: `waits-${step}`, config: {}, gpu_count: 9 });
}

/** For each view, waits until the view shows the given step. The timeline shows no step, only the worker. */
const expectStepIn: Readonly<Record<string, (page: Page, step: number) => Promise<void>>> = {
  overview: (page, step) => expect(page.getByText(new RegExp(`\\b${step / 10}\\s?%`)).first()).toBeVisible(),
  gallery: (page, step) =>
    expect(page.getByRole('button', { name: `roses, red, Step ${step}` })).toBeVisible(),
  compare: (page, step) =>
    expect(page.getByRole('row', { name: /roses/ }).first()).toContainText(String(step)),
  job: (page, step) => expect(page.getByText(new RegExp(`\\b${step} / 1,000`)).first()).toBeVisible(),
  queue: (page, step) => expect(page.getByRole('link', { name: `waits-${step}`, exact: true })).toBeVisible(),
  timeline: page => expect(page.getByRole('link', { name: 'rig-1', exact: true })).toBeVisible(),
};

const pathsOf = ({ jobId }: OfferedJob): Readonly<Record<string, string>> => ({
  overview: '/',
  gallery: '/gallery',
  compare: `/compare?jobs=${jobId}`,
  job: `/jobs/${jobId}`,
  queue: '/queue',
  timeline: '/timeline?zoom=hour',
});

/** Opens each view in its own tab. */
async function openViews(context: BrowserContext): Promise<ReadonlyMap<string, Page>> {
  const first = await context.newPage();
  await signIn(first, { ...orchestrator, url: proxy.url });
  const tabs = new Map<string, Page>();
  for (const [view, path] of Object.entries(pathsOf(roses))) {
    const tab = await context.newPage();
    await tab.goto(proxy.url + path);
    tabs.set(view, tab);
  }
  await first.close();
  return tabs;
}

async function expectStep(tabs: ReadonlyMap<string, Page>, step: number): Promise<void> {
  for (const [view, tab] of tabs)
    await test.step(`${view} shows step ${step}`, async () => {
      await expectStepIn[view]?.(tab, step);
    });
}

const badge = (page: Page) => page.locator('.stream-badge');

async function expectBadges(tabs: ReadonlyMap<string, Page>, text: RegExp): Promise<void> {
  for (const tab of tabs.values()) await expect(badge(tab)).toHaveText(text, { timeout: 30_000 });
}

test('shows missed samples and steps in two tabs of every view after all connections have broken', async ({
  context,
}) => {
  test.setTimeout(240_000);
  const tabs = await openViews(context);
  const secondTabs = await openViews(context);
  await expectStep(tabs, 100);
  await expectStep(secondTabs, 100);
  await proxy.disconnect();
  await expectBadges(tabs, /^Not up to date since/);
  await addSample(200);
  await report(200);
  await proxy.reconnect();
  await expectBadges(tabs, /^Live$/);
  await expectStep(tabs, 200);
  await expectStep(secondTabs, 200);
});

test('shows new samples and steps in every view after the server is killed and restarted', async ({
  context,
}) => {
  test.setTimeout(240_000);
  const tabs = await openViews(context);
  await expectStep(tabs, 100);
  await orchestrator.crash();
  await expectBadges(tabs, /^Not up to date since/);
  await orchestrator.restart();
  await addSample(300);
  await report(300);
  await expectBadges(tabs, /^Live$/);
  await expectStep(tabs, 300);
});

test('opens the linked page after sign-in, for a link to each view', async ({ browser }) => {
  test.setTimeout(150_000);
  for (const [view, path] of Object.entries(pathsOf(roses))) {
    await test.step(view, async () => {
      const context = await browser.newContext();
      const page = await context.newPage();
      await page.goto(orchestrator.url + path);
      await enterToken(page, orchestrator.token);
      await expect(page).toHaveURL(orchestrator.url + path);
      await expectStepIn[view]?.(page, 100);
      await context.close();
    });
  }
});
