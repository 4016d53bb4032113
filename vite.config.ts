import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vitest/config';

/** Programs for Node: `bundled` into one file with everything in it, or with their packages beside them. */
const program = (entry: string, outDir: string, fileName: string, bundled: boolean) => ({
  consumer: 'server' as const,
  resolve: { noExternal: bundled ? (true as const) : [] },
  build: {
    outDir,
    // The executable of the worker lies beside its one file.
    emptyOutDir: !bundled,
    target: 'node22',
    minify: false,
    rolldownOptions: {
      input: entry,
      output: { format: 'esm' as const, entryFileNames: fileName, codeSplitting: !bundled },
    },
  },
});

/** As Node takes a program into itself (dev/worker): one CommonJS file, and small, since it lies in memory. */
const insideNode = (entry: string, outDir: string, fileName: string) => {
  const { build, ...rest } = program(entry, outDir, fileName, true);
  const output = { ...build.rolldownOptions.output, format: 'cjs' as const };
  return { ...rest, build: { ...build, minify: true, rolldownOptions: { input: entry, output } } };
};

/** What Electron's program loads by itself, or is compiled. */
const besideDesktop = ['electron', 'better-sqlite3'];

/** The app: beside the command line, with all its packages in it, so that little has to be shipped beside it. */
const desktop = {
  ...program('main/desktop.ts', 'dist/main', 'desktop.js', true),
  resolve: { noExternal: true as const, external: besideDesktop },
  build: {
    ...program('main/desktop.ts', 'dist/main', 'desktop.js', true).build,
    emptyOutDir: false,
    rolldownOptions: {
      input: 'main/desktop.ts',
      external: besideDesktop,
      output: {
        format: 'esm' as const,
        entryFileNames: 'desktop.js',
        // The store is loaded only where an orchestrator runs.
        chunkFileNames: 'desktop-[name].js',
      },
    },
  },
};

/** In its sandbox it can load nothing, and only in the older form of modules. */
const preload = {
  ...program('preload/preload.ts', 'dist/preload', 'preload.cjs', true),
  resolve: { noExternal: true as const, external: ['electron'] },
  build: {
    ...program('preload/preload.ts', 'dist/preload', 'preload.cjs', true).build,
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

const suite = (name: string, testTimeout: number) => ({
  test: {
    name,
    testTimeout,
    include: [`tests/${name}/**/*.test.ts`],
    globalSetup: 'tests/support/temporary.ts',
  },
});

/** Decisions without effects: no branch of them goes untested. */
const pureCore = [
  'main/orchestrator/{checkpoint-rules,failure,feed,gpu-troubles,hindrances,job-lifecycle,job-moves,log-rules,matching,metric-rules,model,placement/*,predict,presence}.ts',
  'main/orchestrator/{quarantine,rank,recovery,retry,series,steady-clock,times,upload-rules,waiting,worker-status}.ts',
  'main/audit/*.ts',
  'protocol/*.ts',
];

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react(), pageAtTop, desktopIcons],
  builder: {
    buildApp: async ({ build, environments }) => {
      for (const name of ['client', 'main', 'desktop', 'preload', 'agent', 'sample']) {
        const environment = environments[name];
        if (environment !== undefined) await build(environment);
      }
    },
  },
  environments: {
    client: {
      build: {
        outDir: 'dist/renderer',
        emptyOutDir: true,
        // What it weighs packed is checked elsewhere, and takes a second to find out.
        reportCompressedSize: false,
        // Says which scripts the first page needs: what it may weigh is checked.
        manifest: true,
        rolldownOptions: { input: 'renderer/index.html' },
      },
    },
    main: program('main/cli.ts', 'dist/main', 'cli.js', false),
    desktop,
    preload,
    agent: program('agent/main.ts', 'dist/agent', 'trainyard-worker.mjs', true),
    // For the app's package, which has no sources.
    sample: program('examples/digits/train.ts', 'dist/examples/digits', 'train.mjs', true),
    executable: insideNode('agent/main.ts', 'node_modules/.cache/worker', 'trainyard-worker.cjs'),
  },
  test: {
    // One less than there are processors leaves a machine of two with one: much of these tests is waiting.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    projects: [
      suite('unit', 10_000),
      suite('rules', 60_000),
      suite('contract', 15_000),
      suite('integration', 30_000),
      // Fleets of processes: more at once would only wait for each other.
      { test: { ...suite('faults', 70_000).test, maxConcurrency: 2 } },
      suite('simulation', 120_000),
    ],
    coverage: {
      provider: 'v8',
      reporter: ['text-summary'],
      include: ['main/orchestrator/**/*.ts', 'main/audit/*.ts', 'protocol/*.ts'],
      thresholds: Object.fromEntries(pureCore.map(file => [file, { branches: 100 }])),
    },
  },
});
