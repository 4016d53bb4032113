import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** Cache folder outside of the checkout, which other downloads of the tests also use. */
const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'trainyard-tests');

/**
 * Returns a folder with the packages of the `package-lock.json` beside this file. Downloads missing packages. When the download
 * fails, prints the reason and returns null.
 */
export function fetchPackages(print: (line: string) => void): string | null {
  const lock = readFileSync(join(import.meta.dirname, 'package-lock.json'));
  const folder = join(cache, `peers-${createHash('sha256').update(lock).digest('hex').slice(0, 16)}`);
  if (existsSync(folder)) return folder;
  mkdirSync(cache, { recursive: true });
  const downloadFolder = mkdtempSync(join(cache, 'fetch-'));
  try {
    print('Downloading BullMQ, graphile-worker and plainjob from the npm registry…');
    for (const name of ['package.json', 'package-lock.json'])
      copyFileSync(join(import.meta.dirname, name), join(downloadFolder, name));
    const { status, stderr, error } = spawnSync(
      'npm',
      ['ci', '--ignore-scripts', '--no-audit', '--no-fund'],
      {
        cwd: downloadFolder,
        encoding: 'utf8',
      },
    );
    if (status === 0) {
      renameSync(downloadFolder, folder);
      return folder;
    }
    const cause = error?.message ?? stderr.split('\n').find(line => line.startsWith('npm error')) ?? '';
    print(`Skipped the other queues: npm could not download them (${cause}).`);
    return null;
  } finally {
    rmSync(downloadFolder, { recursive: true, force: true });
  }
}

/**
 * Returns the exports of a package as unknown. This checkout does not contain the types of the package, so the caller declares
 * the part that it uses.
 */
export const loadPackage = (folder: string, name: string): unknown =>
  createRequire(join(folder, 'package.json'))(name);
