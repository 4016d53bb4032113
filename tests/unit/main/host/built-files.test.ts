import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { openFolder } from '../../../support/fleet-bench.ts';
import { findPanel } from '../../../../main/host/built-files.ts';

/** Creates a program and pages in an otherwise empty folder. Returns the page that the program would serve, or null. */
function found(program: string, pages: readonly string[]): string | null {
  const root = openFolder();
  for (const page of pages) {
    mkdirSync(dirname(join(root, page)), { recursive: true });
    writeFileSync(join(root, page), '');
  }
  const panel = findPanel(pathToFileURL(join(root, program)).href);
  return panel === null ? null : panel.slice(root.length + 1);
}

const sources = ['renderer/index.html', 'renderer/main.tsx'];
const built = ['dist/renderer/index.html', 'dist/renderer/assets/index.js'];

test.each([
  ['a program run from its sources', 'main/host/built-files.ts', [...sources, ...built], 'dist/renderer/'],
  ['a program run from its sources before a build', 'main/host/built-files.ts', sources, null],
  ['a built program', 'dist/main/cli.js', built, 'dist/renderer/'],
  ['a program built in parts', 'dist/main/assets/compose.js', built, 'dist/renderer/'],
  ['a program alone', 'bin/cli.js', [], null],
])('finds the panel for %s', (_case, program, pages, expected) => {
  expect(found(program, pages)).toBe(expected);
});
