/** The app updates itself: an AppImage replaces itself with the next version from a feed on this machine. */
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { extractFile } from '@electron/asar';
import { expect } from '@playwright/test';
import { createAppImageTools, missingForInstallers } from '../support/desktop/appimage-tools.ts';
import { test } from '../support/desktop/driver.ts';
import { electron33 } from '../support/desktop/electron-33.ts';
import { startPackaged } from '../support/desktop/packaged.ts';
import { openUpdateFeed, type UpdateFeed } from '../support/desktop/update-feed.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
const nextVersion = '99.0.0';
let folder = '';
let feed: UpdateFeed;

const appImageName = (appVersion: string): string => `trainyard-${appVersion}-x86_64.AppImage`;

/** Builds the AppImage of a version, and its description for the update feed. */
function buildAppImage(appVersion: string, output: string): void {
  const settings = {
    electronDist: process.env['TRAINYARD_ELECTRON_33_DIST'] ?? '',
    electronVersion: electron33,
    compression: 'store',
    'directories.output': output,
    'extraMetadata.version': appVersion,
    'releaseInfo.releaseNotes': 'Uploads resume after a <b>restart</b>.',
    'publish.provider': 'generic',
    'publish.url': feed.url,
    'publish.useMultipleRangeRequest': false,
  };
  const args = Object.entries(settings).map(([name, value]) => `-c.${name}=${value}`);
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(root, 'dev/dist/run.ts'), '--built', '--linux', 'AppImage', '--x64', '--publish', 'never', ...args],
    {
      cwd: root,
      env: { ...process.env, APPIMAGE_TOOLS_PATH: createAppImageTools(mkdtempSync(join(folder, 'tools-'))) },
      encoding: 'utf8',
    },
  );
  if (status !== 0) throw new Error(stdout + stderr);
}

interface Running {
  readonly pid: number;
  readonly version: string;
}

/** Returns the main process that runs from this AppImage, and the version of its files; null when none runs. */
function findRunning(appImage: string): Running | null {
  for (const pid of readdirSync('/proc').filter(name => /^\d+$/.test(name))) {
    try {
      const variables = readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0');
      const [command = '', firstArgument = ''] = readFileSync(`/proc/${pid}/cmdline`, 'latin1').split('\0');
      const appDir = variables.find(text => text.startsWith('APPDIR='))?.slice('APPDIR='.length);
      const isMain =
        appDir !== undefined && command.startsWith(appDir) && !firstArgument.startsWith('--type');
      if (!isMain || !variables.includes(`APPIMAGE=${appImage}`)) continue;
      const packageJson = extractFile(join(appDir, 'resources/app.asar'), 'package.json').toString();
      return { pid: Number(pid), ...(JSON.parse(packageJson) as { readonly version: string }) };
    } catch {
      // The process has ended, or its files are not unpacked yet.
    }
  }
  return null;
}

test.describe('an update of the app', { tag: '@package' }, () => {
  const missing = missingForInstallers();
  test.skip(missing !== null, `The AppImages were not built: ${missing}`);

  test.beforeAll(async () => {
    // Building two AppImages of 400 MB takes minutes.
    test.setTimeout(900_000);
    folder = mkdtempSync(join(tmpdir(), 'trainyard-update-'));
    feed = await openUpdateFeed(join(folder, 'next'));
    buildAppImage(version, join(folder, 'current'));
    buildAppImage(nextVersion, join(folder, 'next'));
  });
  test.afterAll(() => {
    feed.close();
    // The updated app may still be writing to its folder when it ends.
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  });

  test('refuses a downgrade and a wrong hash, then downloads only the differences and restarts as the new version', async ({
    orchestrator,
  }) => {
    test.setTimeout(300_000);
    const appImage = join(folder, 'app', 'Trainyard.AppImage');
    const home = join(folder, 'home');
    mkdirSync(join(folder, 'app'));
    mkdirSync(home);
    copyFileSync(join(folder, 'current', appImageName(version)), appImage);
    // The new version starts without arguments, so it looks for its data in the usual folder.
    symlinkSync(orchestrator.dataDir, join(home, 'trainyard'));
    const app = await startPackaged(appImage, orchestrator.dataDir, [
      'env',
      `HOME=${home}`,
      `XDG_DATA_HOME=${home}`,
      `XDG_CONFIG_HOME=${home}`,
      `XDG_CACHE_HOME=${join(home, 'cache')}`,
      `TMPDIR=${home}`,
      // Root cannot use Chromium's sandbox.
      ...(process.getuid?.() === 0 ? ['ELECTRON_DISABLE_SANDBOX=1'] : []),
    ]);
    const { page } = app;
    await expect(page.getByText('Live')).toBeVisible();
    await page.goto(`${orchestrator.url}/settings/general`);
    const card = page.getByRole('region', { name: 'Updates' });
    const clickButton = (name: string) => card.getByRole('button', { name }).click();

    feed.change(null);
    await clickButton('Check for updates');
    await expect(card.getByRole('alert')).toContainText('The update feed cannot be reached');

    feed.change(text => text.replaceAll(nextVersion, '0.0.1'));
    await clickButton('Try again');
    await expect(card).toContainText(`Trainyard ${version} is the newest version`);

    feed.change(text =>
      text.replace(/^sha512: ..../m, 'sha512: AAAA').replace(/^( +)sha512: ..../m, '$1sha512: AAAA'),
    );
    await clickButton('Check for updates');
    await expect(card).toContainText(`Trainyard ${nextVersion} is available. This is version ${version}.`);
    await clickButton('Download');
    await expect(card.getByRole('alert')).toContainText('does not match its hash', { timeout: 60_000 });
    expect(readFileSync(appImage).equals(readFileSync(join(folder, 'current', appImageName(version))))).toBe(
      true,
    );

    feed.change(text => text);
    const bytesBefore = feed.bytesSent();
    await clickButton('Try again');
    await card.getByText('What is new').click();
    // The page shows HTML tags in the release notes as text.
    await expect(card).toContainText('Uploads resume after a <b>restart</b>.');
    await clickButton('Download');
    await expect(card).toContainText(`Trainyard ${nextVersion} is ready to install.`, { timeout: 60_000 });
    const { size } = statSync(join(folder, 'next', appImageName(nextVersion)));
    expect(feed.bytesSent() - bytesBefore).toBeLessThan(size / 4);

    await clickButton('Install and restart');
    await expect.poll(() => findRunning(appImage)?.version, { timeout: 60_000 }).toBe(nextVersion);
    expect(await app.exited).toBe(0);
    expect(readFileSync(appImage).equals(readFileSync(join(folder, 'next', appImageName(nextVersion))))).toBe(
      true,
    );
    const running = findRunning(appImage);
    if (running !== null) process.kill(running.pid, 'SIGTERM');
    await expect.poll(() => findRunning(appImage), { timeout: 30_000 }).toBeNull();
  });
});
