import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import react from '@vitejs/plugin-react';
import { transformWithOxc } from 'vite';
import { defineConfig } from 'vitest/config';
import { entryFileNames, installablePanel, panelInputs } from './dev/installable-panel.ts';
import { createFirstChunk } from './dev/panel-chunks.ts';
import { withoutDescriptions } from './dev/without-descriptions.ts';

interface Environment {
  readonly config: { readonly consumer: string };
}

const isForNode = ({ config }: Environment): boolean => config.consumer === 'server';

/** Code of packages that the page's content security policy forbids, and its replacement. The build fails if a package has changed there. */
const replacements: readonly {
  readonly id: RegExp;
  readonly was: RegExp;
  readonly becomes: string;
}[] = [
  // Makes a style element; renderer/ui/toast.tsx imports the same sheet as a file.
  { id: /[\\/]sonner[\\/]dist[\\/]index\.mjs$/, was: /^__insertCSS\(.*\);$/m, becomes: '' },
  // Tries whether it may compile code at run time.
  {
    id: /[\\/]zod[\\/]v4[\\/]core[\\/]core\.js$/,
    was: /^export const globalConfig = .*;$/m,
    becomes: '$&\nglobalConfig.jitless = true;',
  },
];

const withinPolicy = {
  name: 'within-policy',
  enforce: 'pre' as const,
  applyToEnvironment: (environment: Environment) => !isForNode(environment),
  // Makes style elements, too.
  resolveId: (source: string) =>
    source === 'react-style-singleton' ? join(import.meta.dirname, 'renderer/ui/style-singleton.ts') : null,
  transform(code: string, id: string) {
    const found = replacements.find(each => each.id.test(id));
    if (found === undefined) return null;
    if (!found.was.test(code)) throw new Error(`${id} is not as it was: see the policy of the page`);
    return { code: code.replace(found.was, found.becomes), map: null };
  },
};

const staticImport = /^import (?:(\*? ?[\w$ ]+?))?(?:, )?(?:\{ ([^}]*) \})? from "(node:[\w/]+)";$/gm;

/** Reads a built-in module when its line is reached. Node resolves static imports before the first line runs. */
function readAtRunTime(line: string, whole = '', names = '', id = ''): string {
  const module = `process.getBuiltinModule('${id}')`;
  const name = whole.replace(/^\* as /, '').trim();
  const parts = [
    name === '' ? [] : [`const ${name} = ${module};`],
    names === '' ? [] : [`const { ${names.replaceAll(' as ', ': ')} } = ${module};`],
  ].flat();
  return parts.length === 0 ? line : parts.join(' ');
}

/** Returns `oldNodeMessage` of protocol/node-version.ts as an expression. This file imports no source of the product. */
async function oldNodeMessage(): Promise<string> {
  const file = join(import.meta.dirname, 'protocol/node-version.ts');
  const { code } = await transformWithOxc(readFileSync(file, 'utf8'), file);
  const start = code.indexOf('function oldNodeMessage');
  return code.slice(start, code.indexOf('\n}', start) + 2);
}

const refuseOldNode = async (): Promise<string> => `{
  const message = (${await oldNodeMessage()})(process.versions.node, process.execPath);
  if (message !== null) {
    process.stderr.write(message);
    process.exit(2);
  }
}
`;

/** A Node that is too old cannot even load the worker's one file, unless that file imports nothing. */
const withNodeCheck = {
  name: 'with-node-check',
  apply: 'build' as const,
  enforce: 'post' as const,
  applyToEnvironment: ({ name }: { readonly name: string }) => name === 'agent',
  async generateBundle(_options: unknown, bundle: Readonly<Record<string, { type: string; code?: string }>>) {
    for (const chunk of Object.values(bundle)) {
      if (chunk.type !== 'chunk' || chunk.code === undefined) continue;
      const [, shebang = '', rest = ''] = /^(#!.*\n)?([\s\S]*)$/.exec(chunk.code) ?? [];
      const code = rest.replaceAll(staticImport, readAtRunTime);
      // A module is named in quotes; the worker has Python programs in it, whose imports are not.
      if (/^import\b(?:[^;(]*?\bfrom)?\s*["']/m.test(code))
        throw new Error('the worker still imports a module before it checks Node');
      chunk.code = shebang + (await refuseOldNode()) + code;
    }
  },
};

/** A program for Node, in one file with all its packages. */
const program = (entry: string, outDir: string, fileName: string) => ({
  consumer: 'server' as const,
  resolve: { noExternal: true as const },
  build: {
    outDir,
    // The executable of the worker lies beside its one file, and the app beside the command line.
    emptyOutDir: false,
    target: 'node22',
    minify: false,
    rolldownOptions: {
      input: entry,
      output: { format: 'esm' as const, entryFileNames: fileName, codeSplitting: false },
    },
  },
});

/** As Node takes a program into itself (dev/worker): one CommonJS file, and small, since it lies in memory. */
const insideNode = (entry: string, outDir: string, fileName: string) => {
  const { build, ...rest } = program(entry, outDir, fileName);
  const output = { ...build.rolldownOptions.output, format: 'cjs' as const };
  return { ...rest, build: { ...build, minify: true, rolldownOptions: { input: entry, output } } };
};

/** Compiled packages, which lie beside a program. */
const compiled = ['better-sqlite3'];

/** With its packages in it, in parts that are read when they are needed: the store only where an orchestrator runs. */
const inChunks = (entry: string, name: string, external: readonly string[]) => {
  const { build, ...rest } = program(entry, 'dist/main', `${name}.js`);
  const output = {
    format: 'esm' as const,
    entryFileNames: `${name}.js`,
    chunkFileNames: `${name}-[name].js`,
  };
  return {
    ...rest,
    resolve: { ...rest.resolve, external: [...external] },
    build: { ...build, rolldownOptions: { input: entry, external: [...external], output } },
  };
};

/** The command line. Packages that are read one by one, as they are installed, take 70 ms more. */
const commandLine = inChunks('main/cli.ts', 'cli', compiled);

/** The app, with little to be shipped beside it. */
const desktop = inChunks('main/desktop.ts', 'desktop', ['electron', ...compiled]);

/** In its sandbox it can load nothing, and only in the older form of modules. */
const preload = {
  ...program('preload/preload.ts', 'dist/preload', 'preload.cjs'),
  resolve: { noExternal: true as const, external: ['electron'] },
  build: {
    ...program('preload/preload.ts', 'dist/preload', 'preload.cjs').build,
    rolldownOptions: {
      input: 'preload/preload.ts',
      external: ['electron'],
      output: { format: 'cjs' as const, entryFileNames: 'preload.cjs', codeSplitting: false },
    },
  },
};

/** Pictures lie beside the program that shows them. */
const desktopIcons = {
  name: 'desktop-icons',
  applyToEnvironment: ({ name }: { readonly name: string }) => name === 'desktop',
  generateBundle(this: { emitFile(file: { type: 'asset'; fileName: string; source: Buffer }): void }) {
    for (const icon of ['window', 'tray', 'tray@2x', 'trayTemplate', 'trayTemplate@2x']) {
      const source = readFileSync(join(import.meta.dirname, `main/desktop/icons/${icon}.png`));
      this.emitFile({ type: 'asset', fileName: `icons/${icon}.png`, source });
    }
  },
};

/** The page lies in a folder here, and at the top of what is served. */
const pageAtTop = {
  name: 'page-at-top',
  enforce: 'post' as const,
  generateBundle(_options: unknown, bundle: Readonly<Record<string, { fileName: string }>>) {
    const page = bundle['renderer/index.html'];
    if (page !== undefined) page.fileName = 'index.html';
  },
};

// Programs that tests start load 40 % faster with compiled code from an earlier start.
const compileCache = join(import.meta.dirname, 'node_modules/.cache/node');

const suite = (name: string, testTimeout: number, isolate = false) => ({
  test: {
    name,
    testTimeout,
    env: { NODE_COMPILE_CACHE: compileCache },
    // Otherwise, each file of tests loads all its modules again: half of the time of the unit tests.
    isolate,
    include: [`tests/${name}/**/*.test.ts`],
    globalSetup: 'tests/support/temporary.ts',
  },
});

/** Sets a fake clock before the first use of its modules, so no other test may have loaded them. */
const isolated = 'tests/unit/agent/connection/network-stream.test.ts';

/** Decisions without effects, and what is kept in memory: no branch of them goes untested. */
const pureCore = [
  'main/orchestrator/rules/*.ts',
  'main/orchestrator/{events,model,v1-agent}.ts',
  'main/orchestrator/memory/{clocks,connection-registry,feed}.ts',
  'main/orchestrator/memory/placement/*.ts',
  'main/audit/*.ts',
  'protocol/*.ts',
];

export default defineConfig({
  root: import.meta.dirname,
  plugins: [
    react(),
    withinPolicy,
    withNodeCheck,
    pageAtTop,
    installablePanel,
    withoutDescriptions,
    desktopIcons,
  ],
  builder: {
    buildApp: async ({ build, environments }) => {
      for (const name of ['client', 'main', 'desktop', 'preload', 'agent', 'sample']) {
        const environment = environments[name];
        if (environment !== undefined) await build(environment);
      }
    },
  },
  worker: { plugins: () => [withoutDescriptions] },
  environments: {
    client: {
      build: {
        outDir: 'dist/renderer',
        emptyOutDir: true,
        // A test checks the compressed size, and computing it here takes a second.
        reportCompressedSize: false,
        // Says which scripts the first page needs: what it may weigh is checked.
        manifest: true,
        // The page without a server must be one script; browsers without this feature only load a little later.
        modulePreload: { polyfill: false },
        // The first chunk is larger, because it includes React and Zod.
        chunkSizeWarningLimit: 700,
        rolldownOptions: {
          input: panelInputs,
          output: { entryFileNames, codeSplitting: { groups: [createFirstChunk()] } },
        },
      },
    },
    main: { ...commandLine, build: { ...commandLine.build, emptyOutDir: true } },
    desktop,
    preload,
    agent: program('agent/main.ts', 'dist/agent', 'trainyard-worker.mjs'),
    // For the app's package, which has no sources.
    sample: program('examples/digits/train.ts', 'dist/examples/digits', 'train.mjs'),
    executable: insideNode('agent/main.ts', 'node_modules/.cache/worker', 'trainyard-worker.cjs'),
  },
  test: {
    // Much of these tests is waiting for other processes. The unit tests wait for nothing (`npm run test:unit`).
    maxWorkers: Math.max(4, availableParallelism()),
    projects: [
      // Property and model tests take up to 8 s alone on two cores.
      { test: { ...suite('unit', 20_000).test, exclude: [isolated] } },
      { test: { ...suite('unit', 20_000, true).test, name: 'isolated', include: [isolated] } },
      suite('rules', 60_000),
      suite('contract', 15_000),
      suite('integration', 30_000),
      // Minutes of whole programs: run by `npm run test:all`, and before an issue is closed.
      suite('full', 30_000, true),
      // Fleets of processes: more at once would only wait for each other.
      { test: { ...suite('faults', 70_000, true).test, maxConcurrency: 2 } },
      suite('simulation', 120_000),
      // A run waits for each job to end and each file to arrive; when one does not, for minutes.
      suite('chaos', 400_000, true),
    ],
    coverage: {
      provider: 'v8',
      reporter: ['text-summary'],
      include: pureCore,
      thresholds: Object.fromEntries(pureCore.map(file => [file, { branches: 100 }])),
    },
  },
});
