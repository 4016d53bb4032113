import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import type { Plant } from './plants.ts';

const urlOf = (path: string): string => new URL(`../../../${path}`, import.meta.url).href;

const lifecycle = urlOf('main/orchestrator/rules/job-lifecycle.ts');
const observedLifecycle = new URL('observed-lifecycle.ts', import.meta.url).href;

/**
 * Makes Node load the product's modules with changes: `job-lifecycle` publishes each of its steps, and the planted bug is added,
 * if one is given. Call this before importing any of these modules. Throws when the text that the planted bug replaces does not
 * occur exactly once.
 */
export function install(plant: Plant | null): void {
  const planted = plant === null ? new Map<string, string>() : sourcesWith(plant);
  registerHooks({
    resolve(specifier, context, next) {
      const resolved = next(specifier, context);
      return resolved.url === lifecycle && context.parentURL !== observedLifecycle
        ? { ...resolved, url: observedLifecycle }
        : resolved;
    },
    load(url, context, next) {
      const source = planted.get(url);
      return source === undefined
        ? next(url, context)
        : { format: 'module-typescript', source, shortCircuit: true };
    },
  });
}

/** @internal Returns the changed source of each module that a planted bug changes, by the URL of the module. */
export function sourcesWith({ name, changes }: Plant): ReadonlyMap<string, string> {
  const sources = new Map<string, string>();
  for (const { file, text, instead } of changes) {
    const url = urlOf(file);
    const before = sources.get(url) ?? readFileSync(new URL(url), 'utf8');
    const occurrences = before.split(text).length - 1;
    if (occurrences !== 1)
      throw new Error(
        `the plant "${name}" looks for this in ${file}, and finds it ${occurrences} times:\n${text}`,
      );
    sources.set(
      url,
      before.replace(text, () => instead),
    );
  }
  return sources;
}
