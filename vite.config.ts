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

/**
 * Replaces code of packages that the page's content security policy forbids. The build fails if a package no longer
 * contains that code.
 */
const replacements: readonly {
  readonly module: RegExp;
  readonly code: RegExp;
  readonly replacement: string;
}[] = [
  // Sonner creates a style element. renderer/ui/toast-region.tsx imports the same style sheet as a file.
  { module: /[\\/]sonner[\\/]dist[\\/]index\.mjs$/, code: /^__insertCSS\(.*\);$/m, replacement: '' },
  // Zod tries to compile code at run time, to find out whether the policy allows it.
  {
    module: /[\\/]zod[\\/]v4[\\/]core[\\/]core\.js$/,
    code: /^export const globalConfig = .*;$/m,
    replacement: '$&\nglobalConfig.jitless = true;',
  },
];

const withinPolicy = {
  name: 'within-policy',
  enforce: 'pre' as const,
  applyToEnvironment: (environment: Environment) => !isForNode(environment),
  // The package `react-style-singleton` also creates style elements.
  resolveId: (source: string) =>
    source === 'react-style-singleton' ? join(import.meta.dirname, 'renderer/ui/style-singleton.ts') : null,
  transform(code: string, id: string) {
    const rule = replacements.find(({ module }) => module.test(id));
    if (rule === undefined) return null;
    if (!rule.code.test(code))
      throw new Error(`${id} no longer contains the code that vite.config.ts replaces: ${String(rule.code)}`);
    return { code: code.replace(rule.code, rule.replacement), map: null };
  },
};

const staticImport = /^import (?:(\*? ?[\w$ ]+?))?(?:, )?(?:\{ ([^}]*) \})? from "(node:[\w/]+)";$/gm;

/**
 * Turns a static import of a built-in module into code that loads the module when that line runs. Node resolves static
 * imports before the first line runs.
 */
function loadAtRunTime(line: string, whole = '', names = '', id = ''): string {
  const module = `process.getBuiltinModule('${id}')`;
  const name = whole.replace(/^\* as /, '').trim();
  const parts = [
    name === '' ? [] : [`const ${name} = ${module};`],
    names === '' ? [] : [`const { ${names.replaceAll(' as ', ': ')} } = ${module};`],
  ].flat();
  return parts.length === 0 ? line : parts.join(' ');
}

/**
 * Returns the source of `oldNodeMessage` in protocol/node-version.ts as an expression. This file may not import that
 * function, because config files import no source of the product.
 */
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

/**
 * Makes the worker's file check the version of Node before any import. Otherwise, an old version of Node fails with an
 * unclear error, because it lacks a module that the file imports.
 */
const withNodeCheck = {
  name: 'with-node-check',
  apply: 'build' as const,
  enforce: 'post' as const,
  applyToEnvironment: ({ name }: { readonly name: string }) => name === 'agent',
  async generateBundle(_options: unknown, bundle: Readonly<Record<string, { type: string; code?: string }>>) {
    for (const chunk of Object.values(bundle)) {
      if (chunk.type !== 'chunk' || chunk.code === undefined) continue;
      const [, shebang = '', rest = ''] = /^(#!.*\n)?([\s\S]*)$/.exec(chunk.code) ?? [];
      const code = rest.replaceAll(staticImport, loadAtRunTime);
      // The pattern requires quotes, because the worker also contains Python programs, whose imports have none.
      if (/^import\b(?:[^;(]*?\bfrom)?\s*["']/m.test(code))
        throw new Error('the worker still imports a module before it checks Node');
      chunk.code = shebang + (await refuseOldNode()) + code;
    }
  },
};

/** Builds a program for Node as one file that contains all its packages. */
const program = (entry: string, outDir: string, fileName: string) => ({
  consumer: 'server' as const,
  resolve: { noExternal: true as const },
  build: {
    outDir,
    // The folder may contain other programs: dist/agent has the worker's executables, dist/main the app and the CLI.
    emptyOutDir: false,
    target: 'node22',
    minify: false,
    rolldownOptions: {
      input: entry,
      output: { format: 'esm' as const, entryFileNames: fileName, codeSplitting: false },
    },
  },
});

/**
 * Builds a program that becomes part of a Node executable (dev/worker). The program must be one CommonJS file. It is
 * minified, because its source stays in memory.
 */
const embeddedProgram = (entry: string, outDir: string, fileName: string) => {
  const { build, ...rest } = program(entry, outDir, fileName);
  const output = { ...build.rolldownOptions.output, format: 'cjs' as const };
  return { ...rest, build: { ...build, minify: true, rolldownOptions: { input: entry, output } } };
};

/** Packages with compiled code, which cannot be part of a JavaScript file. */
const compiled = ['better-sqlite3'];

/**
 * Builds a program with its packages as several files that load on demand. For example, a command that runs no
 * orchestrator does not load the store.
 */
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

/** The command line. Without bundling, loading its installed packages takes 70 ms longer. */
const commandLine = inChunks('main/cli.ts', 'cli', compiled);

/** The desktop app. It is bundled, so that its package does not have to contain node_modules. */
const desktop = inChunks('main/desktop.ts', 'desktop', ['electron', ...compiled]);

/** The app's preload script. In Electron's sandbox, it must be CommonJS and cannot load other files. */
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

/** Copies the app's icons to a folder next to its program. */
const desktopIcons = {
  name: 'desktop-icons',
  applyToEnvironment: ({ name }: { readonly name: string }) => name === 'desktop',
  generateBundle(this: { emitFile(file: { type: 'asset'; fileName: string; source: Buffer }): void }) {
    for (const icon of ['window', 'tray', 'tray@2x', 'trayTemplate', 'trayTemplate@2x', 'attention']) {
      const source = readFileSync(join(import.meta.dirname, `main/desktop/icons/${icon}.png`));
      this.emitFile({ type: 'asset', fileName: `icons/${icon}.png`, source });
    }
  },
};

/** Moves the page from renderer/ to the top folder of the files that are served. */
const pageAtTop = {
  name: 'page-at-top',
  enforce: 'post' as const,
  generateBundle(_options: unknown, bundle: Readonly<Record<string, { fileName: string }>>) {
    const page = bundle['renderer/index.html'];
    if (page !== undefined) page.fileName = 'index.html';
  },
};

// Node caches compiled code here, so that programs that tests start load 40 % faster.
const compileCache = join(import.meta.dirname, 'node_modules/.cache/node');

const suite = (name: string, testTimeout: number, isolate = false) => ({
  test: {
    name,
    testTimeout,
    env: { NODE_COMPILE_CACHE: compileCache },
    // With isolation, each test file loads all its modules again. This doubles the time of the unit tests.
    isolate,
    include: [`tests/${name}/**/*.test.ts`],
    globalSetup: 'tests/support/temporary.ts',
  },
});

/** This test sets a fake clock before the first use of its modules, so no other test may have loaded them. */
const isolated = 'tests/unit/agent/connection/network-stream.test.ts';

/** Decisions without side effects, and state in memory. Tests must reach every branch of these files. */
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
        // A test checks the compressed size. Computing it in each build would take a second.
        reportCompressedSize: false,
        // A test reads from the manifest which scripts the first page needs, and limits their size.
        manifest: true,
        // The polyfill would be a second script in the page that is shown offline, which must be one script. Browsers
        // without `modulepreload` load the panel only slightly later.
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
    // For the app's package, which contains no sources.
    sample: program('examples/digits/train.ts', 'dist/examples/digits', 'train.mjs'),
    executable: embeddedProgram('agent/main.ts', 'node_modules/.cache/worker', 'trainyard-worker.cjs'),
  },
  test: {
    // Most tests wait for other processes, so run more files than cores. `npm run test:unit` overrides this.
    maxWorkers: Math.max(4, availableParallelism()),
    projects: [
      // Property and model tests take up to 8 s alone on two cores.
      { test: { ...suite('unit', 20_000).test, exclude: [isolated] } },
      { test: { ...suite('unit', 20_000, true).test, name: 'isolated', include: [isolated] } },
      suite('rules', 60_000),
      suite('contract', 15_000),
      suite('integration', 30_000),
      // Tests of whole programs, which take minutes. `npm run test:all` runs them; run it before you close an issue.
      suite('full', 30_000, true),
      // Each test starts a fleet of processes. More than two fleets would slow each other down.
      { test: { ...suite('faults', 70_000, true).test, maxConcurrency: 2 } },
      suite('simulation', 120_000),
      // Each test waits for every job to end and every file to arrive. If one does not, the test waits for minutes.
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
