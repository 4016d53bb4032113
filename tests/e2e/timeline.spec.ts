/** The timeline of the fleet, with real workers, and with the maximum number of bars. */

import { expect, type Page, test } from '@playwright/test';
import { maxTimelineBars, type TimelineBar } from '../../protocol/timeline-api.ts';
import { findOverflows } from './in-page.ts';
import { expectAccessible, takePicture } from './page-checks.ts';
import { enterToken, type Orchestrator, signIn, startOrchestrator } from './panel.ts';
import { measureFrames } from './timeline-in-page.ts';

let orchestrator: Orchestrator;
test.beforeAll(async () => {
  orchestrator = await startOrchestrator({ args: ['--heartbeat-timeout', '6'] });
  // A server without workers would show instructions instead of the timeline.
  await orchestrator.createWorker({ name: 'rig-spare' });
});
test.afterAll(() => orchestrator.close());

const chart = (page: Page) => page.getByRole('group', { name: 'Attempts by worker and time' });
const rowsOf = (page: Page) =>
  page.getByRole('grid', { name: 'Attempts in the visible range' }).locator('[data-row]');

/** Records errors of the page's scripts. */
function recordErrors(page: Page): readonly string[] {
  const errors: string[] = [];
  page.on('pageerror', error => errors.push(error.message));
  page.on('console', message => message.type() === 'error' && errors.push(message.text()));
  return errors;
}

test('explains what an empty timeline will show, and links to the workers', async ({ page }) => {
  const empty = await startOrchestrator();
  try {
    await signIn(page, empty);
    await page.getByRole('link', { name: 'Timeline' }).click();
    await expect(page.getByText('Each attempt of a job is a bar')).toBeVisible();
    await page.locator('#content').getByRole('link', { name: 'Add worker' }).click();
    await expect(page).toHaveURL(/\/workers$/);
  } finally {
    await empty.close();
  }
});

test('shows on the timeline that a job moves from a killed worker to another, and the expected start of the next job', async ({
  page,
}) => {
  test.setTimeout(150_000);
  const errors = recordErrors(page);
  const first = await orchestrator.startRig('rig-first');
  const body = { config_name: 'flux-lora', config: { trainer: 'selftest', seconds: 20 } };
  const job = await orchestrator.submit(body);
  await signIn(page, orchestrator);
  await page.goto(`${orchestrator.url}/timeline?zoom=hour`);
  await page.getByRole('button', { name: 'Show as table' }).click();
  await expect(rowsOf(page)).toHaveCount(1);
  await expect(rowsOf(page)).toContainText('running', { timeout: 20_000 });
  const second = await orchestrator.startRig('rig-second');
  await expect(chart(page).getByRole('link', { name: 'rig-second', exact: true })).toBeVisible();
  first.cutPower();

  await expect(rowsOf(page)).toHaveCount(2, { timeout: 60_000 });
  await expect(rowsOf(page).filter({ hasText: 'rig-first' })).toContainText('lost');
  await expect(rowsOf(page).filter({ hasText: 'rig-second' })).toContainText('running', { timeout: 30_000 });
  const nextJob = await orchestrator.submit({ ...body, config_name: 'next-job' });
  await expect(rowsOf(page).filter({ hasText: 'next-job' })).toContainText('expected start', {
    timeout: 30_000,
  });
  await orchestrator.call('POST', `/api/queue/${nextJob}/cancel`);
  await expect(rowsOf(page)).toHaveCount(2);
  await expect(rowsOf(page).filter({ hasText: 'rig-second' })).toContainText('completed', {
    timeout: 60_000,
  });

  // The job's page shows both workers, and the worker's page only this worker.
  await page.goto(`${orchestrator.url}/jobs/${job}`);
  await expect(chart(page).locator('.timeline-names li')).toHaveText([/rig-first/, /rig-second/]);
  await page.goto(`${orchestrator.url}/workers/${second.id}`);
  await expect(chart(page).locator('.timeline-names li')).toHaveText(['rig-second']);
  await chart(page)
    .getByRole('link', { name: /^flux-lora on rig-second, attempt 2: completed/ })
    .focus();
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(new RegExp(`/jobs/${job}$`));
  expect(errors).toEqual([]);
});

test('opens a link to the timeline after signing in', async ({ page }) => {
  await page.goto(`${orchestrator.url}/timeline?zoom=week`);
  await enterToken(page, orchestrator.token);
  await expect(page.getByRole('heading', { name: 'Timeline' })).toBeVisible();
  await expect(page.getByRole('button', { name: 'Week' })).toHaveAttribute('aria-pressed', 'true');
  await page.getByRole('button', { name: 'Month' }).click();
  await expect(page).toHaveURL(/zoom=month/);
});

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const workerCount = 250;

/** Creates a response with the maximum number of bars on 250 workers, from six hours ago to one hour ahead. */
function createFullTimeline(): object {
  const now = Date.now();
  const iso = (time: number): string => new Date(time).toISOString();
  const outcomes = ['completed', 'completed', 'failed', 'requeued', 'cancelled', 'given_up'];
  // Each worker gets one bar in each round of 250 bars. The bars of the last round are running.
  const bars = Array.from({ length: maxTimelineBars }, (_, index) => {
    const round = Math.floor(index / workerCount);
    const start = now - 6 * hourMs + round * 0.75 * hourMs + (index % 7) * minuteMs;
    const isRunning = index >= maxTimelineBars - workerCount;
    return {
      attempt_id: `a_${index}`,
      // Three attempts in a row belong to the same job.
      job_id: `j_${index - (index % 3)}`,
      attempt: (index % 3) + 1,
      worker_id: `w_${index % workerCount}`,
      rank: null,
      offered_at: iso(start),
      started_at: iso(start + minuteMs),
      ended_at: isRunning ? null : iso(start + 0.6 * hourMs),
      outcome: isRunning ? null : (outcomes[index % outcomes.length] ?? 'completed'),
      expected_end_at: isRunning ? iso(now + hourMs) : null,
    } satisfies Record<keyof TimelineBar, unknown>;
  });
  return {
    bars,
    predictions: [],
    jobs: bars.map(({ job_id: id }) => ({
      id,
      name: null,
      config_name: `flux-lora-${id}`,
      status: 'running',
      user: 'ada',
    })),
    workers: Array.from({ length: workerCount }, (_, index) => ({
      id: `w_${index}`,
      name: `rig-${index}`,
      deleted: false,
    })),
    is_cut: true,
    now: iso(now),
    as_of_seq: 1,
  };
}

async function openFull(page: Page): Promise<void> {
  await page.route('**/api/timeline?*', route => route.fulfill({ json: createFullTimeline() }));
  await signIn(page, orchestrator);
  await page.goto(`${orchestrator.url}/timeline?zoom=hours`);
  await expect(page.getByText('Shows only the newest 2,000 attempts')).toBeVisible();
}

test('keeps a high frame rate while the timeline pans and zooms 2,000 bars', async ({ page }) => {
  await openFull(page);
  for (const kind of ['pan', 'zoom'] as const) {
    const framesPerSecond = await measureFrames(page, kind);
    const description = `${framesPerSecond.toFixed(1)} frames a second`;
    test.info().annotations.push({ type: kind, description });
    // Browsers draw 60 frames per second. A machine that runs other tests at the same time drops some of them.
    expect(framesPerSecond).toBeGreaterThan(30);
  }
});

test('zooms and moves the timeline and opens a bar with the keyboard alone', async ({ page }) => {
  await openFull(page);
  await chart(page).focus();
  await page.keyboard.press('-');
  await expect(page.getByRole('button', { name: 'Day', exact: true })).toHaveAttribute(
    'aria-pressed',
    'true',
  );
  await page.keyboard.press('+');
  await expect(page.getByRole('button', { name: '6 h' })).toHaveAttribute('aria-pressed', 'true');
  await page.keyboard.press('ArrowLeft');
  const now = page.getByRole('button', { name: 'Now' });
  await expect(now).toHaveAttribute('aria-pressed', 'false');
  await page.keyboard.press('n');
  await expect(now).toHaveAttribute('aria-pressed', 'true');
  const bar = chart(page).locator('.timeline-bar');
  await bar.focus();
  const before = await bar.getAttribute('aria-label');
  await page.keyboard.press('ArrowRight');
  await expect(bar).toBeFocused();
  await expect(bar).not.toHaveAttribute('aria-label', before ?? '');
  await page.keyboard.press('ArrowDown');
  await expect(bar).toBeFocused();
  await expect(bar).toHaveAttribute('aria-label', /on rig-1, attempt/);
  const path = await bar.getAttribute('href');
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(orchestrator.url + path);
});

for (const theme of ['light', 'dark'] as const)
  for (const width of [390, 1280, 1440])
    test(`shows an accessible timeline that fits ${width} px in the ${theme} theme`, async ({ page }) => {
      await page.setViewportSize({ width, height: 800 });
      await page.emulateMedia({ colorScheme: theme });
      await openFull(page);
      await page.getByRole('button', { name: 'Show as table' }).click();
      await expect(rowsOf(page).first()).toBeVisible();
      await takePicture(page, `timeline-${width}-${theme}`);
      expect(await findOverflows(page)).toEqual([]);
      await expectAccessible(page);
    });
