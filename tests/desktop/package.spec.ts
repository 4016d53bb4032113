/** The packaged app: files, fuses and start. These tests use Electron 33 from the npm registry. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { extractFile, listPackage } from '@electron/asar';
import { FuseV1Options, getCurrentFuseWire } from '@electron/fuses';
import { expect } from '@playwright/test';
import { test } from '../support/desktop/driver.ts';
import { electron33 } from '../support/desktop/electron-33.ts';
import { startPackaged } from '../support/desktop/packaged.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
let folder = '';
/** Returns the path of a file of the packaged app. */
const packaged = (...path: readonly string[]): string => join(folder, 'linux-unpacked', ...path);
const program = (): string => packaged('trainyard');
/** Returns the path of a file that the package contains outside of the archive. */
const unpacked = (path: string): string => packaged('resources/app.asar.unpacked', path);

/** Patterns of the paths that the archive may contain. */
const allowedPaths = [
  /^\/package\.json$/,
  /^\/dist\/main\/desktop[\w.-]*\.js$/,
  /^\/dist\/main\/icons\/[\w@]+\.png$/,
  /^\/dist\/preload\/preload\.cjs$/,
  /^\/dist\/agent\/trainyard-worker[\w.-]*$/,
  // The orchestrator of the app also serves the panel to browsers and phones, which can install it.
  /^\/dist\/renderer\/(?:(?:index|unreachable)\.html|manifest\.webmanifest|service-worker\.js)$/,
  /^\/dist\/renderer\/(?:icons|assets)\/[\w.-]+$/,
  /^\/node_modules\/better-sqlite3\/(?:package\.json|lib\/[\w./-]+\.js|prebuilds\/linux-x64\.node)$/,
];

test.describe('the package', { tag: '@package' }, () => {
  test.beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'trainyard-package-'));
    const settings = {
      electronDist: process.env['TRAINYARD_ELECTRON_33_DIST'] ?? '',
      electronVersion: electron33,
      'directories.output': folder,
    };
    const args = Object.entries(settings).map(([name, value]) => `-c.${name}=${value}`);
    const builder = join(root, 'node_modules/.bin/electron-builder');
    const { status, stderr } = spawnSync(builder, ['--linux', 'dir', '--x64', ...args], {
      cwd: root,
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(stderr);
  });
  test.afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test('packages only the files that the app needs at run time', () => {
    const archive = packaged('resources/app.asar');
    const files = listPackage(archive, { isPack: false }).filter(isFile);
    expect(files.filter(file => !allowedPaths.some(allowed => allowed.test(file)))).toEqual([]);
    // The package contains no sources, source maps, tests or documents.
    expect(files.filter(file => /\.tsx?$|\.map$|\btests?\b|\.spec\.|\.md$/.test(file))).toEqual([]);
    for (const requiredFile of [
      '/dist/main/desktop.js',
      '/dist/main/desktop-compose.js',
      '/dist/preload/preload.cjs',
      '/dist/renderer/index.html',
    ])
      expect(files).toContain(requiredFile);
    const packageJson = JSON.parse(extractFile(archive, 'package.json').toString()) as object;
    expect(packageJson).toMatchObject({ main: 'dist/main/desktop.js' });
    expect(packageJson).not.toHaveProperty('devDependencies');
    expect(packageJson).not.toHaveProperty('scripts');
  });

  test('imports only Electron and better-sqlite3 as packages, because the bundles contain all other packages', () => {
    const archive = packaged('resources/app.asar');
    const imported = new Set<string>();
    for (const name of ['desktop.js', 'desktop-compose.js', 'desktop-tls.js']) {
      const text = extractFile(archive, `dist/main/${name}`).toString();
      // Matches imports whose source does not start with a dot.
      for (const [, source = ''] of text.matchAll(/^import .*? from "([^".][^"]*)";$/gm))
        imported.add(source);
    }
    const packages = [...imported].filter(
      source => !source.startsWith('node:') && !builtinModules.has(source),
    );
    expect(packages.toSorted()).toEqual(['better-sqlite3', 'electron']);
  });

  test('unpacks the files that the operating system must open directly', () => {
    const binary = unpacked('node_modules/better-sqlite3/prebuilds/linux-x64.node');
    expect(readFileSync(binary).subarray(0, 4).toString('latin1')).toBe('\x7fELF');
    expect(existsSync(unpacked('dist/agent/trainyard-worker.mjs'))).toBe(true);
    const executableBits = 0o111;
    expect(statSync(program()).mode & executableBits).not.toBe(0);
    expect(existsSync(packaged('resources/app'))).toBe(false);
  });

  test('packages a sample training that the bundled worker can run', () => {
    const configFile = join(folder, 'config.json');
    const config = { epochs: 1, learning_rate: 0.1, final_learning_rate: 0.01, batch_size: 256, hidden: 8 };
    writeFileSync(configFile, JSON.stringify(config));
    const worker = unpacked('dist/agent/trainyard-worker-linux-x64');
    const trainer = unpacked('dist/examples/digits/train.mjs');
    const { status, stdout, stderr } = spawnSync(
      worker,
      ['sample', trainer, '--config', configFile, '--output', join(folder, 'out')],
      // With an empty PATH, the worker must use its bundled Node.
      { cwd: folder, env: { PATH: '/nowhere' }, encoding: 'utf8', timeout: 60_000 },
    );
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toMatch(/test accuracy \d\d\.\d\d %/);
  });

  test("sets Electron's fuses, so that the app cannot run other code", async () => {
    const wire = await getCurrentFuseWire(program());
    // A fuse is the character 0 or 1 in the binary.
    const [off, on] = ['0', '1'].map(digit => digit.charCodeAt(0));
    expect({
      runAsNode: wire[FuseV1Options.RunAsNode],
      nodeOptions: wire[FuseV1Options.EnableNodeOptionsEnvironmentVariable],
      inspectArguments: wire[FuseV1Options.EnableNodeCliInspectArguments],
      onlyAsar: wire[FuseV1Options.OnlyLoadAppFromAsar],
      cookieEncryption: wire[FuseV1Options.EnableCookieEncryption],
      fileProtocolPrivileges: wire[FuseV1Options.GrantFileProtocolExtraPrivileges],
    }).toEqual({
      runAsNode: off,
      nodeOptions: off,
      inspectArguments: off,
      onlyAsar: on,
      cookieEncryption: on,
      fileProtocolPrivileges: off,
    });
    // An attacker who can set this variable could otherwise run any script with the app's rights.
    const asNode = spawnSync(program(), ['-e', 'console.log("runs as Node")'], {
      env: { ...process.env, DISPLAY: ':none', ELECTRON_RUN_AS_NODE: '1' },
      encoding: 'utf8',
      timeout: 20_000,
    });
    expect(asNode.stdout).not.toContain('runs as Node');
  });

  test('starts from the package, and shows the orchestrator of its data folder', async ({ orchestrator }) => {
    const running = await startPackaged(program(), orchestrator.dataDir);
    try {
      await expect(running.page.getByText('Live')).toBeVisible();
      expect(new URL(running.page.url()).origin).toBe(orchestrator.url);
      expect(await running.page.evaluate('desktop.view()')).toMatchObject({
        ok: true,
        view: { open_at_login: false },
      });
    } finally {
      expect(await running.stop()).toBe(0);
    }
  });
});

const builtinModules = new Set(process.getBuiltinModule('node:module').builtinModules);
/** Tells files from folders in the list of an archive. Only the worker programs have no file extension. */
const isFile = (path: string): boolean => /\.\w+$|trainyard-worker[^/]*$/.test(path);
