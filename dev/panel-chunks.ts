/** Keeps the code that the panel always loads in one script. */
import { join } from 'node:path';

interface Modules {
  getModuleInfo(id: string): { readonly importedIds: readonly string[] } | null;
}

const main = join(import.meta.dirname, '../renderer/main.tsx');

/** Returns the module and all modules that it imports, directly or indirectly. */
function loadedWith(id: string, modules: Modules, modulesSoFar = new Set<string>()): ReadonlySet<string> {
  if (modulesSoFar.has(id)) return modulesSoFar;
  modulesSoFar.add(id);
  for (const imported of modules.getModuleInfo(id)?.importedIds ?? [])
    loadedWith(imported, modules, modulesSoFar);
  return modulesSoFar;
}

/**
 * Returns the definition of a chunk with all modules that the panel's main module imports. By default, the bundler would split
 * these modules into many small scripts, because the panel has several entries. Together they are 4 % larger when compressed.
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
