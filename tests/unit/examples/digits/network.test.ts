import { expect, test } from 'vitest';
import type { SparseImages } from '../../../../examples/digits/dataset.ts';
import { createNetwork, stepWithMomentum } from '../../../../examples/digits/network.ts';
import { createRandom } from '../../../../examples/digits/random.ts';

const shape = { inputs: 6, hidden: 5, outputs: 3 };

/** Three images. The second image has no pixels, so its scores depend only on the biases. */
const images: SparseImages = {
  count: 3,
  width: 6,
  starts: Uint32Array.of(0, 3, 3, 5),
  columns: Uint16Array.of(0, 2, 5, 1, 2),
  values: Float32Array.of(0.5, 1, 0.25, 0.75, 0.5),
};
const labels = [2, 0, 1];

function createTestNetwork() {
  const network = createNetwork(shape, createRandom(3, 0));
  // Replaces all zero biases by random values, because ReLU has no derivative at zero for the image without pixels.
  const random = createRandom(4, 0);
  for (const [index, value] of network.parameters.entries()) {
    if (value === 0) network.parameters[index] = random.next() - 0.3;
  }
  return network;
}

test('computes gradients that match finite differences of the loss', () => {
  const network = createTestNetwork();
  const sumLosses = () => labels.reduce((sum, label, i) => sum + network.backpropagate(images, i, label), 0);
  sumLosses();
  const gradients = network.gradients.slice();
  const distance = 2 ** -10;
  const numeric = Float32Array.from(network.parameters, (value, index) => {
    network.parameters[index] = value + distance;
    const above = network.parameters[index];
    const lossAbove = sumLosses();
    network.parameters[index] = value - distance;
    const between = above - network.parameters[index];
    const slope = (lossAbove - sumLosses()) / between;
    network.parameters[index] = value;
    return slope;
  });
  const maxDifference = Math.max(...gradients.map((value, index) => Math.abs(value - numeric[index]!)));
  expect(gradients.filter(value => value !== 0).length).toBeGreaterThan(gradients.length / 2);
  expect(maxDifference).toBeLessThan(1e-5);
});

test('has the loss of random guessing when all weights are zero', () => {
  const network = createNetwork(shape, createRandom(3, 0));
  network.parameters.fill(0);
  expect(network.backpropagate(images, 0, 1)).toBeCloseTo(Math.log(3), 12);
});

test('keeps the loss finite for large scores, and propagates NaN from the hidden layer', () => {
  const network = createTestNetwork();
  const outputBiases = network.parameters.subarray(-3);
  outputBiases.set([1e6, 0, 0]);
  expect(network.backpropagate(images, 0, 0)).toBe(0);
  expect(network.backpropagate(images, 0, 1)).toBeGreaterThan(9e5);
  network.parameters[0] = Number.NaN;
  expect(network.backpropagate(images, 0, 0)).toBeNaN();
});

test('predicts the class with the highest score', () => {
  const network = createNetwork(shape, createRandom(3, 0));
  network.parameters.fill(0);
  network.parameters.set([-1, 2, 1], network.parameters.length - 3);
  expect(network.classify(images, 0)).toBe(1);
});

test('moves the parameters against the mean gradient with momentum, and clears the gradients', () => {
  const network = createNetwork({ inputs: 1, hidden: 1, outputs: 1 }, createRandom(3, 0));
  const velocity = new Float32Array(4);
  const settings = { learningRate: 0.5, momentum: 0.75, batchSize: 2 };
  network.parameters.fill(1);
  network.gradients.set([4, 0, 0, 0]);
  stepWithMomentum(network, velocity, settings);
  expect([...network.parameters]).toEqual([0, 1, 1, 1]);
  expect([...network.gradients]).toEqual([0, 0, 0, 0]);
  stepWithMomentum(network, velocity, settings);
  expect([...network.parameters]).toEqual([-0.75, 1, 1, 1]);
  expect([...velocity]).toEqual([1.5, 0, 0, 0]);
});

test('initializes weights with random values of both signs that depend on the seed', () => {
  const weights = createNetwork(shape, createRandom(3, 0)).parameters.subarray(0, 30);
  const otherSeed = createNetwork(shape, createRandom(4, 0)).parameters.subarray(0, 30);
  expect(weights).not.toEqual(otherSeed);
  expect(Math.min(...weights)).toBeLessThan(0);
  expect(Math.max(...weights)).toBeGreaterThan(0);
  expect(Math.max(...weights.map(Math.abs))).toBeLessThanOrEqual(1);
});
