/** Keeps the code that the panel always loads in one script. */
import { join } from 'node:path';

interface Modules {
  getModuleInfo(id: string): { readonly importedIds: readonly string[] } | null;
}

const main = join(import.meta.dirname, '../renderer/main.tsx');

/** Returns all modules that load with a module, itself included. */
function loadedWith(id: string, modules: Modules, modulesSoFar = new Set<string>()): ReadonlySet<string> {
  if (modulesSoFar.has(id)) return modulesSoFar;
  modulesSoFar.add(id);
  for (const imported of modules.getModuleInfo(id)?.importedIds ?? [])
    loadedWith(imported, modules, modulesSoFar);
  return modulesSoFar;
}

/**
 * Returns a chunk of all modules that load with the panel's main module. The panel has several entries, and by default the
 * bundler then splits these modules into many small scripts, which together are 4 % larger when compressed.
 */
export function createFirstChunk() {
  let first: ReadonlySet<string> | undefined;
  return {
    debugName: 'first',
    name(id: string, modules: Modules): string | null {
      first ??= loadedWith(main, modules);
      return id !== main && first.has(id) ? 'first' : null;
    },
  };
}
