/** The diagnostics of the app: the report that users copy, crash dumps, and a page that hangs. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from '@playwright/test';
import { type App, test } from '../support/desktop/driver.ts';

const menuLabel = 'Copy diagnostics';

/** Clicks the menu entry that copies the diagnostics, and returns the copied text. */
async function copyDiagnostics({ electron, inspect, order }: App): Promise<string> {
  if (electron === null) {
    await order({ do: 'menu', label: menuLabel });
    await expect.poll(async () => (await inspect()).clipboard).not.toBe('');
    return (await inspect()).clipboard;
  }
  const readClipboard = () => electron.evaluate(({ clipboard }) => clipboard.readText());
  await electron.evaluate(({ clipboard, dialog, Menu }, label) => {
    clipboard.clear();
    // Answer the message about the copy, which otherwise stays open.
    Object.assign(dialog, { showMessageBox: async () => ({ response: 0 }) });
    const items = Menu.getApplicationMenu()?.items.flatMap(({ submenu }) => submenu?.items ?? []) ?? [];
    items.find(item => item.label === label)?.click();
  }, menuLabel);
  await expect.poll(readClipboard).not.toBe('');
  return readClipboard();
}

test('copies versions, settings and the end of the log as diagnostics, without tokens', async ({
  orchestrator,
  start,
}) => {
  const logFile = join(orchestrator.dataDir, 'desktop/logs/main.log');
  const app = await start({ dataDir: orchestrator.dataDir });
  await expect(app.page.getByText('Live')).toBeVisible();
  writeFileSync(logFile, `test.line authorization="Bearer ${orchestrator.token}"\n`, { flag: 'a' });
  const report = await copyDiagnostics(app);
  expect(report).toMatch(/^Trainyard diagnostics, \d{4}-/);
  expect(report).toMatch(/Trainyard: \d+\.\d+\.\d+/);
  expect(report).toContain('## Settings of the orchestrator\n');
  expect(report).toContain('"enabled":false');
  expect(report).toContain('test.line');
  expect(report).not.toContain(orchestrator.token);
  if (app.electron === null) {
    const { questions } = await app.inspect();
    expect(questions.at(-1)?.message).toBe('The diagnostics are on the clipboard');
  }
});

test('stores a crash dump when the renderer process crashes, and lists the dump in the diagnostics', {
  tag: '@real',
}, async ({ orchestrator, start }) => {
  const app = await start({ dataDir: orchestrator.dataDir });
  await expect(app.page.getByText('Live')).toBeVisible();
  await app.electron?.evaluate(({ BrowserWindow }) => {
    void BrowserWindow.getAllWindows()[0]?.webContents.loadURL('chrome://crash');
  });
  const dumpFolder = join(orchestrator.dataDir, 'desktop/Crashpad');
  const dumpNames = () =>
    existsSync(dumpFolder) ? readdirSync(dumpFolder, { recursive: true }).map(String).filter(isDump) : [];
  await expect.poll(dumpNames, { timeout: 20_000 }).toHaveLength(1);
  const [dump = ''] = dumpNames();
  expect(await copyDiagnostics(app)).toContain(dump);
  expect(readFileSync(join(orchestrator.dataDir, 'desktop/logs/main.log'), 'utf8')).toContain(
    'desktop.page_lost',
  );
});

const isDump = (name: string): boolean => name.endsWith('.dmp');

test('offers to reload a page that hangs, and reloads the page after a click', { tag: '@stand-in' }, async ({
  orchestrator,
  start,
}) => {
  const app = await start({ dataDir: orchestrator.dataDir });
  await expect(app.page.getByText('Live')).toBeVisible();
  await app.order({ do: 'answer', with: 1 });
  await app.order({ do: 'emit', on: 'window', event: 'unresponsive', args: [] });
  await expect
    .poll(async () => (await app.inspect()).questions.map(({ message }) => message))
    .toContain('The window does not respond');
  await expect.poll(async () => (await app.inspect()).killedRenderers).toBe(1);
});
