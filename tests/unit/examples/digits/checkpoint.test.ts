import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { pruneCheckpoints, readCheckpoint, writeCheckpoint } from '../../../../examples/digits/checkpoint.ts';
import { decodeCheckpoint, encodeCheckpoint } from '../../../../examples/digits/checkpoint-format.ts';
import { writeWhole } from '../../../../examples/digits/whole-file.ts';
import { makeCheckpoint, makeFolder, reasonOf, valueOf } from './builders.ts';

const { identity } = makeCheckpoint();

/** Appends the checksum of a valid checkpoint. */
function withChecksum(body: Buffer): Buffer {
  return Buffer.concat([body, createHash('sha256').update(body).digest()]);
}

describe('a checkpoint file', () => {
  test('reads a checkpoint unchanged from a file that is named after its step', async () => {
    const folder = await makeFolder();
    const path = await writeCheckpoint(folder, makeCheckpoint());
    expect(path).toBe(join(folder, 'checkpoint-000500.bin'));
    expect(valueOf(await readCheckpoint(path, identity, 3))).toEqual(makeCheckpoint());
    expect(await readdir(folder)).toEqual(['checkpoint-000500.bin']);
  });

  test('stores no loss in a checkpoint of step 0', () => {
    const first = makeCheckpoint({ step: 0, runningLoss: undefined });
    expect(valueOf(decodeCheckpoint(encodeCheckpoint(first), identity, 3)).runningLoss).toBeUndefined();
  });

  test('rejects a checkpoint truncated at any byte', () => {
    const bytes = encodeCheckpoint(makeCheckpoint());
    for (let length = 0; length < bytes.length; length++) {
      expect(reasonOf(decodeCheckpoint(bytes.subarray(0, length), identity, 3))).toMatch(
        /is damaged or incomplete|is not a checkpoint/,
      );
    }
  });

  test('rejects a checkpoint with any single byte changed', () => {
    const bytes = encodeCheckpoint(makeCheckpoint());
    for (const [index, byte] of bytes.entries()) {
      const damaged = Buffer.from(bytes);
      damaged[index] = byte ^ 1;
      expect(decodeCheckpoint(damaged, identity, 3).ok).toBe(false);
    }
  });

  test('rejects a checkpoint with a newer format, another network size or an invalid header', () => {
    const bytes = encodeCheckpoint(makeCheckpoint());
    const newerFormat = Buffer.from(
      bytes.toString('latin1').replace('checkpoint 1', 'checkpoint 2'),
      'latin1',
    );
    expect(reasonOf(decodeCheckpoint(newerFormat, identity, 3))).toContain('format version 2');
    expect(reasonOf(decodeCheckpoint(bytes, identity, 4))).toContain('does not match 4 parameters');
    for (const header of ['{', 'null', '{"step":1}', '{"step":1,"train_seconds":1,"identity":null}']) {
      const invalid = withChecksum(Buffer.from(`digits-checkpoint 1\n${header}\n`));
      expect(decodeCheckpoint(invalid, identity, 3).ok).toBe(false);
    }
  });

  test('rejects a checkpoint of another run and names the setting that differs', () => {
    const bytes = encodeCheckpoint(makeCheckpoint());
    expect(reasonOf(decodeCheckpoint(bytes, { ...identity, hidden: 64 }, 3))).toBe(
      'belongs to another run: its hidden is 6, but this run has 64',
    );
  });

  test('returns the reason when a checkpoint is truncated, not a checkpoint, a folder or missing', async () => {
    const folder = await makeFolder();
    const path = await writeCheckpoint(folder, makeCheckpoint());
    await truncate(path, 120);
    expect(reasonOf(await readCheckpoint(path, identity, 3))).toContain(
      `checkpoint ${path} is damaged or incomplete`,
    );
    await writeFile(path, '{"weights": []}');
    expect(reasonOf(await readCheckpoint(path, identity, 3))).toContain(
      'is not a checkpoint of this trainer',
    );
    expect(reasonOf(await readCheckpoint(folder, identity, 3))).toContain('is not a file');
    expect(reasonOf(await readCheckpoint(`${path}.old`, identity, 3))).toContain('ENOENT');
  });
});

describe('writeWhole', () => {
  test('keeps the old content and leaves no temporary file when a write fails half-way', async () => {
    const folder = await makeFolder();
    const path = join(folder, 'result.json');
    await writeWhole(path, [Buffer.from('old')]);
    function* failingPieces() {
      yield Buffer.from('half of the ne');
      throw new Error('the disk is full');
    }
    await expect(writeWhole(path, failingPieces())).rejects.toThrow('the disk is full');
    expect(await readFile(path, 'utf8')).toBe('old');
    expect(await readdir(folder)).toEqual(['result.json']);
  });

  test('creates the file only after all content has been written', async () => {
    const folder = await makeFolder();
    const path = join(folder, 'result.json');
    const namesDuringWrite: Promise<string[]>[] = [];
    function* pieces() {
      yield Buffer.from('one');
      namesDuringWrite.push(readdir(folder));
      yield Buffer.from('two');
    }
    await writeWhole(path, pieces());
    expect(await Promise.all(namesDuringWrite)).toEqual([['result.json.partial']]);
    expect(await readFile(path, 'utf8')).toBe('onetwo');
  });

  test('fails with the cause when it cannot write, and leaves no temporary file', async () => {
    const folder = await makeFolder();
    await mkdir(join(folder, 'checkpoint-000500.bin'));
    await expect(writeCheckpoint(folder, makeCheckpoint())).rejects.toThrow(/EISDIR/);
    expect(await readdir(folder)).toEqual(['checkpoint-000500.bin']);
  });
});

describe('pruneCheckpoints', () => {
  test('keeps the newest checkpoints up to the given step and all later checkpoints, and deletes partial files', async () => {
    const folder = await makeFolder();
    const names = [500, 1000, 999_999, 1_000_000, 2_000_000].map(
      step => `checkpoint-${`${step}`.padStart(6, '0')}.bin`,
    );
    for (const name of [...names, 'checkpoint-000700.bin.partial', 'result.json', 'checkpoint-best.bin']) {
      await writeFile(join(folder, name), '');
    }
    await pruneCheckpoints(folder, 1_000_000, 1);
    expect((await readdir(folder)).toSorted()).toEqual([
      'checkpoint-1000000.bin',
      'checkpoint-2000000.bin',
      'checkpoint-best.bin',
      'result.json',
    ]);
  });
});
