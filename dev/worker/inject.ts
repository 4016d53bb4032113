import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject } from 'postject';
import { withNote } from './elf.ts';
import { signAdHoc } from './macho-sign.ts';
import type { Platform } from './pins.ts';

/**
 * The marker in Node's binary that tells Node whether the binary contains a program:
 * https://nodejs.org/docs/latest-v24.x/api/single-executable-applications.html
 */
const fuse = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';
const resourceName = 'NODE_SEA_BLOB';
const machoSegmentName = 'NODE_SEA';

/** Returns a copy of Node that contains the program. */
export async function injectProgram(platform: Platform, node: Buffer, program: Buffer): Promise<Buffer> {
  if (platform === 'linux-x64' || platform === 'linux-arm64')
    return withFuse(withNote(node, resourceName, program));
  const folder = await mkdtemp(join(tmpdir(), 'trainyard-worker-'));
  try {
    const file = join(folder, 'program');
    await writeFile(file, node);
    await inject(file, resourceName, program, { sentinelFuse: fuse, machoSegmentName });
    const injected = await readFile(file);
    return platform === 'darwin-arm64' ? signAdHoc(injected, 'trainyard-worker') : injected;
  } finally {
    await rm(folder, { recursive: true });
  }
}

function withFuse(binary: Buffer): Buffer {
  const off = Buffer.from(`${fuse}:0`);
  const index = binary.indexOf(off);
  if (index < 0 || binary.indexOf(off, index + 1) >= 0)
    throw new Error('this Node does not support single executables');
  binary.write('1', index + off.length - 1);
  return binary;
}
