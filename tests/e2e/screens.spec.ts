/** The appearance of each view in both themes, on a phone, and in each language. Most pictures show a whole fleet. */
import { join } from 'node:path';
import { AxeBuilder } from '@axe-core/playwright';
import { type Browser, expect, type Page, test } from '@playwright/test';
import { en } from '../../renderer/i18n/en/index.ts';
import { fleetAgeMs, showFleet, silenceS } from './fleet.ts';
import { cutTexts, untilLoaded, textsOf, tooWide, navigateTo } from './in-page.ts';
import { type Orchestrator, signIn, startOrchestrator } from './panel.ts';
import { emptyScenes, type Scene, scenes, type Stage } from './scenes.ts';
import { recordPolicyViolations } from './policy.ts';
import { type AnswerRecord, recordAnswers } from './words.ts';

// No traces: tracing takes longer than the steps, and the pictures show more.
test.use({ trace: 'off' });

let stage: Stage;
let empty: Orchestrator;
test.beforeAll(async () => {
  test.setTimeout(240_000);
  // Pictures for the documents show an address that rigs can reach.
  const shared = documents === undefined ? [] : ['--public-url', 'https://yard.example.org'];
  const args = ['--heartbeat-timeout', String(silenceS), ...shared];
  const orchestrator = await startOrchestrator({ args, clockShiftMs: -fleetAgeMs });
  stage = { orchestrator, fleet: await showFleet(orchestrator) };
  empty = await startOrchestrator();
});
test.afterAll(async () => {
  await stage.fleet.leave();
  await stage.orchestrator.close();
  await empty.close();
});

interface View {
  readonly name: string;
  readonly theme: 'light' | 'dark';
  readonly language: string;
  readonly width: number;
}

const desktop = { language: 'en', width: 1280 } as const;
const light: View = { ...desktop, name: 'light', theme: 'light' };
const dark: View = { ...desktop, name: 'dark', theme: 'dark' };
const phone: View = { ...light, name: 'phone', width: 390 };
const height = 800;

/** File names of the pictures in the documents, by scene. */
const inDocuments: ReadonlyMap<string, string> = new Map([
  ['overview-light', 'overview'],
  ['workers-dark', 'workers'],
  ['job-light', 'job'],
  ['join-command-light', 'join'],
  ['jobs-ja', 'jobs-ja'],
  ['overview-phone', 'phone'],
]);
/**
 * Target folder for the pictures of the documents (`npm run screens`). When it is not set, all pictures are put beside
 * the traces.
 */
const documents = process.env['TRAINYARD_SCREENS'];

/** Takes a picture of a scene. Pictures for the documents must not show a view with problems. */
async function takePicture(page: Page, name: string, problems: readonly string[]): Promise<void> {
  // Move the pointer away, so that no element shows its hover state.
  await page.mouse.move(0, 0);
  if (documents === undefined) {
    const path = join(test.info().project.outputDir, 'screens', `${name}.png`);
    await page.screenshot({ path, animations: 'disabled' });
    return;
  }
  const shown = inDocuments.get(name);
  if (shown === undefined || problems.length > 0) return;
  await page.screenshot({
    path: join(documents, `${shown}.webp`),
    type: 'webp',
    quality: 90,
    animations: 'disabled',
  });
}

/** Opens the panel in a browser context of its own, because servers on the same host would share cookies. */
async function openPanel(
  browser: Browser,
  view: View,
  orchestrator: Orchestrator | null,
): Promise<OpenPanel> {
  const context = await browser.newContext({
    viewport: { width: view.width, height },
    colorScheme: view.theme,
    reducedMotion: 'reduce',
  });
  const preferences = JSON.stringify({ theme: 'system', language: view.language });
  await context.addInitScript(kept => localStorage.setItem('trainyard.preferences', kept), preferences);
  const page = await context.newPage();
  const answers = recordAnswers(page);
  const newViolations = await recordPolicyViolations(page);
  if (orchestrator !== null) await signIn(page, orchestrator);
  return { page, answers, newViolations };
}

interface OpenPanel {
  readonly page: Page;
  readonly answers: AnswerRecord;
  /** Returns violations of the Content-Security-Policy since the last call. */
  newViolations(): readonly string[];
}

/** Navigates to a scene through an empty page, so that no dialog or selection stays open. */
async function goTo(page: Page, scene: Scene): Promise<void> {
  await page.keyboard.press('Escape');
  for (const path of ['/help', scene.path(stage)]) await navigateTo(page, path);
  await expectReady(page, scene);
  await scene.open?.(page, stage);
  await untilLoaded(page);
}

async function expectReady(page: Page, { ready = 'h1' }: Scene): Promise<void> {
  await expect(page.locator(ready).first()).toBeVisible({ timeout: 15_000 });
  await expect(page.locator('[aria-busy="true"]')).toHaveCount(0);
}

/**
 * Checks accessibility. Colours depend only on the theme, so other widths skip them. All other rules do not depend on
 * the theme, so one theme skips them.
 */
async function violations(page: Page, { name }: View): Promise<readonly string[]> {
  const axe = new AxeBuilder({ page });
  if (name === dark.name) axe.withRules('color-contrast');
  if (name === phone.name) axe.disableRules('color-contrast');
  const found = (await axe.analyze()).violations;
  return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' and ')}`);
}

type SceneCheck = (panel: OpenPanel, name: string) => Promise<readonly string[]>;

interface Tour {
  readonly wanted: readonly Scene[];
  /** Scenes to visit before the server has data. */
  readonly before?: readonly Scene[];
}

const everything: Tour = { wanted: scenes, before: emptyScenes };

/** Visits all scenes, then reports the problems of each. */
async function visitScenes(browser: Browser, view: View, tour: Tour, check: SceneCheck): Promise<void> {
  const isWanted = ({ name }: Scene): boolean =>
    documents === undefined || inDocuments.has(`${name}-${view.name}`);
  const wanted = tour.wanted.filter(isWanted);
  const before = (tour.before ?? []).filter(isWanted);
  const found: string[] = [];
  const checkScene = async (panel: OpenPanel, { name }: Scene): Promise<void> => {
    await test.step(name, async () => {
      const troubles = await check(panel, `${name}-${view.name}`);
      for (const trouble of [...troubles, ...panel.newViolations()]) found.push(`${name}: ${trouble}`);
    });
  };
  const panel = await openPanel(browser, view, stage.orchestrator);
  for (const scene of wanted) {
    await goTo(panel.page, scene);
    await checkScene(panel, scene);
    await scene.close?.(stage);
  }
  await panel.page.context().close();
  if (before.length > 0) {
    const visitor = await openPanel(browser, view, null);
    await visitor.page.goto(empty.url);
    const signInScene: Scene = { name: 'sign-in', path: () => '/', ready: 'form' };
    await expectReady(visitor.page, signInScene);
    await checkScene(visitor, signInScene);
    await signIn(visitor.page, empty);
    for (const scene of before) {
      await goTo(visitor.page, scene);
      await checkScene(visitor, scene);
    }
    await visitor.page.context().close();
  }
  expect(found).toEqual([]);
}

for (const view of [light, dark, phone]) {
  test(`shows every view without overflow, blocked content or accessibility violations: ${view.name}`, async ({
    browser,
  }) => {
    test.setTimeout(300_000);
    await visitScenes(browser, view, everything, async ({ page }, name) => {
      const problems = [
        ...(await tooWide(page)),
        ...(await cutTexts(page)),
        ...(await violations(page, view)),
      ];
      await takePicture(page, name, problems);
      return problems;
    });
  });
}

for (const width of [desktop.width, phone.width]) {
  test(`fits every text, and takes each from the catalogue, at ${width} px`, async ({ browser }) => {
    test.setTimeout(180_000);
    const view: View = { ...light, name: `pseudo-${width}`, language: 'pseudo', width };
    await visitScenes(browser, view, everything, async ({ page, answers }) => {
      return [...(await tooWide(page)), ...(await answers.untranslated(await textsOf(page)))];
    });
  });
}

/** Pages in each language. The dialogs use the same tables, cards and buttons, so they are skipped. */
const pages = [
  'overview',
  'workers',
  'worker',
  'jobs',
  'job',
  'submit',
  'queue',
  'data',
  'audit',
  'settings',
  'help',
];

test('translates every page into every language without cut-off text', async ({ browser }) => {
  test.setTimeout(180_000);
  const wanted = scenes.filter(({ name }) => pages.includes(name));
  for (const language of ['es', 'zh', 'hi', 'ja'] as const) {
    const view: View = { ...light, name: language, language };
    await visitScenes(browser, view, { wanted }, async ({ page }, name) => {
      const missing = (await textsOf(page)).filter(text => Object.hasOwn(en, text));
      const problems = [...(await tooWide(page)), ...(await cutTexts(page)), ...missing];
      await takePicture(page, name, problems);
      return problems;
    });
  }
});
