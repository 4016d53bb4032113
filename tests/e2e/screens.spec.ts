/** Visits each view of the panel in both themes, on a phone, and in each language. Most scenes show a whole fleet. */
import { join } from 'node:path';
import { AxeBuilder } from '@axe-core/playwright';
import { type Browser, expect, type Page, test } from '@playwright/test';
import { en } from '../../renderer/i18n/en/index.ts';
import { createFleet, fleetAgeMs, heartbeatTimeoutS } from './fleet.ts';
import { findOverflows, navigateTo, readTexts, untilLoaded } from './in-page.ts';
import { findMisfits, findViolations, setLanguage, takePicture } from './page-checks.ts';
import { type Orchestrator, signIn, startOrchestrator } from './panel.ts';
import { recordPolicyViolations } from './policy.ts';
import { emptyScenes, type Scene, scenes, type Stage } from './scenes.ts';
import { updateScenes } from './update-scenes.ts';
import { recordServerTexts, type ServerTexts } from './words.ts';

// No traces: recording a trace takes longer than the steps, and the pictures show more.
test.use({ trace: 'off' });

let stage: Stage;
let emptyServer: Orchestrator;
test.beforeAll(async () => {
  test.setTimeout(240_000);
  const args = ['--heartbeat-timeout', String(heartbeatTimeoutS)];
  // Pictures for the documentation show a public address instead of 127.0.0.1.
  if (documents !== undefined) args.push('--public-url', 'https://yard.example.org');
  const orchestrator = await startOrchestrator({ args, clockShiftMs: -fleetAgeMs });
  stage = { orchestrator, fleet: await createFleet(orchestrator) };
  emptyServer = await startOrchestrator();
});
test.afterAll(async () => {
  await stage.fleet.stopAllWorkers();
  await stage.orchestrator.close();
  await emptyServer.close();
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

/** File names of the pictures in the documentation, by scene and view. */
const inDocuments: ReadonlyMap<string, string> = new Map([
  ['overview-light', 'overview'],
  ['workers-dark', 'workers'],
  ['job-light', 'job'],
  ['join-command-light', 'join'],
  ['jobs-ja', 'jobs-ja'],
  ['overview-phone', 'phone'],
]);
/**
 * Target folder for the pictures of the documentation (`npm run screens`). When it is not set, `takePicture` stores all pictures.
 */
const documents = process.env['TRAINYARD_SCREENS'];

/** Takes a picture of a scene. Skips pictures for the documentation if the scene has problems. */
async function takePictureOf(page: Page, name: string, problems: readonly string[]): Promise<void> {
  // Move the pointer away, so that no element shows its hover state.
  await page.mouse.move(0, 0);
  if (documents === undefined) return takePicture(page, name);
  const fileName = inDocuments.get(name);
  if (fileName === undefined || problems.length > 0) return;
  await page.screenshot({
    path: join(documents, `${fileName}.webp`),
    type: 'webp',
    quality: 90,
    animations: 'disabled',
  });
}

/** Opens the panel in a new browser context, because servers on the same host would share cookies. */
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
  await setLanguage(context, view.language);
  const page = await context.newPage();
  const serverTexts = recordServerTexts(page);
  const newViolations = await recordPolicyViolations(page);
  if (orchestrator !== null) await signIn(page, orchestrator);
  return { page, serverTexts, newViolations };
}

interface OpenPanel {
  readonly page: Page;
  readonly serverTexts: ServerTexts;
  /** Returns violations of the Content-Security-Policy since the last call. */
  newViolations(): readonly string[];
}

/** Navigates to a scene through the help page, so that no dialog or selection stays open. */
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
 * Checks accessibility. The view `phone` skips contrast, which depends only on the theme. The view `dark` checks only contrast,
 * because no other rule depends on the theme.
 */
function findViolationsIn(page: Page, { name }: View): Promise<readonly string[]> {
  const axe = new AxeBuilder({ page });
  if (name === dark.name) axe.withRules('color-contrast');
  if (name === phone.name) axe.disableRules('color-contrast');
  return findViolations(axe);
}

type SceneCheck = (panel: OpenPanel, name: string) => Promise<readonly string[]>;

interface SceneSelection {
  readonly scenes: readonly Scene[];
  /** Scenes on a server without data. */
  readonly emptyScenes?: readonly Scene[];
}

const allScenes: SceneSelection = { scenes: [...scenes, ...updateScenes], emptyScenes };

/** Visits all scenes, and fails at the end with the problems of all scenes. */
async function visitScenes(
  browser: Browser,
  view: View,
  selection: SceneSelection,
  check: SceneCheck,
): Promise<void> {
  const isNeeded = ({ name }: Scene): boolean =>
    documents === undefined || inDocuments.has(`${name}-${view.name}`);
  const problems: string[] = [];
  const checkScene = async (panel: OpenPanel, { name }: Scene): Promise<void> => {
    await test.step(name, async () => {
      const results = [...(await check(panel, `${name}-${view.name}`)), ...panel.newViolations()];
      problems.push(...results.map(problem => `${name}: ${problem}`));
    });
  };
  const panel = await openPanel(browser, view, stage.orchestrator);
  for (const scene of selection.scenes.filter(isNeeded)) {
    await goTo(panel.page, scene);
    await checkScene(panel, scene);
    await scene.close?.(stage);
  }
  await panel.page.context().close();
  const neededEmptyScenes = (selection.emptyScenes ?? []).filter(isNeeded);
  if (neededEmptyScenes.length > 0) {
    const emptyPanel = await openPanel(browser, view, null);
    await emptyPanel.page.goto(emptyServer.url);
    const signInScene: Scene = { name: 'sign-in', path: () => '/', ready: 'form' };
    await expectReady(emptyPanel.page, signInScene);
    await checkScene(emptyPanel, signInScene);
    await signIn(emptyPanel.page, emptyServer);
    for (const scene of neededEmptyScenes) {
      await goTo(emptyPanel.page, scene);
      await checkScene(emptyPanel, scene);
    }
    await emptyPanel.page.context().close();
  }
  expect(problems).toEqual([]);
}

for (const view of [light, dark, phone]) {
  test(`shows every scene without overflow, blocked content or accessibility violations in the ${view.name} view`, async ({
    browser,
  }) => {
    test.setTimeout(300_000);
    await visitScenes(browser, view, allScenes, async ({ page }, name) => {
      const problems = [...(await findMisfits(page)), ...(await findViolationsIn(page, view))];
      await takePictureOf(page, name, problems);
      return problems;
    });
  });
}

for (const width of [desktop.width, phone.width]) {
  test(`fits every text at ${width} px, and takes each text from the translation catalogue`, async ({
    browser,
  }) => {
    test.setTimeout(180_000);
    const view: View = { ...light, name: `pseudo-${width}`, language: 'pseudo', width };
    await visitScenes(browser, view, allScenes, async ({ page, serverTexts }) => {
      const untranslated = await serverTexts.untranslated(await readTexts(page));
      return [...(await findOverflows(page)), ...untranslated];
    });
  });
}

/** Scenes to check in each language. Most dialogs are left out, because they use the same tables, cards and buttons. */
const scenesInEachLanguage = [
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
  'update',
  'worker-update-failed',
];

test('translates every page into every language without cut-off text', async ({ browser }) => {
  test.setTimeout(180_000);
  const selection = { scenes: allScenes.scenes.filter(({ name }) => scenesInEachLanguage.includes(name)) };
  for (const language of ['es', 'zh', 'hi', 'ja'] as const) {
    const view: View = { ...light, name: language, language };
    await visitScenes(browser, view, selection, async ({ page }, name) => {
      // Without a translation, the panel shows the key of the text.
      const keys = (await readTexts(page)).filter(text => Object.hasOwn(en, text));
      const problems = [...(await findMisfits(page)), ...keys];
      await takePictureOf(page, name, problems);
      return problems;
    });
  }
});
