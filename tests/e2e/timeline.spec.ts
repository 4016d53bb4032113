/** The timeline of the fleet, with real workers, and with as many bars as a response may have. */
import { AxeBuilder } from '@axe-core/playwright';
import { expect, type Page, test } from '@playwright/test';
import { maxTimelineBars, type TimelineBar } from '../../protocol/timeline-api.ts';
import { tooWide } from './in-page.ts';
import { measureFrames } from './timeline-in-page.ts';
import { type Orchestrator, signIn, startOrchestrator } from './panel.ts';

let orchestrator: Orchestrator;
test.beforeAll(async () => {
  orchestrator = await startOrchestrator({ args: ['--heartbeat-timeout', '6'] });
  // Without any worker, the page explains what will appear.
  await orchestrator.call('POST', '/api/admin/workers', { name: 'rig-spare' });
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

test('explains an empty timeline', async ({ page }) => {
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

test('shows how a job moves from a killed worker to another one, and what is expected next', async ({
  page,
}) => {
  test.setTimeout(150_000);
  const errors = recordErrors(page);
  const first = await orchestrator.rig('rig-first');
  const body = { config_name: 'flux-lora', config: { trainer: 'selftest', seconds: 20 } };
  const job = await orchestrator.submit(body);
  await signIn(page, orchestrator);
  await page.goto(`${orchestrator.url}/timeline?zoom=hour`);
  await page.getByRole('button', { name: 'Show as table' }).click();
  await expect(rowsOf(page)).toHaveCount(1);
  await expect(rowsOf(page)).toContainText('running', { timeout: 20_000 });
  const second = await orchestrator.rig('rig-second');
  await expect(chart(page).getByRole('link', { name: 'rig-second', exact: true })).toBeVisible();
  first.cutPower();

  await expect(rowsOf(page)).toHaveCount(2, { timeout: 60_000 });
  await expect(rowsOf(page).filter({ hasText: 'rig-first' })).toContainText('lost');
  await expect(rowsOf(page).filter({ hasText: 'rig-second' })).toContainText('running', { timeout: 30_000 });
  const pending = await orchestrator.submit({ ...body, config_name: 'waits' });
  await expect(rowsOf(page).filter({ hasText: 'waits' })).toContainText('expected start', {
    timeout: 30_000,
  });
  await orchestrator.call('POST', `/api/queue/${pending}/cancel`);
  await expect(rowsOf(page)).toHaveCount(2);
  await expect(rowsOf(page).filter({ hasText: 'rig-second' })).toContainText('completed', {
    timeout: 60_000,
  });

  // The job's page has both rigs, and the worker's page only its own.
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
  await page.getByLabel('Token').fill(orchestrator.token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page.getByRole('heading', { name: 'Timeline' })).toBeVisible();
  await expect(page.getByRole('button', { name: 'Week' })).toHaveAttribute('aria-pressed', 'true');
  await page.getByRole('button', { name: 'Month' }).click();
  await expect(page).toHaveURL(/zoom=month/);
});

const hour = 3_600_000;
const rigs = 250;

/** As many bars as a response may have, within the last six hours and the next two, on 250 workers. */
function fullTimeline(): object {
  const now = Date.now();
  const iso = (at: number): string => new Date(at).toISOString();
  const outcomes = ['completed', 'completed', 'failed', 'requeued', 'cancelled', 'given_up'];
  const bars = Array.from({ length: maxTimelineBars }, (_, n) => {
    const from = now - 6 * hour + Math.floor(n / rigs) * 0.75 * hour + (n % 7) * 60_000;
    const isLive = n >= maxTimelineBars - rigs;
    return {
      attempt_id: `a_${n}`,
      job_id: `j_${n - (n % 3)}`,
      attempt: (n % 3) + 1,
      worker_id: `w_${n % rigs}`,
      rank: null,
      offered_at: iso(from),
      started_at: iso(from + 60_000),
      ended_at: isLive ? null : iso(from + 0.6 * hour),
      outcome: isLive ? null : (outcomes[n % outcomes.length] ?? 'completed'),
      expected_end_at: isLive ? iso(now + hour) : null,
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
    workers: Array.from({ length: rigs }, (_, n) => ({ id: `w_${n}`, name: `rig-${n}`, deleted: false })),
    is_cut: true,
    now: iso(now),
    as_of_seq: 1,
  };
}

async function openFull(page: Page): Promise<void> {
  await page.route('**/api/timeline?*', route => route.fulfill({ json: fullTimeline() }));
  await signIn(page, orchestrator);
  await page.goto(`${orchestrator.url}/timeline?zoom=hours`);
  await expect(page.getByText('Shows only the newest 2,000 attempts')).toBeVisible();
}

test('keeps a high frame rate while it pans and zooms 2,000 bars', async ({ page }) => {
  await openFull(page);
  for (const kind of ['pan', 'zoom'] as const) {
    const fps = await measureFrames(page, kind);
    test.info().annotations.push({
      type: kind,
      description: `${fps.toFixed(1)} frames a second`,
    });
    // A machine that runs other tests at the same time drops frames.
    expect(fps).toBeGreaterThan(30);
  }
});

test('can be used with the keyboard alone', async ({ page }) => {
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
    test(`fits a width of ${width} in the ${theme} theme, and passes axe`, async ({ page }) => {
      await page.setViewportSize({ width, height: 800 });
      await page.emulateMedia({ colorScheme: theme });
      await openFull(page);
      await page.getByRole('button', { name: 'Show as table' }).click();
      await expect(rowsOf(page).first()).toBeVisible();
      await page.screenshot({ path: `test-results/screens/timeline-${width}-${theme}.png` });
      expect(await tooWide(page)).toEqual([]);
      const { violations } = await new AxeBuilder({ page }).analyze();
      expect(violations).toEqual([]);
    });
