/**
 * `npm run dist`: builds the programs, then the installers for this system. Passes its arguments to electron-builder. `--built`
 * skips the build of the programs.
 */
import { spawnSync } from 'node:child_process';
import { delimiter, join } from 'node:path';
import { planSigning } from './signing.ts';

const root = join(import.meta.dirname, '../..');
const args = process.argv.slice(2);

function run(program: string, programArgs: readonly string[]): void {
  const { status } = spawnSync(program, programArgs, {
    cwd: root,
    stdio: 'inherit',
    // On Windows npm's programs are shell scripts.
    shell: process.platform === 'win32',
    env: {
      ...process.env,
      PATH: `${join(root, 'node_modules/.bin')}${delimiter}${process.env['PATH'] ?? ''}`,
      // electron-builder runs fpm.ts instead of fpm.
      ...(process.platform === 'linux' && { CUSTOM_FPM_PATH: join(import.meta.dirname, 'fpm.ts') }),
    },
  });
  if (status !== 0) process.exit(status ?? 1);
}

if (!args.includes('--built')) run('npm', ['run', '-s', 'build']);
const { isSigned, settings } = planSigning(process.platform, process.env);
console.log(isSigned ? 'The packages will be signed' : 'The packages will not be signed (docs/desktop.md)');
const settingArgs = Object.entries(settings).map(([name, value]) => `-c.${name}=${value}`);
// Later settings override earlier ones, so the caller's arguments come last.
run('electron-builder', [...settingArgs, ...args.filter(arg => arg !== '--built')]);
