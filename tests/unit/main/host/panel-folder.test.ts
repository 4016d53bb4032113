import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { findPanel } from '../../../../main/host/panel-folder.ts';
import { openFolder } from '../../../support/fleet-bench.ts';

/** Creates a program and pages in an otherwise empty folder. Returns which of the pages the program finds. */
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
  ['from its sources', 'main/host/panel-folder.ts', [...sources, ...built], 'dist/renderer/'],
  ['from its sources before it is built', 'main/host/panel-folder.ts', sources, null],
  ['when it is built', 'dist/main/cli.js', built, 'dist/renderer/'],
  ['when it is built in parts', 'dist/main/assets/compose.js', built, 'dist/renderer/'],
  ['alone', 'bin/cli.js', [], null],
])('%s', (_what, program, pages, expected) => {
  expect(found(program, pages)).toBe(expected);
});
