/** The links from a job to its runs in experiment trackers. */
import { expect, test } from '@playwright/test';
import { expectAccessible, expectFits } from './page-checks.ts';
import { type Orchestrator, signIn, startOrchestrator } from './panel.ts';
import { openTrainingRig } from './training-rig.ts';

let orchestrator: Orchestrator;
test.beforeEach(async () => {
  orchestrator = await startOrchestrator();
});
test.afterEach(() => orchestrator.close());

const wandb = 'https://wandb.ai/ada/flux/runs/8k2v1q0x';
const mlflow = 'http://127.0.0.1:5000/#/experiments/1/runs/0b7f';

test('shows links to experiment trackers as soon as the worker reports them, and never requests their URLs', async ({
  page,
}) => {
  const rig = await openTrainingRig(orchestrator, 'rig-1');
  const job = await rig.start('flux');
  const outsideRequests: string[] = [];
  page.on('request', request => {
    if (!request.url().startsWith(orchestrator.url) && !request.url().startsWith('data:'))
      outsideRequests.push(request.url());
  });
  await signIn(page, orchestrator);
  await page.goto(`${orchestrator.url}/jobs/${job.jobId}`);
  await expect(page.locator('.job-title')).toContainText('running');
  const links = page.getByRole('list', { name: 'Experiment trackers' });
  await expect(links).toHaveCount(0);

  // The first "a" is a Cyrillic letter.
  const lookalike = 'https://wаndb.ai/ada/flux/runs/8k2v1q0x';
  const reportedLinks = [
    { kind: 'wandb', url: `${wandb}?apiKey=0123456789abcdef` },
    { kind: 'mlflow', url: mlflow },
    { kind: 'wandb', url: lookalike },
    { kind: 'wandb', url: 'javascript:alert(1)//a/b/runs/c' },
  ];
  await rig.report(job, 'running', { links: reportedLinks });
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
  // The MLflow address works only on the rig itself, so the page does not link to it.
  await expect(links.getByRole('link')).toHaveCount(2);
  await page.setViewportSize({ width: 390, height: 844 });
  await expectFits(page);
  await expectAccessible(page, '.job-about');
  expect(outsideRequests).toEqual([]);
});
