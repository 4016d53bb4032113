import type { Plant } from './plant.ts';

const dependencies = 'boundaries(dependencies)';

/**
 * Forbidden imports of each room, separated by spaces. `oxlint.config.ts` defines the rooms. If the path of the file
 * contains `@`, each import gets its own file. Otherwise all imports are in the same file.
 */
const refusedImports: readonly (readonly [room: string, file: string, sources: string])[] = [
  ['protocol', 'protocol/@.ts', '../main/orchestrator/index.ts ../agent/leaf.ts node:crypto micromatch'],
  ['trainers', 'trainers/@.ts', '../main/orchestrator/index.ts ../agent/leaf.ts node:fs zod'],
  ['datasets', 'datasets/@.ts', '../main/orchestrator/index.ts ../agent/leaf.ts ../trainers/index.ts zod'],
  [
    'main/orchestrator',
    'main/orchestrator/memory/@.ts',
    '../../store/leaf.ts ../../http/leaf.ts ../../audit/leaf.ts ../../config.ts',
  ],
  [
    'main/orchestrator',
    'main/orchestrator/memory/@.ts',
    '../../compose.ts ../../../agent/leaf.ts node:fs node:sqlite',
  ],
  [
    'main/orchestrator',
    'main/orchestrator/memory/@.ts',
    'node:timers/promises electron express better-sqlite3 zod',
  ],
  [
    'main/orchestrator/rules',
    'main/orchestrator/rules/@.ts',
    '../index.ts ../../store/leaf.ts ../../../datasets/leaf.ts tinyqueue node:fs zod',
  ],
  [
    'main/orchestrator/model',
    'main/orchestrator/ports/@.ts',
    '../index.ts ../rules/rule.ts ../../store/leaf.ts tinyqueue node:fs',
  ],
  [
    'main/store',
    'main/store/@.ts',
    '../http/leaf.ts ../audit/leaf.ts ../orchestrator/model.ts ../cli/jobs.ts',
  ],
  ['main/store', 'main/store/@.ts', '../compose.ts ../../tests/unit/rooms.test.ts electron express zod'],
  ['main/http', 'main/http/@.ts', '../store/leaf.ts ../audit/leaf.ts ../orchestrator/model.ts ../config.ts'],
  ['main/http', 'main/http/@.ts', '../cli/jobs.ts electron better-sqlite3 micromatch'],
  ['main/audit', 'main/audit/@.ts', '../store/leaf.ts ../http/leaf.ts ../orchestrator/model.ts'],
  ['main/audit', 'main/audit/@.ts', 'electron better-sqlite3 zod'],
  ['main/host', 'main/host/@.ts', '../store/leaf.ts ../http/leaf.ts ../orchestrator/model.ts ../config.ts'],
  ['main/host', 'main/host/@.ts', '../cli/jobs.ts ../../agent/leaf.ts electron express better-sqlite3 zod'],
  [
    'main/engines',
    'main/engines/@.ts',
    '../store/leaf.ts ../http/leaf.ts ../orchestrator/index.ts ../config.ts ../../agent/leaf.ts electron',
  ],
  [
    'main/config',
    'main/config.ts',
    './store/leaf.ts ./orchestrator/index.ts ../agent/leaf.ts commander electron',
  ],
  ['main/compose', 'main/compose.ts', './cli/jobs.ts ./desktop/window.ts ../agent/leaf.ts'],
  ['main/compose', 'main/compose.ts', 'electron express better-sqlite3'],
  [
    'main/server',
    'main/server.ts',
    './store/leaf.ts ./http/leaf.ts ./orchestrator/index.ts ./desktop/window.ts',
  ],
  ['main/server', 'main/server.ts', './cli/jobs.ts electron commander'],
  [
    'main/cli',
    'main/cli/@.ts',
    '../store/leaf.ts ../http/leaf.ts ../orchestrator/index.ts ../desktop/window.ts',
  ],
  ['main/cli', 'main/cli/@.ts', '../../agent/leaf.ts electron better-sqlite3 zod'],
  [
    'main/desktop',
    'main/desktop/@.ts',
    '../store/leaf.ts ../http/leaf.ts ../orchestrator/index.ts ../server.ts',
  ],
  ['main/gateway', 'main/gateway/@.ts', '../store/leaf.ts ../compose.ts ../orchestrator/index.ts electron'],
  ['main/gateway', 'main/gateway/@.ts', '../cli/jobs.ts ../../agent/leaf.ts better-sqlite3'],
  ['main/desktop', 'main/desktop/@.ts', '../cli/jobs.ts ../../agent/leaf.ts better-sqlite3'],
  ['preload', 'preload/@.ts', '../main/compose.ts ../renderer/state/leaf.ts ../agent/leaf.ts node:fs react'],
  [
    'renderer',
    'renderer/pages/@.tsx',
    '../../main/compose.ts ../../preload/leaf.ts ../../agent/leaf.ts node:fs',
  ],
  ['renderer', 'renderer/pages/@.tsx', 'electron express better-sqlite3 commander eventsource'],
  ['agent', 'agent/@.ts', '../main/compose.ts ../renderer/state/leaf.ts ../examples/digits/leaf.ts'],
  ['agent', 'agent/@.ts', 'zod electron express'],
  ['examples', 'examples/digits/@.ts', '../../main/compose.ts ../../agent/leaf.ts zod commander'],
  ['dev', 'dev/@.ts', '../main/compose.ts ../renderer/state/leaf.ts ../agent/leaf.ts express commander'],
  [
    'dev/demo-fleet',
    'dev/demo-fleet/@.ts',
    '../leaf.ts ../../main/cli/jobs.ts ../../main/compose.ts ../../agent/leaf.ts node:fs',
  ],
  ['config', 'vite.config.ts', './main/config.ts ./protocol/leaf.ts'],
];

const tables = refusedImports.flatMap(([room, file, sources]) =>
  sources.split(' ').map(
    (source): Plant => ({
      name: `${room} imports ${source}`,
      file: file.replace('@', `imports-${source.replaceAll(/[^a-z0-9]+/g, '-').replace(/^-/, '')}`),
      code: `export * from '${source}';`,
      rules: [dependencies],
      message: `The room "${room}" may not import "${source}"`,
    }),
  ),
);

const noRequire = ['typescript(no-require-imports)', 'import(no-commonjs)'];
const fromHttp = "from '../http/leaf.ts';";

/** Every syntax that a file in main/store could use to import main/http. `also`: other rules that report the same line. */
const forms: readonly (readonly [form: string, code: string, also?: readonly string[]])[] = [
  ['import', `import { httpLeaf } ${fromHttp} export const copy = httpLeaf;`],
  ['import type', `import type { httpLeafKind } ${fromHttp} export type Copy = httpLeafKind;`],
  [
    'import { type }',
    `import { type httpLeafKind } ${fromHttp} export type Copy = httpLeafKind;`,
    ['typescript(no-import-type-side-effects)'],
  ],
  ['export from', `export { httpLeaf } ${fromHttp}`],
  ['export * from', `export * ${fromHttp}`],
  ['export type from', `export type { httpLeafKind } ${fromHttp}`],
  ['import()', "export const later = import('../http/leaf.ts');"],
  [
    'import() as a type',
    "export type Copy = import('../http/leaf.ts').httpLeafKind;",
    ['typescript(consistent-type-imports)'],
  ],
  ['require()', "export const copy: unknown = require('../http/leaf.ts');", noRequire],
  [
    'import = require()',
    "import copy = require('../http/leaf.ts'); export const again: unknown = copy;",
    noRequire,
  ],
];

const formPlants = forms.map(
  ([form, code, also = []], index): Plant => ({
    name: `a forbidden import written as ${form}`,
    file: `main/store/form-${index + 1}.ts`,
    code,
    rules: [dependencies, ...also],
    message: 'The room "main/store" may not import "../http/leaf.ts"',
  }),
);

const unknownFiles = [
  'lib/tools.ts',
  'main/stray.ts',
  'main/orchestrator.ts',
  'main/orchestrator/stray.ts',
  'stray.ts',
  'server/index.mjs',
].map(
  (file): Plant => ({
    name: `${file} is in no room`,
    file,
    code: 'export const stray = 1;',
    rules: ['boundaries(no-unknown-files)'],
    message: 'does not belong to any known element',
  }),
);

export const importPlants: readonly Plant[] = [
  ...tables,
  ...formPlants,
  ...unknownFiles,
  {
    name: 'a test that imports a file outside all rooms',
    file: 'tests/unit/unknown.ts',
    code: "export * from '../../lib/tools.ts';",
    rules: ['boundaries(no-unknown-dependencies)', dependencies],
    message: 'Dependencies to unknown elements and files are not allowed',
  },
  {
    name: 'an import without a file extension, so that the room rules cannot resolve its path',
    file: 'main/store/ending.ts',
    code: "export * from './leaf';",
    rules: ['import(extensions)', 'boundaries(no-unknown-dependencies)', dependencies],
    message: 'Missing file extension',
  },
  {
    name: 'a dynamic import with a computed path',
    file: 'main/store/computed.ts',
    code: 'export const load = (name: string): Promise<unknown> => import(name);',
    rules: ['import(no-dynamic-require)'],
    message: 'Expected a literal string',
  },
  {
    name: 'an import of a Node module without the prefix node:',
    file: 'main/store/builtin.ts',
    code: "export { readFile } from 'fs/promises';",
    rules: ['unicorn(prefer-node-protocol)'],
    message: '`node:` protocol',
  },
  ...cycle('of value exports', 'export { @b as @a }', 'export { @a as @b }'),
  ...cycle('closed by a type export', 'export { @b as @a }', 'export type { @a as @b }'),
];

function cycle(name: string, ...halves: readonly [string, string]): Plant[] {
  const stem = name.replaceAll(' ', '-');
  return halves.map((half, index) => ({
    name: `a cycle ${name}, file ${index + 1}`,
    file: `protocol/${stem}-${index + 1}.ts`,
    code: `${half.replaceAll('@', 'plant_')} from './${stem}-${2 - index}.ts';`,
    rules: ['import(no-cycle)'],
    message: 'Dependency cycle detected',
  }));
}
