/** The installers for Linux: build, installation, start and removal. They contain Electron 33 from the npm registry. */
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { extractFile } from '@electron/asar';
import { expect } from '@playwright/test';
import { isSignedBuild } from '../../main/desktop/build.ts';
import { createAppImageTools, missingForInstallers } from '../support/desktop/appimage-tools.ts';
import { test } from '../support/desktop/driver.ts';
import { electron33 } from '../support/desktop/electron-33.ts';
import { startPackaged } from '../support/desktop/packaged.ts';
import { openSystemCopy, type SystemCopy } from '../support/desktop/system-copy.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
let folder = '';
const artifact = (name: string): string => join(folder, 'out', name);
const deb = (): string => artifact(`trainyard-${version}-amd64.deb`);
const rpm = (): string => artifact(`trainyard-${version}-x86_64.rpm`);
const appImage = (): string => artifact(`trainyard-${version}-x86_64.AppImage`);

/** Matches files of package databases, logs and caches, which remain after a package is removed. */
const isBookkeeping = (path: string): boolean =>
  /^\/var\/(?:lib\/(?:dpkg|rpm)|log|cache)\/|^\/etc\/ld\.so\.cache$|\/(?:mimeinfo\.cache|icon-theme\.cache)$/.test(
    path,
  );

const desktopEntry = '/usr/share/applications/trainyard.desktop';

test.describe('the installers', { tag: '@package' }, () => {
  const missing = missingForInstallers();
  test.skip(missing !== null, `Installers were not built: ${missing}`);
  test.describe.configure({ mode: 'serial' });

  test.beforeAll(() => {
    // Compressing 400 MB takes most of this time.
    test.setTimeout(600_000);
    folder = mkdtempSync(join(tmpdir(), 'trainyard-installers-'));
    const settings = {
      electronDist: process.env['TRAINYARD_ELECTRON_33_DIST'] ?? '',
      electronVersion: electron33,
      compression: 'store',
      'deb.compression': 'gz',
      'rpm.compression': 'gzip',
      'directories.output': join(folder, 'out'),
    };
    const args = Object.entries(settings).map(([name, value]) => `-c.${name}=${value}`);
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [join(root, 'dev/dist/run.ts'), '--built', '--linux', '--x64', ...args],
      {
        cwd: root,
        env: { ...process.env, APPIMAGE_TOOLS_PATH: createAppImageTools(join(folder, 'tools')) },
        encoding: 'utf8',
      },
    );
    if (status !== 0) throw new Error(stdout + stderr);
  });
  test.afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const installers = {
    deb: { file: deb, install: ['dpkg', '--force-depends', '-i'], remove: ['dpkg', '--purge', 'trainyard'] },
    // Without `--nodeps`, rpm would not find the dependencies, which are Debian packages.
    rpm: { file: rpm, install: ['rpm', '-i', '--nodeps'], remove: ['rpm', '-e', 'trainyard'] },
  };
  for (const [kind, { file, install, remove }] of Object.entries(installers))
    test(`installs, starts and removes the ${kind} package, and leaves no files of the app`, async ({
      orchestrator,
    }) => {
      test.setTimeout(180_000);
      const system = await openSystemCopy();
      try {
        expect(runIn(system, [...install, file()])).toMatchObject({ status: 0 });
        expect(system.addedFiles()).toContain('/usr/bin/trainyard');
        checkInstallation(system);
        const app = await startPackaged('/usr/bin/trainyard', orchestrator.dataDir, system.prefix);
        try {
          await expect(app.page.getByText('Live')).toBeVisible();
        } finally {
          expect(await app.stop()).toBe(0);
        }
        expect(runIn(system, remove)).toMatchObject({ status: 0 });
        expect(system.addedFiles().filter(path => !isBookkeeping(path))).toEqual([]);
        // Removing the package must not delete the orchestrator's data.
        expect(readdirSync(orchestrator.dataDir)).not.toEqual([]);
      } finally {
        system.close();
      }
    });

  test('keeps the trainyard command after an upgrade of the rpm package', async () => {
    test.setTimeout(180_000);
    const system = await openSystemCopy();
    try {
      // rpm runs the removal script of the old version after the installation script of the new one.
      for (const option of ['-i', '-U'])
        expect(runIn(system, ['rpm', option, '--nodeps', '--replacepkgs', rpm()])).toMatchObject({
          status: 0,
        });
      expect(system.run('test', '-x', '/usr/bin/trainyard').status).toBe(0);
    } finally {
      system.close();
    }
  });

  test('creates valid hashes, provenance and manifests for the packages, and marks the build as unsigned', () => {
    const check = spawnSync('sha256sum', ['--check', '--strict', 'SHA256SUMS'], {
      cwd: artifact(''),
      encoding: 'utf8',
    });
    expect(check).toMatchObject({ status: 0, stderr: '' });
    const names = [deb(), rpm(), appImage()].map(path => basename(path));
    for (const name of [...names, 'sbom.cdx.json']) expect(check.stdout).toContain(`${name}: OK\n`);
    const provenance = JSON.parse(readFileSync(artifact('provenance.intoto.json'), 'utf8')) as {
      readonly subject: readonly { readonly name: string; readonly digest: { readonly sha256: string } }[];
    };
    expect(provenance.subject.map(({ name }) => name)).toEqual(expect.arrayContaining(names));
    const manifest = readFileSync(artifact('manifests/flathub/net.trainyard.app.yaml'), 'utf8');
    const debHash = provenance.subject.find(({ name }) => name.endsWith('.deb'))?.digest.sha256;
    expect(manifest).toContain(`sha256: ${debHash}\n`);
    const archive = artifact('linux-unpacked/resources/app.asar');
    expect(isSignedBuild(extractFile(archive, 'package.json').toString())).toBe(false);
    expect(extractFile(archive, 'package.json').toString()).toContain('"signed"');
  });

  test('starts the AppImage from any folder, leaves no temporary files, and updates the menu entry of the app', async ({
    orchestrator,
  }) => {
    test.setTimeout(120_000);
    const copy = join(folder, 'an app', 'Trainyard.AppImage');
    mkdirSync(join(folder, 'an app'), { recursive: true });
    mkdirSync(join(folder, 'unpacked'));
    copyFileSync(appImage(), copy);
    // An entry in the applications menu from an earlier version with another path.
    const entry = join(folder, 'data/applications/trainyard.desktop');
    mkdirSync(join(folder, 'data/applications'), { recursive: true });
    writeFileSync(entry, '[Desktop Entry]\nExec="/gone.AppImage" -- %u\nX-Trainyard-AppImage=true\n');
    const app = await startPackaged(copy, orchestrator.dataDir, [
      'env',
      `TMPDIR=${join(folder, 'unpacked')}`,
      `XDG_DATA_HOME=${join(folder, 'data')}`,
    ]);
    try {
      await expect(app.page.getByText('Live')).toBeVisible();
    } finally {
      expect(await app.stop()).toBe(0);
    }
    expect(readdirSync(join(folder, 'unpacked')).filter(name => name.startsWith('appimage'))).toEqual([]);
    expect(readdirSync(join(folder, 'an app'))).toEqual(['Trainyard.AppImage']);
    expect(readFileSync(entry, 'utf8')).toContain(`\nExec="${copy}" -- %u\n`);
    expect(spawnSync('desktop-file-validate', [entry], { encoding: 'utf8' })).toMatchObject({
      status: 0,
      stdout: '',
    });
    expect(existsSync(`${appImage()}.zsync`)).toBe(false);
  });
});

function runIn(
  system: SystemCopy,
  [program = '', ...args]: readonly string[],
): ReturnType<SystemCopy['run']> {
  return system.run(program, ...args);
}

/** Checks that desktops find the app, that the app handles its links, and that no file has more permissions than needed. */
function checkInstallation(system: SystemCopy): void {
  expect(system.run('desktop-file-validate', desktopEntry)).toEqual({ status: 0, output: '' });
  const entry = system.run('cat', desktopEntry).output;
  expect(entry).toContain('MimeType=x-scheme-handler/trainyard;');
  expect(entry).toMatch(/^Exec=\/opt\/Trainyard\/trainyard %U$/m);
  expect(entry).toMatch(/^Icon=trainyard$/m);
  expect(entry).toContain('Actions=new-job;jobs;workers;');
  expect(entry).toMatch(/^Exec=trainyard -- trainyard:\/\/open\/jobs$/m);
  for (const size of ['16x16', '48x48', '256x256', '512x512'])
    expect(system.run('test', '-s', `/usr/share/icons/hicolor/${size}/apps/trainyard.png`).status).toBe(0);
  // The kernel of the tests supports user namespaces, so no file needs the setuid bit.
  expect(system.run('find', '/opt/Trainyard', '-perm', '/6022', '-not', '-type', 'l').output).toBe('');
  expect(system.run('find', '/opt/Trainyard', '-not', '-user', 'root').output).toBe('');
  expect(system.run('stat', '-c', '%a', '/opt/Trainyard').output.trim()).toBe('755');
}
