import { readFileSync, readdirSync } from 'node:fs';
import { expect, test } from 'vitest';

const root = new URL('../../../', import.meta.url);
/** Folders with TypeScript that container builds do not need. */
const notBuilt = new Set(['tests', 'node_modules', 'dist', 'coverage', 'clients', 'docs']);

test('.containerignore includes every folder with sources', () => {
  const folders = readdirSync(root, { withFileTypes: true })
    .filter(entry => entry.isDirectory() && !entry.name.startsWith('.') && !notBuilt.has(entry.name))
    .map(entry => entry.name)
    .filter(name =>
      readdirSync(new URL(name, root), { recursive: true, encoding: 'utf8' }).some(file =>
        /\.tsx?$/.test(file),
      ),
    );
  const lines = readFileSync(new URL('.containerignore', root), 'utf8').split('\n');
  expect(folders.length).toBeGreaterThan(5);
  expect(folders.filter(name => !lines.includes(`!${name}`))).toEqual([]);
});
