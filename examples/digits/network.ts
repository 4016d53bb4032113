import type { SparseImages } from './dataset.ts';
import type { Random } from './random.ts';

/** The layer sizes: numbers of pixels, hidden units and classes. */
export type Shape = { readonly inputs: number; readonly hidden: number; readonly outputs: number };

/**
 * A network with one hidden layer: ReLU, then softmax with cross-entropy. One array contains all parameters, so that optimizer
 * and checkpoint do not depend on the layers. Its layout: input weights [inputs x hidden], hidden biases
 * [hidden], output weights [outputs x hidden], output biases [outputs].
 */
export type Network = {
  readonly parameters: Float32Array;
  /** Has the same layout as `parameters`. `backpropagate` adds to it, and the optimizer step clears it. */
  readonly gradients: Float32Array;
  /** Computes the loss of one image, and adds its gradient to `gradients`. Returns the loss in nats. */
  readonly backpropagate: (images: SparseImages, image: number, label: number) => number;
  /** Returns the most probable class of one image. */
  readonly classify: (images: SparseImages, image: number) => number;
};

export function countParameters({ inputs, hidden, outputs }: Shape): number {
  return inputs * hidden + hidden + outputs * hidden + outputs;
}

/** Initialises the weights after He et al. 2015 (uniform, variance 2 / fan-in), and the biases with zero. */
export function createNetwork(shape: Shape, random: Random): Network {
  const parameters = new Float32Array(countParameters(shape));
  const weights = splitLayers(shape, parameters);
  fillUniform(weights.input, Math.sqrt(6 / shape.inputs), random);
  fillUniform(weights.output, Math.sqrt(6 / shape.hidden), random);
  const gradients = new Float32Array(parameters.length);
  const pass = createPasses(shape, weights, splitLayers(shape, gradients));
  return { parameters, gradients, ...pass };
}

type Layers = {
  readonly input: Float32Array;
  readonly hiddenBias: Float32Array;
  readonly output: Float32Array;
  readonly outputBias: Float32Array;
};

function splitLayers({ inputs, hidden, outputs }: Shape, flat: Float32Array): Layers {
  const afterInput = inputs * hidden;
  const afterHidden = afterInput + hidden;
  const afterOutput = afterHidden + outputs * hidden;
  return {
    input: flat.subarray(0, afterInput),
    hiddenBias: flat.subarray(afterInput, afterHidden),
    output: flat.subarray(afterHidden, afterOutput),
    outputBias: flat.subarray(afterOutput),
  };
}

function fillUniform(target: Float32Array, limit: number, random: Random): void {
  for (let index = 0; index < target.length; index++) target[index] = (2 * random.next() - 1) * limit;
}

/**
 * The inner loops run some hundred million times per epoch. Input weights are stored by pixel, so a non-zero pixel reads
 * `hidden` adjacent weights and writes as many gradients. Zero pixels are skipped. `!` marks indices that are always in
 * range, because a fallback would cost one comparison per index.
 */
function createPasses(shape: Shape, weights: Layers, gradients: Layers) {
  const { hidden, outputs } = shape;
  const activations = new Float64Array(hidden);
  const hiddenErrors = new Float64Array(hidden);
  const scores = new Float64Array(outputs);

  function forward(images: SparseImages, image: number): void {
    const { columns, values } = images;
    const end = images.starts[image + 1]!;
    activations.set(weights.hiddenBias);
    for (let k = images.starts[image]!; k < end; k++) {
      const value = values[k]!;
      const row = columns[k]! * hidden;
      for (let unit = 0; unit < hidden; unit++) activations[unit]! += value * weights.input[row + unit]!;
    }
    // Do not write `> 0 ? x : 0`, which would turn NaN into 0 and hide that the training has diverged.
    for (let unit = 0; unit < hidden; unit++) if (activations[unit]! < 0) activations[unit] = 0;
    for (let output = 0; output < outputs; output++) {
      let score = weights.outputBias[output]!;
      const row = output * hidden;
      for (let unit = 0; unit < hidden; unit++) score += weights.output[row + unit]! * activations[unit]!;
      scores[output] = score;
    }
  }

  function backpropagate(images: SparseImages, image: number, label: number): number {
    forward(images, image);
    const loss = toErrors(scores, label);
    hiddenErrors.fill(0);
    for (let output = 0; output < outputs; output++) {
      const error = scores[output]!;
      const row = output * hidden;
      gradients.outputBias[output]! += error;
      for (let unit = 0; unit < hidden; unit++) {
        gradients.output[row + unit]! += error * activations[unit]!;
        hiddenErrors[unit]! += error * weights.output[row + unit]!;
      }
    }
    for (let unit = 0; unit < hidden; unit++) {
      if (activations[unit] === 0) hiddenErrors[unit] = 0;
      gradients.hiddenBias[unit]! += hiddenErrors[unit]!;
    }
    const { columns, values } = images;
    const end = images.starts[image + 1]!;
    for (let k = images.starts[image]!; k < end; k++) {
      const value = values[k]!;
      const row = columns[k]! * hidden;
      for (let unit = 0; unit < hidden; unit++) gradients.input[row + unit]! += value * hiddenErrors[unit]!;
    }
    return loss;
  }

  function classify(images: SparseImages, image: number): number {
    forward(images, image);
    return scores.indexOf(Math.max(...scores));
  }

  return { backpropagate, classify };
}

/**
 * Replaces the scores by (probability - target), and returns the cross-entropy. Subtracts the maximum first, so that large
 * scores do not overflow.
 */
function toErrors(scores: Float64Array, label: number): number {
  const largest = Math.max(...scores);
  let sum = 0;
  for (const score of scores) sum += Math.exp(score - largest);
  const loss = Math.log(sum) - (scores[label]! - largest);
  for (let output = 0; output < scores.length; output++) {
    scores[output] = Math.exp(scores[output]! - largest) / sum - (output === label ? 1 : 0);
  }
  return loss;
}

/**
 * Makes one step of stochastic gradient descent with momentum: velocity = momentum * velocity + mean gradient, parameters -=
 * rate * velocity. Then clears the gradients for the next batch.
 */
export function stepWithMomentum(
  { parameters, gradients }: Network,
  velocity: Float32Array,
  { learningRate, momentum, batchSize }: { learningRate: number; momentum: number; batchSize: number },
): void {
  for (let index = 0; index < parameters.length; index++) {
    const newVelocity = momentum * velocity[index]! + gradients[index]! / batchSize;
    velocity[index] = newVelocity;
    parameters[index]! -= learningRate * newVelocity;
  }
  gradients.fill(0);
}
