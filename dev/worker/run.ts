/**
 * `npm run build:worker`: builds the worker as one file, and as a single executable for this machine. With `--all-platforms`,
 * builds the executables for all platforms, and prints their hashes.
 */
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildWorker } from './build.ts';
import { targets } from './pins.ts';

const root = resolve(fileURLToPath(new URL('../../', import.meta.url)));
const startedAt = performance.now();
const isForAll = process.argv.includes('--all-platforms');
const built = await buildWorker({
  root,
  folder: join(root, 'dist/agent'),
  ...(isForAll && { targets }),
});
const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
const lines = built.executables.map(
  ({ path, bytes, sha256 }) =>
    `${path}, ${(bytes / 1e6).toFixed(0)} MB${isForAll ? `, SHA-256 ${sha256}` : ''}\n`,
);
process.stdout.write(
  lines.length === 0
    ? `${built.bundle}. There is no executable for ${process.platform} ${process.arch}\n`
    : lines.join(''),
);
process.stdout.write(`Built in ${seconds} s\n`);
