import { setImmediate } from 'node:timers/promises';
import type { TrainingConfig } from './config.ts';
import type { Digits, LabelledImages } from './dataset.ts';
import { createNetwork, type Network, type Shape, stepWithMomentum } from './network.ts';
import { createReporter, type Progress } from './progress.ts';
import { createRandom } from './random.ts';
import type { Requests } from './requests.ts';
import { createSchedule, WEIGHTS_STREAM } from './schedule.ts';

/** The state of a run after `step` steps. */
export type TrainingState = {
  readonly step: number;
  /** Exponential mean of the batch losses, in nats; undefined before the first step. */
  readonly runningLoss: number | undefined;
  /** Training time so far in seconds, over all attempts. */
  readonly trainSeconds: number;
  readonly parameters: Float32Array;
  readonly velocity: Float32Array;
};

export type TrainingPorts = {
  /** Monotonic, in milliseconds. */
  readonly now: () => number;
  readonly report: (progress: Progress) => void;
  /** Called after each epoch with the share of test images that the network classifies correctly. */
  readonly onEpoch: (epoch: number, accuracy: number) => void;
  /** Saves the state, whose arrays are valid only until the promise settles. `isRequested` is true if a user requested it. */
  readonly save: (state: TrainingState, isRequested: boolean) => Promise<void>;
  /** Handles requests of users during the training. They do not affect the weights. Absent if requests are not supported. */
  readonly requests?: Requests;
  readonly stop: AbortSignal;
};

export type TrainingOutcome =
  | { readonly kind: 'finished'; readonly accuracy: number; readonly state: TrainingState }
  | { readonly kind: 'stopped'; readonly state: TrainingState }
  | {
      readonly kind: 'diverged';
      readonly step: number;
      readonly learningRate: number;
      /** The symptom of the divergence, as a clause for a message. */
      readonly symptom: string;
    };

const NEWEST_LOSS_SHARE = 0.02; // the running mean covers about 50 steps
const YIELD_EVERY_MS = 20;
const IMAGES_PER_YIELD_CHECK = 500;

/**
 * Trains from the beginning, or from `start`, until the epochs are complete, the loss diverges, or `stop` fires. Saves every
 * `checkpointEvery` steps, at the end, on request, and when stopped. Equal configs and digits lead to equal weights, even
 * after interruptions.
 */
export async function train(
  config: TrainingConfig,
  digits: Digits,
  shape: Shape,
  ports: TrainingPorts,
  start?: TrainingState,
): Promise<TrainingOutcome> {
  const { training, test } = digits;
  const schedule = createSchedule(config, training.images.count);
  const network = createNetwork(shape, createRandom(config.seed, WEIGHTS_STREAM));
  const velocity = new Float32Array(network.parameters.length);
  if (start !== undefined) {
    network.parameters.set(start.parameters);
    velocity.set(start.velocity);
  }
  let step = start?.step ?? 0;
  let runningLoss = start?.runningLoss;
  let savedStep: number | undefined;
  const startedMs = ports.now();
  const reporter = createReporter(ports.now, step, ports.report);
  const yieldIfDue = createYielder(ports.now);

  const describeState = (): TrainingState => ({
    step,
    runningLoss,
    trainSeconds: (start?.trainSeconds ?? 0) + (ports.now() - startedMs) / 1000,
    parameters: network.parameters,
    velocity,
  });
  const save = async (isRequested = false): Promise<TrainingState> => {
    const state = describeState();
    if (savedStep !== step) await ports.save(state, isRequested);
    savedStep = step;
    return state;
  };

  while (step < schedule.totalSteps) {
    if (ports.stop.aborted) return { kind: 'stopped', state: await save() };
    const learningRate = schedule.learningRateAt(step);
    const batch = schedule.batchAt(step);
    const epoch = schedule.epochAt(step);
    const loss = backpropagateBatch(network, training, batch);
    runningLoss = runningLoss === undefined ? loss : runningLoss + NEWEST_LOSS_SHARE * (loss - runningLoss);
    stepWithMomentum(network, velocity, {
      learningRate,
      momentum: config.momentum,
      batchSize: batch.length,
    });
    step += 1;
    const isRequested = ports.requests?.consumeSaveRequest() === true;
    const isSaveDue = isRequested || step % config.checkpointEvery === 0 || step === schedule.totalSteps;
    const symptom = findDivergence(runningLoss, shape, isSaveDue ? network.parameters : undefined);
    if (symptom !== undefined) return { kind: 'diverged', step, learningRate, symptom };
    if (isSaveDue) await save(isRequested);
    reporter.afterStep({ step, totalSteps: schedule.totalSteps, epoch, loss: runningLoss, learningRate });
    const endsEpoch = schedule.epochAt(step) !== epoch;
    await ports.requests?.sample({ step, endsEpoch, classify: network.classify });
    if (step < schedule.totalSteps && endsEpoch) {
      const accuracy = await measureAccuracy(network, test, ports.stop);
      if (accuracy !== undefined) ports.onEpoch(epoch, accuracy);
    }
    await yieldIfDue();
  }
  const state = await save();
  const accuracy = await measureAccuracy(network, test, ports.stop);
  if (accuracy === undefined) return { kind: 'stopped', state };
  ports.onEpoch(config.epochs, accuracy);
  return { kind: 'finished', accuracy, state };
}

/** Sums the gradients of the batch. Returns its mean loss. */
function backpropagateBatch(
  network: Network,
  { images, labels }: LabelledImages,
  batch: Uint32Array,
): number {
  let sum = 0;
  for (const image of batch) sum += network.backpropagate(images, image, labels[image] ?? 0);
  return sum / batch.length;
}

/**
 * Returns the symptom of a divergence; undefined for none. Random guesses have a loss of ln(classes). If the mean loss over about
 * fifty steps is ten times as high, the network does not recover: most hidden units are dead. The loss may then fluctuate forever
 * without becoming NaN. `parameters` are given before each save, because an overflow may not affect the loss yet.
 */
function findDivergence(
  runningLoss: number,
  shape: Shape,
  parameters: Float32Array | undefined,
): string | undefined {
  const lossOfGuessing = Math.log(shape.outputs);
  // The negation also detects NaN.
  if (!(runningLoss < 10 * lossOfGuessing)) {
    return `the mean loss is ${runningLoss.toFixed(2)}, and guessing would cost ${lossOfGuessing.toFixed(2)}`;
  }
  return parameters?.every(Number.isFinite) === false ? 'a weight is no longer a finite number' : undefined;
}

/** Returns a function that regularly lets the event loop handle signals and output, because the training never waits. */
function createYielder(now: () => number): () => Promise<void> {
  let lastMs = now();
  return async () => {
    if (now() - lastMs < YIELD_EVERY_MS) return;
    await setImmediate();
    lastMs = now();
  };
}

/** Returns the share of correctly classified images; undefined when stopped early. */
async function measureAccuracy(
  network: Network,
  { images, labels }: LabelledImages,
  stop: AbortSignal,
): Promise<number | undefined> {
  let correctCount = 0;
  for (let image = 0; image < images.count; image++) {
    if (image % IMAGES_PER_YIELD_CHECK === 0) {
      await setImmediate();
      if (stop.aborted) return undefined;
    }
    if (network.classify(images, image) === labels[image]) correctCount += 1;
  }
  return correctCount / images.count;
}
