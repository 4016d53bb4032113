import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { en } from '../../../../renderer/i18n/en/index.ts';
import { firstPage } from '../../../../renderer/i18n/en/first-page.ts';

const renderer = fileURLToPath(new URL('../../../../renderer/', import.meta.url));

/** Returns the sources of a module and of everything it imports, except catalogs, by path. */
function sourcesOf(entry: string, sources = new Map<string, string>()): ReadonlyMap<string, string> {
  if (sources.has(entry)) return sources;
  const source = readFileSync(entry, 'utf8');
  sources.set(entry, source);
  for (const [, path = ''] of source.matchAll(/^(?:import|export) (?!type)[^;]*?'(\.[^']+\.tsx?)'/gm)) {
    const imported = join(dirname(entry), path);
    if (imported.startsWith(renderer) && !imported.includes('/i18n/')) sourcesOf(imported, sources);
  }
  return sources;
}

/** Returns the message keys that a source uses, including keys composed of a prefix and a value. */
function keysIn(source: string): readonly string[] {
  const prefixes = [...source.matchAll(/`([a-zA-Z]+\.(?:[a-zA-Z]+\.)*)\$\{/g)].map(
    ([, prefix = '']) => prefix,
  );
  return Object.keys(en).filter(
    key => source.includes(`'${key}'`) || prefixes.some(prefix => key.startsWith(prefix)),
  );
}

test.each(['main.tsx', 'pages/overview/index.tsx', 'pages/overview/fleet/index.tsx'])(
  'loads all texts of the modules that %s imports with the first page',
  entry => {
    const missing = [...sourcesOf(join(renderer, entry))].flatMap(([path, source]) =>
      keysIn(source)
        .filter(key => !Object.hasOwn(firstPage, key))
        .map(key => `${path}: ${key}`),
    );
    expect(missing).toEqual([]);
  },
);
