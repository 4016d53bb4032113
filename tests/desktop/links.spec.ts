/** Links to pages of the app, its menu, a second start, and quitting. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from '@playwright/test';
import { electronVariables, test } from '../support/desktop/driver.ts';

test('opens the page of the trainyard:// link in its arguments', async ({ orchestrator, start }) => {
  const { id } = await orchestrator.createWorker({ name: 'rig-linked' });
  const { page } = await start({ dataDir: orchestrator.dataDir, args: [`trainyard://worker/${id}`] });
  await expect(page).toHaveURL(`${orchestrator.url}/workers/${id}`);
  await expect(page.getByRole('heading', { name: 'rig-linked' })).toBeVisible();
});

test('passes a link to the app that already runs, and exits', { tag: '@real' }, async ({
  orchestrator,
  start,
  driver,
}) => {
  if (driver === 'stand-in') return;
  const { page, electron } = await start({ dataDir: orchestrator.dataDir });
  await expect(page.getByText('Live')).toBeVisible();
  const job = await orchestrator.submit({ config_name: 'linked', config: {}, target: 'worker' });
  const program = process.env[electronVariables[driver]] ?? '';
  const entry = driver === 'electron' ? ['dist/main/desktop.js'] : [];
  const args = [...entry, '--no-sandbox', '--data-dir', orchestrator.dataDir, `trainyard://job/${job}`];
  const secondApp = spawn(program, args, { stdio: 'ignore' });
  expect(await new Promise(resolve => secondApp.once('exit', resolve))).toBe(0);
  await expect(page).toHaveURL(`${orchestrator.url}/jobs/${job}`);
  expect(await electron?.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows().length)).toBe(1);
});

test('ignores invalid links', { tag: '@stand-in' }, async ({ orchestrator, start }) => {
  const { page, order } = await start({ dataDir: orchestrator.dataDir });
  await expect(page.getByText('Live')).toBeVisible();
  const openLink = (link: string): Promise<unknown> =>
    order({ do: 'emit', on: 'app', event: 'second-instance', args: [['trainyard', link]] });
  for (const link of ['trainyard://settings', 'trainyard://job/../../x', 'https://example.com'])
    await openLink(link);
  // The app handles links in order, so it has handled the invalid ones when the page of this one is open.
  await openLink('trainyard://job/j_valid');
  await expect(page).toHaveURL(`${orchestrator.url}/jobs/j_valid`);
});

test('opens every page from the menu', async ({ orchestrator, start }) => {
  const { page, electron, order } = await start({ dataDir: orchestrator.dataDir });
  await expect(page.getByText('Live')).toBeVisible();
  const click = (label: string): Promise<unknown> =>
    electron === null
      ? order({ do: 'menu', label })
      : electron.evaluate(({ Menu }, itemLabel) => {
          const items = Menu.getApplicationMenu()?.items.flatMap(({ submenu }) => submenu?.items ?? []) ?? [];
          items.find(item => item.label === itemLabel)?.click();
        }, label);
  for (const [label, path] of [
    ['Workers', '/workers'],
    ['Queue', '/queue'],
    ['Data', '/data'],
    ['Audit', '/audit'],
    ['New job', '/jobs/new'],
    ['Settings…', '/settings'],
    ['Keyboard shortcuts and help', '/help'],
    ['Overview', '/'],
  ] as const) {
    await click(label);
    await expect(page).toHaveURL(orchestrator.url + path);
  }
});

test('quits immediately when it runs no orchestrator of its own', async ({ orchestrator, start }) => {
  const { page, electron, order, exited } = await start({ dataDir: orchestrator.dataDir });
  await expect(page.getByText('Live')).toBeVisible();
  if (electron === null) await order({ do: 'tray', label: 'Quit Trainyard…' });
  // The app may quit before it responds to this call.
  else void electron.evaluate(({ app }) => app.quit()).catch(() => undefined);
  expect(await exited).toBe(0);
  // The app did not start this orchestrator, so it must not stop it.
  expect((await fetch(`${orchestrator.url}/health/live`)).status).toBe(200);
  expect(existsSync(join(orchestrator.dataDir, 'url'))).toBe(true);
});

test('exits cleanly on SIGTERM', async ({ orchestrator, start }) => {
  const { page, kill, exited } = await start({ dataDir: orchestrator.dataDir });
  await expect(page.getByText('Live')).toBeVisible();
  kill('SIGTERM');
  expect(await exited).toBe(0);
});
