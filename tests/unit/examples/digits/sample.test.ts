import { crc32, inflateSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { encodePng, type Picture } from '../../../../examples/digits/png.ts';
import { drawSample } from '../../../../examples/digits/sample.ts';
import { makeDigits, SIDE } from './builders.ts';

interface Chunk {
  readonly name: string;
  readonly data: Buffer;
  readonly isChecksumValid: boolean;
}

/** Splits a PNG file into its chunks, and checks the checksum of each chunk. */
function chunksOf(file: Buffer): readonly Chunk[] {
  const chunks: Chunk[] = [];
  // A PNG file starts with a signature of 8 bytes. Each chunk has a length, a name, data and a checksum.
  let start = 8;
  while (start < file.length) {
    const end = start + 8 + file.readUInt32BE(start);
    chunks.push({
      name: file.toString('latin1', start + 4, start + 8),
      data: file.subarray(start + 8, end),
      isChecksumValid: crc32(file.subarray(start + 4, end)) === file.readUInt32BE(end),
    });
    start = end + 4;
  }
  return chunks;
}

const colourAt = ({ width, pixels }: Picture, x: number, y: number): readonly number[] => [
  ...pixels.subarray(3 * (y * width + x), 3 * (y * width + x) + 3),
];

describe('encodePng', () => {
  test('encodes the size and the pixels row by row, with valid checksums', () => {
    const file = encodePng({
      width: 2,
      height: 2,
      pixels: Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12),
    });
    expect(file.subarray(0, 8)).toEqual(Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'));
    const chunks = chunksOf(file);
    expect(chunks.map(({ name, isChecksumValid }) => [name, isChecksumValid])).toEqual([
      ['IHDR', true],
      ['IDAT', true],
      ['IEND', true],
    ]);
    const [header, data] = chunks;
    expect([...(header?.data ?? [])]).toEqual([0, 0, 0, 2, 0, 0, 0, 2, 8, 2, 0, 0, 0]);
    expect([...inflateSync(data?.data ?? '')]).toEqual([0, 1, 2, 3, 4, 5, 6, 0, 7, 8, 9, 10, 11, 12]);
  });
});

describe('drawSample', () => {
  const { test: digits } = makeDigits();
  const correctLabel = (image: number): number => digits.labels[image] ?? 0;

  test('draws at most a hundred images, ten per row, with the predicted digit below each image', () => {
    const { width, height, pixels } = drawSample(digits, (_images, image) => correctLabel(image));
    const rows = Math.ceil(Math.min(100, digits.images.count) / 10);
    expect([width, height]).toEqual([4 + 10 * (SIDE + 4), 4 + rows * (SIDE + 12 + 4)]);
    expect(pixels).toHaveLength(3 * width * height);
  });

  test('tints wrongly classified images, and draws their predicted digit in another colour', () => {
    const picture = drawSample(digits, (_images, image) =>
      image === 1 ? (correctLabel(1) + 1) % 10 : correctLabel(image),
    );
    /** Returns the colours of an image and its predicted digit. */
    const coloursOf = (image: number) => {
      const colours = new Set<string>();
      const left = 4 + image * (SIDE + 4);
      for (let y = 4; y < 4 + SIDE + 12; y++)
        for (let x = left; x < left + SIDE; x++) colours.add(colourAt(picture, x, y).join());
      return colours;
    };
    // Dark red tints a wrong image. The predicted digit is green when correct, and red when wrong.
    expect([coloursOf(0).has('127,29,29'), coloursOf(1).has('127,29,29')]).toEqual([false, true]);
    expect([coloursOf(0).has('74,222,128'), coloursOf(1).has('248,113,113')]).toEqual([true, true]);
  });

  test('draws a sample when the network predicts no digit', () => {
    expect(drawSample(digits, () => -1).pixels.length).toBeGreaterThan(0);
  });
});
