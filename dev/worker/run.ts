/** `npm run build:worker`: the worker as one file, and as a single executable for Linux x64. */
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildWorker } from './build.ts';

const root = resolve(fileURLToPath(new URL('../../', import.meta.url)));
const startedAt = performance.now();
const { bundle, executable, bytes } = await buildWorker(root, join(root, 'dist/agent'));
const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
process.stdout.write(
  executable === null || bytes === null
    ? `${bundle}, in ${seconds} s. There is no executable for Linux x64: npm installs the required Node only on that platform\n`
    : `${executable}, ${(bytes / 1e6).toFixed(0)} MB, in ${seconds} s\n`,
);
