/** Reports, the log file, and what the app stores when one of its processes crashes or hangs. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from '@playwright/test';
import { type App, test } from '../support/desktop/driver.ts';

const label = 'Copy diagnostics';

/** Clicks the menu entry, and returns the copied text. */
async function copyDiagnostics({ electron, inspect, order }: App): Promise<string> {
  if (electron === null) {
    await order({ do: 'menu', label });
    await expect.poll(async () => (await inspect()).clipboard).not.toBe('');
    return (await inspect()).clipboard;
  }
  const read = () => electron.evaluate(({ clipboard }) => clipboard.readText());
  await electron.evaluate(({ clipboard, dialog, Menu }, wanted) => {
    clipboard.clear();
    // The message about the copy would stay open until somebody closes it.
    Object.assign(dialog, { showMessageBox: async () => ({ response: 0 }) });
    const items = Menu.getApplicationMenu()?.items.flatMap(({ submenu }) => submenu?.items ?? []) ?? [];
    items.find(item => item.label === wanted)?.click();
  }, label);
  await expect.poll(read).not.toBe('');
  return read();
}

test('copies versions, settings and the end of the log, without tokens', async ({ beside, start }) => {
  const log = join(beside.dataDir, 'desktop/logs/main.log');
  const app = await start({ dataDir: beside.dataDir });
  await expect(app.page.getByText('Live')).toBeVisible();
  writeFileSync(log, `test.line authorization="Bearer ${beside.token}"\n`, { flag: 'a' });
  const report = await copyDiagnostics(app);
  expect(report).toMatch(/^Trainyard diagnostics, \d{4}-/);
  expect(report).toMatch(/Trainyard: \d+\.\d+\.\d+/);
  expect(report).toContain('## Settings of the orchestrator\n');
  expect(report).toContain('"enabled":false');
  expect(report).toContain('test.line');
  expect(report).not.toContain(beside.token);
  if (app.electron === null) {
    const { questions } = await app.inspect();
    expect(questions.at(-1)?.message).toBe('The diagnostics are on the clipboard');
  }
});

test('stores a crash dump of a lost renderer process, and names it in the diagnostics', {
  tag: '@real',
}, async ({ beside, start }) => {
  const app = await start({ dataDir: beside.dataDir });
  await expect(app.page.getByText('Live')).toBeVisible();
  await app.electron?.evaluate(({ BrowserWindow }) => {
    void BrowserWindow.getAllWindows()[0]?.webContents.loadURL('chrome://crash');
  });
  const dumps = join(beside.dataDir, 'desktop/Crashpad');
  const names = () =>
    existsSync(dumps) ? readdirSync(dumps, { recursive: true }).map(String).filter(isDump) : [];
  await expect.poll(names, { timeout: 20_000 }).toHaveLength(1);
  const [dump = ''] = names();
  expect(await copyDiagnostics(app)).toContain(dump);
  expect(readFileSync(join(beside.dataDir, 'desktop/logs/main.log'), 'utf8')).toContain('desktop.page_lost');
});

const isDump = (name: string): boolean => name.endsWith('.dmp');

test('offers to reload a page that hangs, and reloads it', { tag: '@stand-in' }, async ({
  beside,
  start,
}) => {
  const app = await start({ dataDir: beside.dataDir });
  await expect(app.page.getByText('Live')).toBeVisible();
  await app.order({ do: 'answer', with: 1 });
  await app.order({ do: 'emit', on: 'window', event: 'unresponsive', args: [] });
  await expect
    .poll(async () => (await app.inspect()).questions.map(({ message }) => message))
    .toContain('The window does not respond');
  await expect.poll(async () => (await app.inspect()).killedRenderers).toBe(1);
});
