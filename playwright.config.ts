import { defineConfig } from '@playwright/test';
import { findChromium } from './tests/support/browser.ts';

/** The path of the browser; null when this machine has none. */
export const chromium = await findChromium();

/** Specs that `npm test` runs: every page, and the most frequent tasks. `npm run test:all` runs all specs, in minutes. */
const core = /\/(?:budget|data|frame|keyboard|permissions|recovery|stream|versions|work|worker)\.spec\.ts$/;

export default defineConfig({
  testDir: 'tests/e2e',
  testMatch: process.env['TRAINYARD_ALL_SPECS'] === '1' ? /\.spec\.ts$/ : core,
  outputDir: 'test-results',
  workers: 4,
  timeout: 90_000,
  expect: { timeout: 15_000 },
  reporter: 'list',
  use: {
    viewport: { width: 1280, height: 800 },
    // Recording traces would take a third of each test's time. `--trace retain-on-failure` turns it on.
    trace: 'off',
    screenshot: 'only-on-failure',
    // Tests that replace replies would not see the requests of a service worker. Tests of the installed app allow it.
    serviceWorkers: 'block',
    launchOptions: {
      ...(chromium !== null && { executablePath: chromium }),
      args: [
        ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
        '--no-first-run',
        '--disable-quic',
      ],
    },
  },
});
