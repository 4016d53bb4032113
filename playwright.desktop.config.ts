import { defineConfig } from '@playwright/test';

export type DriverName = 'electron' | 'electron-33' | 'stand-in';
export interface DriverOptions {
  readonly driver: DriverName;
}

/** The tags that each driver skips. A spec names the drivers that it needs (docs/adr/0017, CONTRIBUTING.md). */
const cannot: Readonly<Record<DriverName, RegExp>> = {
  electron: /@stand-in|@package/,
  // SQLite's binary is for a later Node than the one in it: it shows orchestrators that run beside it.
  'electron-33': /@stand-in|@embedded/,
  'stand-in': /@real|@package/,
};

const drivers = (process.env['TRAINYARD_DESKTOP_DRIVERS'] ?? 'stand-in').split(',');

const isAll = process.env['TRAINYARD_ALL_SPECS'] === '1';

/** The specs of `npm test`: what may reach the app, and where its links lead. The others need minutes. */
const core = /\/(?:links|security)\.spec\.ts$/;

/** With a real Electron, `npm test` runs each test on one driver. */
const onlyStandIn = !isAll && drivers.some(name => name !== 'stand-in') ? { grep: /@stand-in/ } : {};

export default defineConfig<DriverOptions>({
  testDir: 'tests/desktop',
  testMatch: isAll ? /\.spec\.ts$/ : core,
  outputDir: 'test-results/desktop',
  workers: 2,
  timeout: 60_000,
  expect: { timeout: 15_000 },
  reporter: 'list',
  projects: Object.entries(cannot)
    .filter(([name]) => drivers.includes(name))
    .map(([name, grepInvert]) => ({
      name,
      grepInvert,
      ...(name === 'stand-in' && onlyStandIn),
      use: { driver: name === 'stand-in' ? 'stand-in' : name === 'electron' ? 'electron' : 'electron-33' },
    })),
});
