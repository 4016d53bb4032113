/** Links, the menu and a second start of the app, and how to quit it. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from '@playwright/test';
import { electronVariables, test } from '../support/desktop/driver.ts';

test('opens the page of a trainyard:// link that the app is started with', async ({ beside, start }) => {
  const { worker_id: id } = await beside.call('POST', '/api/admin/workers', { name: 'rig-linked' });
  const { page } = await start({ dataDir: beside.dataDir, args: [`trainyard://worker/${String(id)}`] });
  await expect(page).toHaveURL(`${beside.url}/workers/${String(id)}`);
  await expect(page.getByRole('heading', { name: 'rig-linked' })).toBeVisible();
});

test('passes the link of a second start to the running app, and exits', { tag: '@real' }, async ({
  beside,
  start,
  driver,
}) => {
  if (driver === 'stand-in') return;
  const { page, electron } = await start({ dataDir: beside.dataDir });
  await expect(page.getByText('Live')).toBeVisible();
  const job = await beside.submit({ config_name: 'linked', config: {}, target: 'worker' });
  const program = process.env[electronVariables[driver]] ?? '';
  const entry = driver === 'electron' ? ['dist/main/desktop.js'] : [];
  const args = [...entry, '--no-sandbox', '--data-dir', beside.dataDir, `trainyard://job/${job}`];
  const second = spawn(program, args, { stdio: 'ignore' });
  expect(await new Promise(resolve => second.once('exit', resolve))).toBe(0);
  await expect(page).toHaveURL(`${beside.url}/jobs/${job}`);
  expect(await electron?.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows().length)).toBe(1);
});

test('ignores invalid links', { tag: '@stand-in' }, async ({ beside, start }) => {
  const { page, order } = await start({ dataDir: beside.dataDir });
  await expect(page.getByText('Live')).toBeVisible();
  for (const link of ['trainyard://settings', 'trainyard://job/../../x', 'https://example.com'])
    await order({ do: 'emit', on: 'app', event: 'second-instance', args: [['trainyard', link]] });
  await order({
    do: 'emit',
    on: 'app',
    event: 'second-instance',
    args: [['trainyard', 'trainyard://job/j_gone']],
  });
  await expect(page).toHaveURL(`${beside.url}/jobs/j_gone`);
});

test('opens every page from the menu', async ({ beside, start }) => {
  const { page, electron, order } = await start({ dataDir: beside.dataDir });
  await expect(page.getByText('Live')).toBeVisible();
  const click = (label: string): Promise<unknown> =>
    electron === null
      ? order({ do: 'menu', label })
      : electron.evaluate(({ Menu }, wanted) => {
          const items = Menu.getApplicationMenu()?.items.flatMap(({ submenu }) => submenu?.items ?? []) ?? [];
          items.find(item => item.label === wanted)?.click();
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
    await expect(page).toHaveURL(beside.url + path);
  }
});

test('quits immediately when it runs no orchestrator of its own', async ({ beside, start }) => {
  const { page, electron, order, exited } = await start({ dataDir: beside.dataDir });
  await expect(page.getByText('Live')).toBeVisible();
  if (electron === null) await order({ do: 'tray', label: 'Quit Trainyard…' });
  // The app may quit before it answers this call.
  else void electron.evaluate(({ app }) => app.quit()).catch(() => undefined);
  expect(await exited).toBe(0);
  // The app did not start this orchestrator, so it must not stop it.
  expect((await fetch(`${beside.url}/health/live`)).status).toBe(200);
  expect(existsSync(join(beside.dataDir, 'url'))).toBe(true);
});

test('exits cleanly on SIGTERM', async ({ beside, start }) => {
  const { page, kill, exited } = await start({ dataDir: beside.dataDir });
  await expect(page.getByText('Live')).toBeVisible();
  kill('SIGTERM');
  expect(await exited).toBe(0);
});
