import { execFile } from 'node:child_process';
import { chmod, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
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

export interface ExecutableOptions {
  /** The program, as one CommonJS file. */
  readonly bundle: string;
  /** The Node for Linux x64 that prepares and contains the program. */
  readonly node: string;
  readonly target: string;
}

/** Puts the program into a copy of Node. It creates the target atomically, and returns its size in bytes. */
export async function makeExecutable({ bundle, node, target }: ExecutableOptions): Promise<number> {
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
