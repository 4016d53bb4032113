/**
 * Builds the panel and tests it in a browser. Without Chromium, prints how to install it and skips the tests. `--built`: skip the
 * build, because `npm run build` has just run. `--all`: also run the specs that take minutes. Other arguments go to Playwright.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { chromium } from '../../playwright.config.ts';

const run = (command: string, ...args: readonly string[]): void => {
  const { status } = spawnSync(command, args, { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
};

const options = process.argv.slice(2);
// A spec that the user names runs even if it takes minutes.
const hasSpecName = options.some(option => !option.startsWith('-'));
if (options.includes('--all') || hasSpecName) process.env['TRAINYARD_ALL_SPECS'] = '1';
// With the compile cache of an earlier run, the servers and workers of the specs start faster.
process.env['NODE_COMPILE_CACHE'] ??= fileURLToPath(
  new URL('../../node_modules/.cache/node', import.meta.url),
);
// Start servers and workers from the build, which takes half the time of starting from the sources.
process.env['TRAINYARD_BUILT'] = '1';
if (chromium !== null) {
  if (!options.includes('--built')) run('vite', 'build', '--app', '--logLevel', 'warn');
  run('playwright', 'test', ...options.filter(option => option !== '--built' && option !== '--all'));
} else {
  console.log('Browser tests skipped: there is no Chromium (on Debian: apt-get install chromium)');
}
