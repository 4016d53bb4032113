import type { TrainingConfig } from './config.ts';
import { createRandom, shuffleIndices } from './random.ts';

/** The images and the learning rate of each step, which depend only on the config and the step. */
export type Schedule = {
  readonly totalSteps: number;
  /** Returns the epoch of a step. Steps count from 0, epochs from 1. */
  readonly epochAt: (step: number) => number;
  readonly learningRateAt: (step: number) => number;
  /** Returns the indices of the images of a step. The last batch of an epoch can be smaller. */
  readonly batchAt: (step: number) => Uint32Array;
};

/** The random stream of the initial weights. The order of the images in epoch n uses stream n. */
export const WEIGHTS_STREAM = 0;

export function createSchedule(config: TrainingConfig, images: number): Schedule {
  const stepsPerEpoch = Math.ceil(images / config.batchSize);
  const totalSteps = config.epochs * stepsPerEpoch;
  const epochAt = (step: number): number => Math.floor(step / stepsPerEpoch) + 1;
  let current: { readonly epoch: number; readonly order: Uint32Array } = {
    epoch: 0,
    order: new Uint32Array(),
  };

  return {
    totalSteps,
    epochAt,
    learningRateAt: step => {
      const fraction = totalSteps > 1 ? step / (totalSteps - 1) : 0;
      return config.learningRate + (config.finalLearningRate - config.learningRate) * fraction;
    },
    batchAt: step => {
      const epoch = epochAt(step);
      if (current.epoch !== epoch) {
        current = { epoch, order: shuffleIndices(images, createRandom(config.seed, epoch)) };
      }
      const start = (step % stepsPerEpoch) * config.batchSize;
      return current.order.subarray(start, start + config.batchSize);
    },
  };
}
