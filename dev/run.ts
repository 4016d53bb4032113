/** `npm run dev`: a server, a demo fleet, and the panel with hot reload. See CONTRIBUTING.md. */
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { develop } from './develop.ts';
import { readOptions, usage } from './options.ts';
import { createPrefixedOutputs } from './program.ts';

const root = resolve(fileURLToPath(new URL('../', import.meta.url)));
const read = readOptions(process.argv.slice(2), root);

if (read.kind === 'options') {
  const isColourful = process.stdout.isTTY && (process.env['NO_COLOR'] ?? '') === '';
  const outputOf = createPrefixedOutputs(text => void process.stdout.write(text), isColourful);
  const controller = new AbortController();
  const stop = (): void => {
    // The child processes exit with this program.
    if (controller.signal.aborted) process.exit(1);
    controller.abort();
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
  process.exitCode = await develop(read.options, {
    root,
    env: process.env,
    outputOf,
    stopSignal: controller.signal,
  });
} else if (read.kind === 'help') {
  process.stdout.write(usage);
} else {
  process.stderr.write(`${read.text}\n`);
  process.exitCode = 2;
}
