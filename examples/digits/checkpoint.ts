import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Checked, refused, systemErrorText } from './checked.ts';
import {
  type Checkpoint,
  decodeCheckpoint,
  encodeCheckpoint,
  type RunIdentity,
} from './checkpoint-format.ts';
import { writeWhole } from './whole-file.ts';

const FILE_NAME = /^checkpoint-(\d{6,})\.bin(\.partial)?$/;

// Checkpoints are much smaller. The limit prevents reading a wrong file, such as a disk image, into memory.
const MAX_FILE_BYTES = 512 * 2 ** 20;

/** Writes `checkpoint-000500.bin` (for step 500) into the folder atomically. Returns its path. */
export async function writeCheckpoint(folder: string, checkpoint: Checkpoint): Promise<string> {
  const path = join(folder, `checkpoint-${String(checkpoint.step).padStart(6, '0')}.bin`);
  await writeWhole(path, [encodeCheckpoint(checkpoint)]);
  return path;
}

/** Reads a checkpoint. Refuses unreadable files, and files that `decodeCheckpoint` refuses. */
export async function readCheckpoint(
  path: string,
  expected: RunIdentity,
  parameterCount: number,
): Promise<Checked<Checkpoint>> {
  try {
    const file = await stat(path);
    if (!file.isFile()) return refused(`${path} is not a file; choose a file checkpoint-....bin`);
    if (file.size > MAX_FILE_BYTES) return refused(`${path} is too large to be a checkpoint of this trainer`);
    const decoded = decodeCheckpoint(await readFile(path), expected, parameterCount);
    return decoded.ok ? decoded : refused(`checkpoint ${path} ${decoded.reason}`);
  } catch (error) {
    return refused(`cannot read the checkpoint: ${systemErrorText(error)}`);
  }
}

/**
 * Deletes all but the newest `keep` checkpoints up to `step`, and partial files of killed processes. Keeps checkpoints of later
 * steps without counting them, because they are from another run in the same folder.
 */
export async function pruneCheckpoints(folder: string, step: number, keep: number): Promise<void> {
  const finished: { readonly name: string; readonly step: number }[] = [];
  for (const name of await readdir(folder)) {
    const match = FILE_NAME.exec(name);
    if (match === null) continue;
    if (match[2] !== undefined) await rm(join(folder, name), { force: true });
    else if (Number(match[1]) <= step) finished.push({ name, step: Number(match[1]) });
  }
  finished.sort((a, b) => b.step - a.step);
  for (const { name } of finished.slice(keep)) await rm(join(folder, name), { force: true });
}
