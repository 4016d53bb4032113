import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * Folder of the panel relative to this module: beside a built program, whose modules are at its top or one folder below, or in
 * `dist` for a run from sources.
 */
const places = ['../renderer/', '../../renderer/', '../../dist/renderer/'];

/** Finds the built panel; null when it was not built. The sources also contain an index.html, but no assets. */
export function findPanel(program: string = import.meta.url): string | null {
  const folders = places.map(place => fileURLToPath(new URL(place, program)));
  const isBuilt = (folder: string): boolean =>
    existsSync(`${folder}index.html`) && existsSync(`${folder}assets`);
  return folders.find(isBuilt) ?? null;
}
