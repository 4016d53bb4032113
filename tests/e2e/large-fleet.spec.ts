/** Every page with 300 simulated workers and 2,000 jobs, at each width, in both themes and in each language. */
import { fileURLToPath } from 'node:url';
import { AxeBuilder } from '@axe-core/playwright';
import { type Browser, expect, type Page, test } from '@playwright/test';
import { pages } from '../../renderer/app/pages.ts';
import { navigateTo, untilLoaded } from './in-page.ts';
import { recordShifts, readShift } from './layout-shift.ts';
import { findMisfits, setLanguage, takePicture } from './page-checks.ts';
import { type Orchestrator, signIn, startOrchestrator } from './panel.ts';

const fleetProgram = fileURLToPath(new URL('../../dev/demo-fleet/run.ts', import.meta.url));
const workerCount = 300;
/** 8 sweeps of 250 jobs make 2,000 jobs. */
const sweepCount = 8;
const jobsPerSweep = 250;

// Recording a trace takes longer than the steps of the tests.
test.use({ trace: 'off' });

let orchestrator: Orchestrator;
/** Paths of pages that are not in the navigation: a job, a worker, a comparison, and the form that submits a job. */
let otherPaths: readonly string[];

test.beforeAll(async () => {
  test.setTimeout(240_000);
  orchestrator = await startOrchestrator();
  const program = `"${process.execPath}" "${fleetProgram}" --workers ${workerCount} --seed large --job-seconds 600`;
  orchestrator.paste(
    `exec ${program} --url ${orchestrator.url} --token-file "${orchestrator.dataDir}/admin-token"`,
  );
  const rates = Array.from({ length: jobsPerSweep }, (_, index) => Number(`${index + 1}e-6`));
  for (let sweep = 0; sweep < sweepCount; sweep++)
    await orchestrator.call('POST', '/api/queue/sweeps', {
      config_name: `flux-${sweep}`,
      config: { max_train_steps: 4000, model_family: 'flux' },
      group: `rates-${sweep}`,
      gpu_count: 1,
      sweep: [{ key: 'learning_rate', values: rates }],
    });
  await expect.poll(countBusyWorkers, { timeout: 180_000, intervals: [1000] }).toBe(workerCount);
  const jobs = await list<{ id: string }>('/api/queue?status=running&limit=4', 'entries');
  const workers = await list<{ id: string }>('/api/admin/workers', 'workers');
  expect(jobs).toHaveLength(4);
  otherPaths = [
    `/jobs/${jobs[0]?.id}`,
    `/workers/${workers[0]?.id}`,
    `/compare?jobs=${jobs.map(({ id }) => id).join(',')}`,
    '/jobs/new',
  ];
});
test.afterAll(() => orchestrator.close());

async function list<T>(path: string, key: string): Promise<readonly T[]> {
  return (await orchestrator.call('GET', path))[key] as readonly T[];
}

async function countBusyWorkers(): Promise<number> {
  const workers = await list<{ status: string }>('/api/admin/workers', 'workers');
  return workers.filter(({ status }) => status === 'busy').length;
}

interface View {
  readonly theme: 'light' | 'dark';
  readonly width: number;
  readonly language: string;
}

/** Visits each page, and returns all problems, each with the path of its page. */
async function visit(browser: Browser, { theme, width, language }: View): Promise<readonly string[]> {
  const viewport = { width, height: 800 };
  const context = await browser.newContext({ viewport, colorScheme: theme, reducedMotion: 'reduce' });
  await setLanguage(context, language);
  const page = await context.newPage();
  const problems: string[] = [];
  let openPath = '/';
  const addProblem = (problem: string): void => void problems.push(`${openPath}: ${problem}`);
  page.on('pageerror', ({ message }) => addProblem(message));
  page.on('console', message => {
    if (message.type() === 'error') addProblem(message.text());
  });
  await signIn(page, orchestrator);
  for (const path of [...pages.map(entry => entry.path), ...otherPaths]) {
    openPath = path;
    await test.step(path, async () => {
      await navigateTo(page, path);
      await expect(page.locator('h1').first()).toBeVisible();
      await expect(page.locator('[aria-busy="true"]')).toHaveCount(0);
      await untilLoaded(page);
      for (const problem of await findProblems(page, language)) addProblem(problem);
      const name = path.replace(/\W+/g, '-').slice(0, 12);
      await takePicture(page, `large-fleet${name}-${theme}-${width}-${language}`);
    });
  }
  await context.close();
  return problems;
}

async function findProblems(page: Page, language: string): Promise<readonly string[]> {
  const misfits = await findMisfits(page);
  // Accessibility does not depend on the language.
  if (language !== 'en') return misfits;
  const first = await findViolationsByRule(page);
  if (first.size === 0) return misfits;
  // Rows of jobs may disappear while axe reads the page. Only a problem that the second check also finds is real.
  const second = await findViolationsByRule(page);
  const violations = [...second].filter(([rule]) => first.has(rule));
  return [...misfits, ...violations.map(([rule, elements]) => `${rule}: ${elements}`)];
}

/** Returns the elements that break each rule of axe. */
async function findViolationsByRule(page: Page): Promise<ReadonlyMap<string, string>> {
  const { violations } = await new AxeBuilder({ page }).analyze();
  return new Map(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html).join(' and ')]));
}

for (const theme of ['light', 'dark'] as const) {
  for (const width of [390, 1280, 1440]) {
    test(`shows every page of a large fleet accessibly and without overflow at ${width} px in the ${theme} theme`, async ({
      browser,
    }) => {
      test.setTimeout(300_000);
      expect(await visit(browser, { theme, width, language: 'en' })).toEqual([]);
    });
  }
}

for (const language of ['es', 'zh', 'hi', 'ja']) {
  test(`fits every page of a large fleet into the window in the language ${language}`, async ({
    browser,
  }) => {
    test.setTimeout(300_000);
    for (const width of [390, 1280])
      expect(await visit(browser, { theme: 'light', width, language })).toEqual([]);
  });
}

test('keeps visible content in place while the overview of a large fleet loads', async ({ page }) => {
  test.setTimeout(120_000);
  await signIn(page, orchestrator);
  await page.goto('about:blank');
  await recordShifts(page);
  await page.goto(`${orchestrator.url}/`);
  await expect(page.locator('.rig-card').first()).toBeVisible({ timeout: 60_000 });
  await expect(page.getByText('Live', { exact: true })).toBeVisible();
  await untilLoaded(page);
  // The limit that Core Web Vitals sets for a good page.
  expect(await readShift(page)).toBeLessThan(0.1);
});
