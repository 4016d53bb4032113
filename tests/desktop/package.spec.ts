/** The packaged app: its files, its fuses and its start. These tests use the Electron from the npm registry. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { extractFile, listPackage } from '@electron/asar';
import { FuseV1Options, getCurrentFuseWire } from '@electron/fuses';
import { chromium, expect } from '@playwright/test';
import { test } from '../support/desktop/driver.ts';
import { electron33 } from '../support/desktop/electron-33.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
let folder = '';
const unpacked = (...path: readonly string[]): string => join(folder, 'linux-unpacked', ...path);
const program = (): string => unpacked('trainyard');

test.describe('the package', { tag: '@package' }, () => {
  test.beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'trainyard-package-'));
    const settings = {
      electronDist: process.env['TRAINYARD_ELECTRON_33_DIST'] ?? '',
      electronVersion: electron33,
      'directories.output': folder,
    };
    const given = Object.entries(settings).map(([name, value]) => `-c.${name}=${value}`);
    const builder = join(root, 'node_modules/.bin/electron-builder');
    const { status, stderr } = spawnSync(builder, ['--linux', 'dir', '--x64', ...given], {
      cwd: root,
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(stderr);
  });
  test.afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test('contains the files that run, and nothing else', () => {
    const archive = unpacked('resources/app.asar');
    const files = listPackage(archive, { isPack: false }).filter(isFile);
    const allowed =
      /^\/(?:package\.json|dist\/(?:main\/(?:desktop[\w.-]*\.js|icons\/[\w@]+\.png)|preload\/preload\.cjs|agent\/trainyard-worker[\w.-]*|renderer\/(?:index\.html|assets\/[\w.-]+))|node_modules\/better-sqlite3\/(?:package\.json|lib\/[\w./-]+\.js|prebuilds\/linux-x64\.node))$/;
    expect(files.filter(file => !allowed.test(file))).toEqual([]);
    // The package contains no sources, tests or source maps.
    expect(files.filter(file => /\.tsx?$|\.map$|\btests?\b|\.spec\.|\.md$/.test(file))).toEqual([]);
    for (const needed of [
      '/dist/main/desktop.js',
      '/dist/main/desktop-compose.js',
      '/dist/preload/preload.cjs',
      '/dist/renderer/index.html',
    ])
      expect(files).toContain(needed);
    const described = JSON.parse(extractFile(archive, 'package.json').toString()) as Record<string, unknown>;
    expect(described).toMatchObject({ main: 'dist/main/desktop.js' });
    expect(described).not.toHaveProperty('devDependencies');
    expect(described).not.toHaveProperty('scripts');
    // All other packages that the product imports must be part of the bundles.
    const imported = ['desktop.js', 'desktop-compose.js', 'desktop-tls.js'].flatMap(name =>
      [
        ...extractFile(archive, `dist/main/${name}`)
          .toString()
          .matchAll(/^import .*? from "([^".][^"]*)";$/gm),
      ].map(([, source = '']) => source),
    );
    const ours = imported.filter(source => !source.startsWith('node:') && !builtin.has(source));
    expect(new Set(ours)).toEqual(new Set(['electron', 'better-sqlite3']));
  });

  test('unpacks the files that the operating system must open directly', () => {
    const beside = unpacked('resources/app.asar.unpacked');
    const binary = join(beside, 'node_modules/better-sqlite3/prebuilds/linux-x64.node');
    expect(readFileSync(binary).subarray(0, 4).toString('latin1')).toBe('\x7fELF');
    expect(existsSync(join(beside, 'dist/agent/trainyard-worker.mjs'))).toBe(true);
    expect(statSync(program()).mode & 0o111).not.toBe(0);
    expect(existsSync(unpacked('resources/app'))).toBe(false);
  });

  test('contains the sample training, which the bundled worker runs', () => {
    const beside = unpacked('resources/app.asar.unpacked');
    const config = join(folder, 'config.json');
    writeFileSync(
      config,
      JSON.stringify({
        epochs: 1,
        learning_rate: 0.1,
        final_learning_rate: 0.01,
        batch_size: 256,
        hidden: 8,
      }),
    );
    const { status, stdout, stderr } = spawnSync(
      join(beside, 'dist/agent/trainyard-worker-linux-x64'),
      [
        'sample',
        join(beside, 'dist/examples/digits/train.mjs'),
        '--config',
        config,
        '--output',
        join(folder, 'out'),
      ],
      { cwd: folder, env: { PATH: '/nowhere' }, encoding: 'utf8', timeout: 60_000 },
    );
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toMatch(/test accuracy \d\d\.\d\d %/);
  });

  test("sets Electron's fuses, so that the app cannot run other code", async () => {
    const wire = await getCurrentFuseWire(program());
    // Each fuse is one digit in the binary.
    const [off, on] = ['0', '1'].map(digit => digit.charCodeAt(0));
    expect({
      node: wire[FuseV1Options.RunAsNode],
      options: wire[FuseV1Options.EnableNodeOptionsEnvironmentVariable],
      inspect: wire[FuseV1Options.EnableNodeCliInspectArguments],
      asar: wire[FuseV1Options.OnlyLoadAppFromAsar],
      cookies: wire[FuseV1Options.EnableCookieEncryption],
      files: wire[FuseV1Options.GrantFileProtocolExtraPrivileges],
    }).toEqual({ node: off, options: off, inspect: off, asar: on, cookies: on, files: off });
    // Running the app as plain Node is the first thing that an attacker would try.
    const played = spawnSync(program(), ['-e', 'console.log("it plays Node")'], {
      env: { ...process.env, DISPLAY: ':none', ELECTRON_RUN_AS_NODE: '1' },
      encoding: 'utf8',
      timeout: 20_000,
    });
    expect(played.stdout).not.toContain('it plays Node');
  });

  test('starts from the package, and shows the orchestrator of its data folder', async ({ beside }) => {
    const args = ['--data-dir', beside.dataDir, '--remote-debugging-port=0'];
    const asRoot = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
    const child = spawn(program(), [...args, ...asRoot], { stdio: ['ignore', 'ignore', 'pipe'] });
    try {
      const browser = await chromium.connectOverCDP(await addressOf(child));
      const context = browser.contexts()[0]!;
      const page = context.pages()[0] ?? (await context.waitForEvent('page'));
      await expect(page.getByText('Live')).toBeVisible();
      expect(new URL(page.url()).origin).toBe(beside.url);
      expect(await page.evaluate('desktop.view()')).toMatchObject({
        ok: true,
        view: { open_at_login: false },
      });
    } finally {
      child.kill('SIGTERM');
    }
    expect(await new Promise(resolve => child.once('exit', resolve))).toBe(0);
  });
});

const builtin = new Set(process.getBuiltinModule('node:module').builtinModules);
const isFile = (path: string): boolean => /\.\w+$|trainyard-worker[^/]*$/.test(path);

/** Resolves with the debugging address of its Chromium, which it prints on stderr. */
function addressOf(child: ChildProcess): Promise<string> {
  const { stderr } = child;
  if (stderr === null) throw new Error('a pipe was asked for and not given');
  return new Promise((resolve, reject) => {
    createInterface({ input: stderr }).on('line', line => {
      const [, address] = /DevTools listening on (\S+)/.exec(line) ?? [];
      if (address !== undefined) resolve(address);
    });
    child.once('exit', code => reject(new Error(`the app has ended with ${code}`)));
  });
}
