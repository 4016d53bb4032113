import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../../', import.meta.url));

/**
 * Copies Electron 33 together with the built app into `folder`, because Electron 33 accepts no app path as an argument. Returns
 * the path of the program. `entry`: source text of a module that starts instead of the app, and imports `./dist/main/desktop.js`.
 */
export function copyWithApp(electron: string, folder: string, entry: string | null = null): string {
  // Electron takes 500 MB, so use hard links where the disk supports them.
  if (spawnSync('cp', ['-al', electron, folder]).status !== 0) cpSync(electron, folder, { recursive: true });
  const app = join(folder, 'resources/app');
  mkdirSync(app);
  const { name, version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Record<
    string,
    string
  >;
  const main = entry === null ? 'dist/main/desktop.js' : 'entry.js';
  if (entry !== null) writeFileSync(join(app, main), entry);
  writeFileSync(join(app, 'package.json'), JSON.stringify({ name, version, type: 'module', main }));
  symlinkSync(join(root, 'dist'), join(app, 'dist'));
  return join(folder, 'electron');
}
