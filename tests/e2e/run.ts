/** Builds the panel and tests it in a browser. Without a browser, it prints how to install one. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chromium } from '../../playwright.config.ts';

const run = (command: string, ...args: readonly string[]): void => {
  const { status } = spawnSync(command, args, { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
};

if (existsSync(chromium)) {
  run('vite', 'build', '--app', '--logLevel', 'warn');
  run('playwright', 'test', ...process.argv.slice(2));
} else {
  console.log(`Browser tests skipped: there is no ${chromium} (apt-get install chromium)`);
}
