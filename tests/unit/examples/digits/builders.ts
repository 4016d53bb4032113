import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Checked } from '../../../../examples/digits/checked.ts';
import type { Checkpoint } from '../../../../examples/digits/checkpoint-format.ts';
import type { TrainingConfig } from '../../../../examples/digits/config.ts';
import { type Digits, type LabelledImages, labelImages } from '../../../../examples/digits/dataset.ts';
import type { IdxArray } from '../../../../examples/digits/idx.ts';
import { createRandom } from '../../../../examples/digits/random.ts';

export const SIDE = 5;

/** Returns the value of an accepted input; throws when it was rejected. */
export function valueOf<T>(checked: Checked<T>): T {
  if (!checked.ok) throw new Error(`refused: ${checked.reason}`);
  return checked.value;
}

/** Returns the reason of a rejected input; throws when it was accepted. */
export function reasonOf(checked: Checked<unknown>): string {
  if (checked.ok) throw new Error('the input was accepted');
  return checked.reason;
}

export function makeConfig(changes: Partial<TrainingConfig> = {}): TrainingConfig {
  return {
    epochs: 3,
    batchSize: 8,
    learningRate: 0.1,
    finalLearningRate: 0.01,
    momentum: 0.9,
    hidden: 6,
    seed: 7,
    checkpointEvery: 1000,
    keepCheckpoints: 3,
    samples: false,
    ...changes,
  };
}

export function makeCheckpoint(changes: Partial<Checkpoint> = {}): Checkpoint {
  return {
    identity: { hidden: 6, seed: 7 },
    step: 500,
    runningLoss: 0.1 + 0.2,
    trainSeconds: 12.5,
    parameters: Float32Array.of(0.1, -0, 3e-45),
    velocity: Float32Array.of(1, 2, -3),
    ...changes,
  };
}

/** Creates random images of 5 x 5 pixels with two bright pixels per digit. About a third of the other pixels are dark grey. */
function makeRaw(count: number, seed: number): { images: IdxArray; labels: IdxArray } {
  const random = createRandom(seed, 0);
  const data = Uint8Array.from({ length: count * SIDE * SIDE }, () =>
    random.next() < 0.3 ? Math.floor(random.next() * 120) : 0,
  );
  const labels = Uint8Array.from({ length: count }, () => Math.floor(random.next() * 10));
  for (const [image, label] of labels.entries())
    data.fill(255, image * SIDE * SIDE + label * 2, image * SIDE * SIDE + label * 2 + 2);
  return {
    images: { shape: [count, SIDE, SIDE], data },
    labels: { shape: [count], data: labels },
  };
}

function makeImages(count: number, seed: number): LabelledImages {
  const raw = makeRaw(count, seed);
  return valueOf(labelImages(raw.images, raw.labels));
}

/** Creates 60 training images and 40 test images. With batches of 8, an epoch has 8 steps. The last step has only 4 images. */
export function makeDigits(): Digits {
  return { training: makeImages(60, 1), test: makeImages(40, 2) };
}

export function encodeIdx({ shape, data }: IdxArray): Uint8Array {
  const header = Buffer.alloc(4 + 4 * shape.length);
  header.writeUInt32BE(0x0800 | shape.length);
  for (const [axis, size] of shape.entries()) header.writeUInt32BE(size, 4 + 4 * axis);
  return Buffer.concat([header, data]);
}

export async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'digits-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Creates a folder with the four idx files of the images of `makeDigits`. */
export async function makeDataFolder(): Promise<string> {
  const folder = await makeFolder();
  for (const [prefix, count, seed] of [
    ['train', 60, 1],
    ['t10k', 40, 2],
  ] as const) {
    const raw = makeRaw(count, seed);
    await writeFile(join(folder, `${prefix}-images-idx3-ubyte`), encodeIdx(raw.images));
    await writeFile(join(folder, `${prefix}-labels-idx1-ubyte`), encodeIdx(raw.labels));
  }
  return folder;
}
