/** Every page shows markup in names and texts as text (docs/internals/faults.md, S15). */
import { expect, test } from '@playwright/test';
import { type Orchestrator, signIn, startOrchestrator } from './panel.ts';

let orchestrator: Orchestrator;
test.beforeAll(async () => {
  orchestrator = await startOrchestrator();
});
test.afterAll(() => orchestrator.close());

const markup = '<img src=x onerror="globalThis.owned=1"><script>globalThis.owned=1</script>';
const link = 'javascript:globalThis.owned=1';
const reversedText = '\u202egpj.exe';

test('shows markup in the names and reports of workers and jobs as text, and runs no script in it', async ({
  page,
}) => {
  const { call, url } = orchestrator;
  const { id, token } = await orchestrator.createWorker({ name: markup, labels: { rig: 'x', link } });
  const postAsWorker = async (path: string, body: object): Promise<void> => {
    const response = await fetch(url + path, {
      method: 'POST',
      headers: { 'x-worker-token': token, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    expect(response.status, path).toBe(200);
  };
  const gpu = { index: 0, name: markup + reversedText, vram_gb: 24 };
  const gpuInfo = { name: markup, count: 1, vram_gb: 24, driver: markup, accelerator: markup, gpus: [gpu] };
  const registration = {
    protocol: 2,
    persistent: true,
    name: markup + reversedText,
    gpu_info: gpuInfo,
    agent_version: markup,
  };
  await postAsWorker('/api/workers/register', registration);
  const connection = new AbortController();
  const stream = await fetch(`${url}/api/workers/stream?worker_id=${id}`, {
    headers: { 'x-worker-token': token },
    signal: connection.signal,
  });
  expect(stream.status).toBe(200);
  const config = { model_family: markup, prompt: markup, [markup]: link };
  const job = await orchestrator.submit({ config, config_name: markup, worker_labels: { rig: 'x' } });
  const reportPath = `/api/workers/job/${job}/status`;
  await postAsWorker(reportPath, { status: 'running', progress: { step: 1, stage: markup } });
  const error = `Traceback:\n${markup}\n${reversedText}`;
  await postAsWorker(reportPath, { status: 'failed', exit_code: 1, error });
  const pendingJob = await orchestrator.submit({
    config,
    config_name: link,
    worker_labels: { [markup.slice(0, 40)]: 'x' },
  });
  await call('POST', `/api/admin/workers/${id}/drain`, { reason: markup });

  let dialogs = 0;
  page.on('dialog', dialog => {
    dialogs += 1;
    void dialog.dismiss();
  });
  await signIn(page, orchestrator);
  const paths = [
    '/',
    '/workers',
    `/workers/${id}`,
    '/jobs',
    `/jobs/${job}`,
    `/jobs/${pendingJob}`,
    '/queue',
    '/audit',
  ];
  for (const path of paths) {
    await page.goto(url + path);
    await expect(page.getByRole('navigation', { name: 'Pages' })).toBeVisible();
    // Only the pending job has the link as its name.
    const showsLink = path === '/queue' || path === `/jobs/${pendingJob}`;
    await expect(page.getByText(showsLink ? link : '<img src=x onerror=').first()).toBeVisible();
    expect(await page.locator('img[src="x"]').count()).toBe(0);
    expect(await page.locator('a[href^="javascript:"]').count()).toBe(0);
    expect(await page.evaluate(() => 'owned' in globalThis)).toBe(false);
  }
  expect(dialogs).toBe(0);
  connection.abort();
});
