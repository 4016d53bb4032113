import { existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { clearFolder } from '../../../dev/server.ts';

/** Creates a folder with these files. */
function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'trainyard-dev-'));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

/** Starts a server that answers each request. Returns its URL. */
async function startServer(): Promise<string> {
  const server = createServer((_request, response) => response.end());
  onTestFinished(() => void server.close());
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
}

test('deletes a data folder whose server no longer runs', async () => {
  // Nothing listens at port 1.
  const folder = folderWith({ 'trainyard.db': '', 'admin-token': 'ta_1', url: 'http://127.0.0.1:1\n' });
  await clearFolder(folder);
  expect(existsSync(folder)).toBe(false);
});

test('refuses to delete a folder that is not a data folder', async () => {
  const folder = folderWith({ 'thesis.txt': 'years of work' });
  await expect(clearFolder(folder)).rejects.toThrow('so it was not deleted');
  expect(existsSync(join(folder, 'thesis.txt'))).toBe(true);
});

test('refuses to delete the data folder of a running server', async () => {
  const folder = folderWith({ 'trainyard.db': '', url: `${await startServer()}\n` });
  await expect(clearFolder(folder)).rejects.toThrow('stop it first');
  expect(existsSync(join(folder, 'trainyard.db'))).toBe(true);
});

test('keeps an empty folder, and ignores a missing folder', async () => {
  const empty = folderWith({});
  await clearFolder(empty);
  await clearFolder(join(empty, 'not-there'));
  expect(existsSync(empty)).toBe(true);
});
