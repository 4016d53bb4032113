import { dirname } from 'node:path';
import { at, type Finding, type SourceFile } from './source.ts';

/** Folders that consist of rooms, and the only files that lie beside these rooms. */
const faces: Readonly<Record<string, readonly string[]>> = {
  agent: ['clock', 'job', 'main', 'worker'],
  'main/orchestrator': [
    'core',
    'events',
    'index',
    'interface',
    'lifecycle',
    'model',
    'orchestrator',
    'v1-agent',
  ],
  'main/store': ['data-store', 'sqlite-store'],
  'main/http': ['server'],
};

/** Tools of the tests, which have unit tests of their own. */
const testTools = ['tests/bench', 'tests/chaos', 'tests/support'];

const unitTests = 'tests/unit/';

/** Finds files that lie beside the rooms of a folder, and unit tests whose folder mirrors no folder of sources. */
export function findStrays(files: readonly SourceFile[]): readonly Finding[] {
  const folders = new Set(files.flatMap(({ name }) => parentsOf(name)));
  return files.flatMap(({ name }) => {
    const folder = dirname(name);
    const face = faces[folder];
    if (face !== undefined && name.endsWith('.ts') && !face.includes(baseOf(name)))
      return [at(name, 1, `lies beside the rooms of ${folder}/: move it into one of them`)];
    if (!/\.test\.tsx?$/.test(name) || !name.startsWith(unitTests)) return [];
    const mirrored = folder.slice(unitTests.length);
    const isMirror = folders.has(mirrored) || testTools.includes(`tests/${mirrored}`);
    return isMirror ? [] : [at(name, 1, `tests no folder: there is no ${mirrored}/ to mirror`)];
  });
}

function parentsOf(name: string): readonly string[] {
  const parts = name.split('/').slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
}

const baseOf = (name: string): string => name.slice(name.lastIndexOf('/') + 1).replace(/\.ts$/, '');
