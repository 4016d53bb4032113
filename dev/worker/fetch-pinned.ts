import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Pin } from './pins.ts';

const run = promisify(execFile);

/** Returns the integrity of an archive in the format of package-lock.json. */
export const integrityOf = (archive: Buffer): string =>
  `sha512-${createHash('sha512').update(archive).digest('base64')}`;

/**
 * Returns the path of the pinned file in the checkout `root`. Prefers the package that `npm ci` has installed, then a cache, and
 * otherwise downloads the package with npm into the cache. Rejects when the archive has another hash than the pin.
 */
export async function fetchPinned(pin: Pin, root: string): Promise<string> {
  const installed = await findInstalled(pin, join(root, 'node_modules', pin.name));
  if (installed !== null) return installed;
  const cache = join(root, 'node_modules/.cache/pinned');
  const folder = join(cache, `${pin.name.replace('/', '+')}-${pin.version}`);
  const file = join(folder, pin.file);
  if (existsSync(file)) return file;
  await mkdir(cache, { recursive: true });
  const draft = await mkdtemp(join(cache, '.draft-'));
  try {
    const spec = `${pin.name}@${pin.version}`;
    const args = ['pack', '--silent', '--pack-destination', draft, spec];
    // On Windows npm is a shell script. The arguments are constants of this repository and a path without user input.
    const { stdout } = await run('npm', args, { shell: process.platform === 'win32' });
    const archive = join(draft, stdout.trim().split(/\r?\n/).at(-1) ?? '');
    const found = integrityOf(await readFile(archive));
    if (found !== pin.integrity)
      throw new Error(
        `the registry's ${spec} has the hash ${found}, and dev/worker/pins.ts expects ${pin.integrity}`,
      );
    await run('tar', ['-xzf', archive, '-C', draft, pin.file]);
    await rm(archive);
    await rm(folder, { recursive: true, force: true });
    await rename(draft, folder);
    return file;
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

async function findInstalled({ version, file }: Pin, folder: string): Promise<string | null> {
  const path = join(folder, file.replace(/^package\//, ''));
  if (!existsSync(path)) return null;
  const manifest: unknown = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
  const isSame =
    typeof manifest === 'object' &&
    manifest !== null &&
    'version' in manifest &&
    manifest.version === version;
  return isSame ? path : null;
}
