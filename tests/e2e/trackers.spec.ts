/** The links of a job to its run at experiment trackers. */
import { AxeBuilder } from '@axe-core/playwright';
import { expect, test } from '@playwright/test';
import { cutTexts, tooWide } from './in-page.ts';
import { type Orchestrator, signIn, startOrchestrator } from './panel.ts';
import { openTrainingRig } from './training-rig.ts';

let orchestrator: Orchestrator;
test.beforeEach(async () => {
  orchestrator = await startOrchestrator();
});
test.afterEach(() => orchestrator.close());

const wandb = 'https://wandb.ai/ada/flux/runs/8k2v1q0x';
const mlflow = 'http://127.0.0.1:5000/#/experiments/1/runs/0b7f';

test('shows the links of a job as soon as its worker reports them, and never loads them', async ({
  page,
}) => {
  const rig = await openTrainingRig(orchestrator, 'rig-1');
  const offered = await rig.start('flux');
  const outside: string[] = [];
  page.on('request', request => {
    if (!request.url().startsWith(orchestrator.url) && !request.url().startsWith('data:'))
      outside.push(request.url());
  });
  await signIn(page, orchestrator);
  await page.goto(`${orchestrator.url}/jobs/${offered.jobId}`);
  await expect(page.locator('.job-title')).toContainText('running');
  const links = page.getByRole('list', { name: 'Experiment trackers' });
  await expect(links).toHaveCount(0);

  const idn = 'https://wаndb.ai/ada/flux/runs/8k2v1q0x';
  const reported = [
    { kind: 'wandb', url: `${wandb}?apiKey=0123456789abcdef` },
    { kind: 'mlflow', url: mlflow },
    { kind: 'wandb', url: idn },
    { kind: 'wandb', url: 'javascript:alert(1)//a/b/runs/c' },
  ];
  await rig.report(offered, 'running', { links: reported });
  await expect(links.getByRole('listitem')).toHaveText([
    'Weights & Biaseswandb.ai',
    'MLflow127.0.0.1:5000opens only on rig-1',
    'Weights & Biasesxn--wndb-53d.ai',
  ]);
  const link = links.getByRole('link').first();
  await expect(link).toHaveAttribute('href', wandb);
  await expect(link).toHaveAttribute('title', wandb);
  await expect(link).toHaveAttribute('rel', 'noopener noreferrer');
  await expect(link).toHaveAttribute('target', '_blank');
  // Only the rig itself can open an address of its own.
  await expect(links.getByRole('link')).toHaveCount(2);
  await page.setViewportSize({ width: 390, height: 844 });
  expect(await tooWide(page)).toEqual([]);
  expect(await cutTexts(page)).toEqual([]);
  const { violations } = await new AxeBuilder({ page }).include('.job-about').analyze();
  expect(violations.map(({ id }) => id)).toEqual([]);
  expect(outside).toEqual([]);
});
