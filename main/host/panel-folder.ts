import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Beside the program when that is built, in `dist` when it runs from its sources. */
const places = ['../renderer/', '../../dist/renderer/'];

/** Where the panel was built; null when it was not. */
export function findPanel(): string | null {
  const folders = places.map(place => fileURLToPath(new URL(place, import.meta.url)));
  return folders.find(folder => existsSync(`${folder}index.html`)) ?? null;
}
