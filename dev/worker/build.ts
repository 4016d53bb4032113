import { chmod, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { createBuilder } from 'vite';
import { fetchPinned } from './fetch-pinned.ts';
import { injectProgram } from './inject.ts';
import { type Pin, type Target, targets } from './pins.ts';

const run = promisify(execFile);

/**
 * V8 options that save memory in a mostly idle program: a young generation of 1 MB, no compiler threads, and no Maglev
 * compiler. The threshold of TurboFan is raised, because otherwise it would run during startup and need 6 MB. The worker runs the
 * garbage collector itself after its startup.
 */
const v8Options = [
  '--max-semi-space-size=1',
  '--v8-pool-size=0',
  '--no-maglev',
  '--expose-gc',
  '--invocation-count-for-turbofan=30000',
  '--invocation-count-for-osr=30000',
];

interface ProgramOptions {
  /** Path of the program, a single CommonJS file. */
  readonly main: string;
  /** Path of a Node binary that runs on this machine. It has the same version as the Node that will contain the program. */
  readonly builder: string;
  /** Paths of the files to embed, by their names in the executable. */
  readonly assets: Readonly<Record<string, string>>;
  /** If true, embeds compiled code. V8 accepts it only on the platform that compiled it. */
  readonly useCodeCache: boolean;
}

/** Returns the program as a blob for Node's single executable applications. */
async function prepareProgram(options: ProgramOptions, folder: string): Promise<Buffer> {
  const { main, builder, assets, useCodeCache } = options;
  const [config, output] = [join(folder, 'sea.json'), join(folder, 'blob')];
  const settings = {
    main,
    output,
    assets,
    disableExperimentalSEAWarning: true,
    useCodeCache,
    execArgv: v8Options,
    // Ignore NODE_OPTIONS, which a rig may set for other programs.
    execArgvExtension: 'none',
  };
  await writeFile(config, JSON.stringify(settings));
  // Use the same V8 options, because the code cache is valid only for them.
  await run(builder, [...v8Options, '--experimental-sea-config', config]);
  return readFile(output);
}

export interface BuiltProgram {
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
}

export interface BuiltWorker {
  /** The worker as one file, for an installed Node. */
  readonly bundle: string;
  /** The executables with Node inside. */
  readonly executables: readonly BuiltProgram[];
}

/** Returns the target for this machine; undefined when there is none. */
const ownTarget = (): Target | undefined =>
  targets.find(({ platform }) => platform === `${process.platform}-${process.arch}`);

interface BuildOptions {
  readonly root: string;
  /** Output folder. Other files in it are kept. */
  readonly folder: string;
  /** Executables to build; by default the executable for this machine, if it is supported. */
  readonly targets?: readonly Target[];
}

/** Builds the worker from the sources in `root` into a folder. */
export async function buildWorker(options: BuildOptions): Promise<BuiltWorker> {
  const { root, folder, targets: selected = [ownTarget() ?? []].flat() } = options;
  /** Temporary folder for the program that goes into the executables. */
  const intermediateFolder = await mkdtemp(join(tmpdir(), 'trainyard-worker-'));
  try {
    const { environments, build } = await createBuilder({
      root,
      logLevel: 'error',
      environments: {
        agent: { build: { outDir: folder } },
        executable: { build: { outDir: intermediateFolder } },
      },
    });
    const { agent, executable } = environments;
    if (agent === undefined || executable === undefined)
      throw new Error('vite.config.ts does not build the worker');
    await build(agent);
    const bundle = join(folder, 'trainyard-worker.mjs');
    if (selected.length === 0) return { bundle, executables: [] };
    await build(executable);
    const executables: BuiltProgram[] = [];
    for (const target of selected)
      executables.push(await makeExecutable(target, intermediateFolder, options));
    return { bundle, executables };
  } finally {
    await rm(intermediateFolder, { recursive: true });
  }
}

/** Puts the program into a copy of Node. Creates the file atomically. */
async function makeExecutable(
  target: Target,
  intermediateFolder: string,
  { root, folder }: BuildOptions,
): Promise<BuiltProgram> {
  const own = ownTarget()?.platform;
  const builder = own === undefined ? undefined : target.builders[own];
  if (builder === undefined)
    throw new Error(`${target.file} can be built only on ${Object.keys(target.builders).join(', ')}`);
  const fetchFile = (pin: Pin): Promise<string> => fetchPinned(pin, root);
  const assets = Object.fromEntries(
    await Promise.all(
      Object.entries(target.assets).map(async ([name, pin]) => [name, await fetchFile(pin)] as const),
    ),
  );
  const program = await prepareProgram(
    {
      main: join(intermediateFolder, 'trainyard-worker.cjs'),
      builder: await fetchFile(builder),
      assets,
      useCodeCache: target.platform === own,
    },
    intermediateFolder,
  );
  const binary = await injectProgram(target.platform, await readFile(await fetchFile(target.node)), program);
  const path = join(folder, target.file);
  const draft = `${path}.draft`;
  await writeFile(draft, binary);
  await chmod(draft, 0o755);
  await rename(draft, path);
  return { path, bytes: binary.length, sha256: createHash('sha256').update(binary).digest('hex') };
}
