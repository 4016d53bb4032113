/** The gallery with thousands of samples. */
import { expect, test } from '@playwright/test';
import { pngOf } from '../support/picture.ts';

import { type Orchestrator, signIn, startOrchestrator } from './panel.ts';
import { measureScrolling } from './scroll-in-page.ts';
import { openTrainingRig } from './training-rig.ts';

// One sample for each prompt at each step makes 5,000 samples.
const stepCount = 625;
const promptCount = 8;
/** The gallery renders only the tiles in the window, and some above and below the window. */
const maxRenderedTiles = 150;

let orchestrator: Orchestrator;
test.beforeAll(async () => {
  test.setTimeout(240_000);
  orchestrator = await startOrchestrator({ args: ['--heartbeat-timeout', '600'] });
  const rig = await openTrainingRig(orchestrator, 'rig-1');
  const job = await rig.start('flowers');
  const body = pngOf(96, 96, (x, y) => [x, y, 90]);
  for (let step = 1; step <= stepCount; step++) {
    const keys = Array.from(
      { length: promptCount },
      (_, prompt) => `samples/step_${step}_prompt${prompt}_0_96x96.png`,
    );
    await Promise.all(keys.map(key => rig.uploadFile(job, key, body)));
  }
});
test.afterAll(() => orchestrator.close());

test('scrolls through 5,000 samples, and keeps only those near the window in the page', async ({ page }) => {
  await signIn(page, orchestrator);
  await page.goto(`${orchestrator.url}/gallery`);
  const all = page.getByRole('status').filter({ hasText: '5,000 samples of 1 job' });
  await expect(async () => {
    if (await all.isVisible()) return;
    await page.getByRole('button', { name: 'Load older samples' }).click({ timeout: 1000 });
    await expect(all).toBeVisible({ timeout: 100 });
  }).toPass({ timeout: 60_000 });
  const { framesPerSecond, peakTiles, height } = await measureScrolling(page, '.gallery-tile');
  const description = `${framesPerSecond.toFixed(1)} frames a second over ${height} pixels`;
  test.info().annotations.push({ type: 'scroll', description });
  expect(peakTiles).toBeLessThan(maxRenderedTiles);
});
