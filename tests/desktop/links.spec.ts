/** Links that open pages of the app, the menu of the app, a second start, and quitting. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from '@playwright/test';
import { startOrchestrator } from '../e2e/panel.ts';
import { type App, electronVariables, test } from '../support/desktop/driver.ts';

test('opens the page of the trainyard:// link in its arguments', async ({ orchestrator, start }) => {
  const { id } = await orchestrator.createWorker({ name: 'rig-linked' });
  const { page } = await start({ dataDir: orchestrator.dataDir, args: [`trainyard://worker/${id}`] });
  await expect(page).toHaveURL(`${orchestrator.url}/workers/${id}`);
  await expect(page.getByRole('heading', { name: 'rig-linked' })).toBeVisible();
});

test('passes a link to the running app, and the second instance exits', { tag: '@real' }, async ({
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

test('ignores invalid links, and opens the page of the next valid link', { tag: '@stand-in' }, async ({
  orchestrator,
  start,
}) => {
  const app = await start({ dataDir: orchestrator.dataDir });
  const { page } = app;
  await expect(page.getByText('Live')).toBeVisible();
  for (const link of ['trainyard://settings', 'trainyard://job/../../x', 'https://example.com'])
    await openLink(app, link);
  // The app handles links in order. When the page of this valid link is open, the app has handled the invalid links.
  await openLink(app, 'trainyard://job/j_valid');
  await expect(page).toHaveURL(`${orchestrator.url}/jobs/j_valid`);
});

/** Opens a link as if another program had started the app with it. */
async function openLink({ electron, order }: App, link: string): Promise<void> {
  const args = [['trainyard', '--', link]];
  if (electron === null) await order({ do: 'emit', on: 'app', event: 'second-instance', args });
  else await electron.evaluate(({ app }, argv) => void app.emit('second-instance', {}, argv), args[0] ?? []);
}

/** Makes the next dialogs choose the first button. With Electron, also records the texts of the dialogs. */
async function acceptQuestions({ electron, order }: App): Promise<void> {
  if (electron === null) return void (await order({ do: 'answer', with: 0 }));
  await electron.evaluate(({ dialog }) => {
    const questions: object[] = [];
    const showMessageBox = async ({ message, detail }: { message: string; detail?: string }) => {
      questions.push({ message, detail });
      return { response: 0, checkboxChecked: false };
    };
    Object.assign(dialog, { questions, showMessageBox });
  });
}

type Questions = readonly { readonly message: string; readonly detail: string }[];
async function questionsOf({ electron, inspect }: App): Promise<Questions> {
  if (electron === null) return (await inspect()).questions;
  return electron.evaluate(({ dialog }) => (dialog as unknown as { questions: Questions }).questions);
}

test('asks before a join link opens the form for a new fleet, and requires the token in the form', async ({
  orchestrator,
  start,
}) => {
  const otherFleet = await startOrchestrator();
  try {
    const app = await start({ dataDir: orchestrator.dataDir });
    const { page } = app;
    await expect(page.getByText('Live')).toBeVisible();
    await acceptQuestions(app);
    await openLink(app, `trainyard://join?address=${encodeURIComponent(otherFleet.url)}`);
    const dialog = page.getByRole('dialog');
    await expect(dialog.getByLabel('Address')).toHaveValue(otherFleet.url);
    await expect(dialog.getByLabel('Pin')).toHaveValue('');
    const [question] = await questionsOf(app);
    expect(question?.message).toBe('Add this fleet to Trainyard?');
    expect(question?.detail).toContain(`Address: ${otherFleet.url}\nPin: none\n`);
    // The app stores nothing before the user saves the form.
    expect(await page.evaluate('desktop.view()')).toMatchObject({ view: { fleets: [] } });
    await dialog.getByLabel('Token', { exact: true }).fill(otherFleet.token);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await expect(dialog).toHaveCount(0);
    expect(await page.evaluate('desktop.view()')).toMatchObject({
      view: { fleets: [{ name: '127.0.0.1', url: otherFleet.url }] },
    });
    // The URL of the page no longer contains the address from the link.
    expect(new URL(page.url()).search).toBe('');
  } finally {
    await otherFleet.close();
  }
});

test('refuses a join link with a token, and a join link with an invalid address', async ({
  orchestrator,
  start,
}) => {
  const app = await start({ dataDir: orchestrator.dataDir });
  await expect(app.page.getByText('Live')).toBeVisible();
  await acceptQuestions(app);
  await openLink(app, 'trainyard://join?address=https://rig.lan:8001&token=tk_secret');
  await expect
    .poll(() => questionsOf(app))
    .toMatchObject([{ message: 'The link contains a token or a password' }]);
  await openLink(app, 'trainyard://join?address=file:///etc/passwd');
  await expect.poll(async () => (await questionsOf(app))[1]?.message).toBe('The link is not valid');
  const address = await app.page.evaluate('location.href');
  expect(address).not.toContain('rig.lan');
  expect(address).not.toContain('tk_secret');
});

test('opens the page of each taskbar shortcut', async ({ orchestrator, start }) => {
  const app = await start({
    dataDir: orchestrator.dataDir,
    args: ['--', 'trainyard://open/new-job'],
  });
  await expect(app.page).toHaveURL(`${orchestrator.url}/jobs/new`);
  for (const path of ['jobs', 'workers'] as const) {
    await openLink(app, `trainyard://open/${path}`);
    await expect(app.page).toHaveURL(`${orchestrator.url}/${path}`);
  }
});

test('opens every page from the menu of the app', async ({ orchestrator, start }) => {
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

test('quits immediately, and leaves an orchestrator running that the app did not start', async ({
  orchestrator,
  start,
}) => {
  const { page, electron, order, exited } = await start({ dataDir: orchestrator.dataDir });
  await expect(page.getByText('Live')).toBeVisible();
  if (electron === null) await order({ do: 'tray', label: 'Quit Trainyard…' });
  // The app may quit before it responds to this call.
  else void electron.evaluate(({ app }) => app.quit()).catch(() => undefined);
  expect(await exited).toBe(0);
  // The app did not start this orchestrator, so the app must not stop the orchestrator.
  expect((await fetch(`${orchestrator.url}/health/live`)).status).toBe(200);
  expect(existsSync(join(orchestrator.dataDir, 'url'))).toBe(true);
});

test('exits with code 0 on SIGTERM', async ({ orchestrator, start }) => {
  const { page, kill, exited } = await start({ dataDir: orchestrator.dataDir });
  await expect(page.getByText('Live')).toBeVisible();
  kill('SIGTERM');
  expect(await exited).toBe(0);
});
