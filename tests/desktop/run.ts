/**
 * Builds the app and tests it with every available driver. Prints which drivers are missing, and why.
 * `--built` skips the build. `--all` also runs the specs that take minutes. All other arguments are passed to Playwright.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from '../../playwright.config.ts';
import type { DriverName } from '../../playwright.desktop.config.ts';
import { openDisplay } from '../support/desktop/display.ts';
import { electronVariables } from '../support/desktop/driver.ts';
import { copyWithApp } from '../support/desktop/electron-copy.ts';
import { fetchElectron33 } from '../support/desktop/electron-33.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const print = (line: string): void => console.log(line);

/**
 * Returns the path of the binary that the package `electron` has downloaded, or null. Does not import the package, because an
 * import would start the download.
 */
function currentElectron(): string | null {
  const folder = join(root, 'node_modules/electron');
  const pathFile = join(folder, 'path.txt');
  if (!existsSync(pathFile)) return null;
  const program = join(folder, 'dist', readFileSync(pathFile, 'utf8'));
  return existsSync(program) ? program : null;
}

async function main(): Promise<number> {
  const options = process.argv.slice(2);
  // A spec that the user names runs even if it takes minutes.
  const isAll = options.includes('--all') || options.some(option => !option.startsWith('-'));
  const steps = [
    ['vite', 'build', '--app', '--logLevel', 'warn'],
    // The package contains the worker.
    [process.execPath, 'dev/worker/run.ts'],
  ];
  for (const [program = '', ...args] of options.includes('--built') ? [] : steps) {
    const { status } = spawnSync(program, args, { stdio: 'inherit' });
    if (status !== 0) return status ?? 1;
  }
  const folder = mkdtempSync(join(tmpdir(), 'trainyard-desktop-'));
  const display = await openDisplay();
  const drivers = new Map<DriverName, string>();
  const printMissing = (name: DriverName, reason: string): void =>
    print(`Desktop specs without ${name}: ${reason}`);
  try {
    const electron = currentElectron();
    const electron33 =
      display.name === null
        ? null
        : await fetchElectron33(print).catch((cause: unknown) => {
            print(String(cause));
            return null;
          });
    const noDisplay = 'there is no display, and no Xvfb (apt-get install xvfb)';
    if (electron === null) printMissing('electron', 'its binary is missing (npx install-electron)');
    else if (display.name === null) printMissing('electron', noDisplay);
    else drivers.set('electron', electron);
    if (electron33 !== null) drivers.set('electron-33', copyWithApp(electron33, join(folder, 'electron-33')));
    else printMissing('electron-33', display.name === null ? noDisplay : 'it could not be downloaded');
    if (chromium !== null) drivers.set('stand-in', '');
    else printMissing('stand-in', 'there is no Chromium (on Debian: apt-get install chromium)');
    const required = (process.env['TRAINYARD_DESKTOP_NEEDS'] ?? '').split(',').filter(Boolean);
    const missing = required.filter(name => ![...drivers.keys()].some(driver => driver === name));
    if (missing.length > 0) {
      print(`TRAINYARD_DESKTOP_NEEDS requires desktop specs on ${missing.join(', ')}`);
      return 1;
    }
    if (drivers.size === 0) return 0;
    print(`Desktop specs on: ${[...drivers.keys()].join(', ')}`);
    const env = {
      ...process.env,
      ...(display.name !== null && { DISPLAY: display.name }),
      ...(isAll && { TRAINYARD_ALL_SPECS: '1' }),
      TRAINYARD_BUILT: '1',
      // With the compile cache of an earlier run, the servers and workers of the specs start faster.
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? join(root, 'node_modules/.cache/node'),
      TRAINYARD_DESKTOP_DRIVERS: [...drivers.keys()].join(','),
      [electronVariables.electron]: drivers.get('electron') ?? '',
      [electronVariables['electron-33']]: drivers.get('electron-33') ?? '',
      TRAINYARD_ELECTRON_33_DIST: electron33 ?? '',
    };
    const playwrightOptions = options.filter(option => option !== '--built' && option !== '--all');
    const args = ['test', '-c', 'playwright.desktop.config.ts', ...playwrightOptions];
    return spawnSync('playwright', args, { stdio: 'inherit', env }).status ?? 1;
  } finally {
    display.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

process.exitCode = await main();
