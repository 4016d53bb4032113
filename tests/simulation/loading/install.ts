import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import type { Plant } from './plants.ts';

const urlOf = (path: string): string => new URL(`../../../${path}`, import.meta.url).href;

const lifecycle = urlOf('main/orchestrator/job-lifecycle.ts');
const observed = new URL('observed-lifecycle.ts', import.meta.url).href;

/**
 * From here on the product's modules are loaded with these changes: `job-lifecycle` tells of each of its steps, and a
 * planted bug, if any, is in its place. To be called before any of them is imported. Throws when the text that a plant
 * replaces is not there, exactly once.
 */
export function install(plant: Plant | null): void {
  const planted = plant === null ? new Map<string, string>() : sourcesWith(plant);
  registerHooks({
    resolve(specifier, context, next) {
      const found = next(specifier, context);
      return found.url === lifecycle && context.parentURL !== observed ? { ...found, url: observed } : found;
    },
    load(url, context, next) {
      const source = planted.get(url);
      return source === undefined
        ? next(url, context)
        : { format: 'module-typescript', source, shortCircuit: true };
    },
  });
}

/** @internal The modules that a plant changes, by their URL, as they are with it. */
export function sourcesWith({ name, changes }: Plant): ReadonlyMap<string, string> {
  const sources = new Map<string, string>();
  for (const { file, text, instead } of changes) {
    const url = urlOf(file);
    const before = sources.get(url) ?? readFileSync(new URL(url), 'utf8');
    const found = before.split(text).length - 1;
    if (found !== 1)
      throw new Error(`the plant "${name}" looks for this in ${file}, and finds it ${found} times:\n${text}`);
    sources.set(
      url,
      before.replace(text, () => instead),
    );
  }
  return sources;
}
