import { defineConfig } from 'vitest/config';

/** Programs for Node: `bundled` into one file with everything in it, or with their packages beside them. */
const program = (entry: string, outDir: string, fileName: string, bundled: boolean) => ({
  consumer: 'server' as const,
  resolve: { noExternal: bundled ? (true as const) : [] },
  build: {
    outDir,
    emptyOutDir: true,
    target: 'node22',
    minify: false,
    rolldownOptions: {
      input: entry,
      output: { format: 'esm' as const, entryFileNames: fileName, codeSplitting: !bundled },
    },
  },
});

export default defineConfig({
  builder: {
    // There is no page to build here: only the programs below.
    buildApp: async ({ build, environments }) => {
      for (const name of ['main', 'agent']) {
        const environment = environments[name];
        if (environment !== undefined) await build(environment);
      }
    },
  },
  environments: {
    main: program('main/cli.ts', 'dist/main', 'cli.js', false),
    agent: program('agent/main.ts', 'dist/agent', 'trainyard-worker.mjs', true),
  },
  test: {
    projects: [
      { test: { name: 'unit', include: ['tests/unit/**/*.test.ts'] } },
      { test: { name: 'rules', include: ['tests/rules/**/*.test.ts'], testTimeout: 60_000 } },
      { test: { name: 'contract', include: ['tests/contract/**/*.test.ts'], testTimeout: 15_000 } },
      { test: { name: 'integration', include: ['tests/integration/**/*.test.ts'], testTimeout: 30_000 } },
    ],
    coverage: {
      provider: 'v8',
      include: [
        'main/orchestrator/{failure,feed,job-lifecycle,matching,model,placement,presence,recovery}.ts',
      ],
    },
  },
});
