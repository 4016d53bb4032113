import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Beside the program when that is built, whose parts lie at its top or one folder below; in `dist` when it runs from its sources. */
const places = ['../renderer/', '../../renderer/', '../../dist/renderer/'];

/** Where the panel was built; null when it was not. Its sources have a page, too, and nothing to load for it. */
export function findPanel(program: string = import.meta.url): string | null {
  const folders = places.map(place => fileURLToPath(new URL(place, program)));
  const isBuilt = (folder: string): boolean =>
    existsSync(`${folder}index.html`) && existsSync(`${folder}assets`);
  return folders.find(isBuilt) ?? null;
}
