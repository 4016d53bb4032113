import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { openFolder } from '../../../support/fleet-bench.ts';
import { findPanel } from '../../../../main/host/built-files.ts';

/**
 * Creates `files` in a new folder. Returns the panel folder that the program at path `program` serves, relative to
 * the new folder. Returns null when the program finds no panel.
 */
function panelFor(program: string, files: readonly string[]): string | null {
  const root = openFolder();
  for (const file of files) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), '');
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
  ['a program without other files', 'bin/cli.js', [], null],
])('returns the panel folder, or null when no panel was built, for %s', (_case, program, files, expected) => {
  expect(panelFor(program, files)).toBe(expected);
});
