import { defineConfig } from '@playwright/test';

export type DriverName = 'electron' | 'electron-33' | 'stand-in';
export interface DriverOptions {
  readonly driver: DriverName;
}

/** Tags of the specs that each driver skips. CONTRIBUTING.md and docs/adr/0017 explain the drivers and the tags. */
const skippedTags: Readonly<Record<DriverName, RegExp>> = {
  electron: /@stand-in|@package/,
  // Electron 33 cannot load SQLite's binary, which needs a later Node. So the orchestrator runs in another process.
  'electron-33': /@stand-in|@embedded/,
  'stand-in': /@real|@package/,
};

const drivers = (process.env['TRAINYARD_DESKTOP_DRIVERS'] ?? 'stand-in').split(',');

const isAll = process.env['TRAINYARD_ALL_SPECS'] === '1';

/** Specs that `npm test` runs: the security of the app and its links. `npm run test:all` runs all specs, in minutes. */
const core = /\/(?:links|security)\.spec\.ts$/;

/** If a real Electron runs too, `npm test` runs on the stub only tests that need the stub, so that no test runs twice. */
const onlyStandIn = !isAll && drivers.some(name => name !== 'stand-in') ? { grep: /@stand-in/ } : {};

export default defineConfig<DriverOptions>({
  testDir: 'tests/desktop',
  testMatch: isAll ? /\.spec\.ts$/ : core,
  outputDir: 'test-results/desktop',
  workers: 2,
  timeout: 60_000,
  expect: { timeout: 15_000 },
  reporter: 'list',
  projects: Object.entries(skippedTags)
    .filter(([name]) => drivers.includes(name))
    .map(([name, grepInvert]) => ({
      name,
      grepInvert,
      ...(name === 'stand-in' && onlyStandIn),
      use: { driver: name === 'stand-in' ? 'stand-in' : name === 'electron' ? 'electron' : 'electron-33' },
    })),
});
