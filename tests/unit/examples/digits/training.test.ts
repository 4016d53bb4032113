import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { decodeCheckpoint, encodeCheckpoint } from '../../../../examples/digits/checkpoint-format.ts';
import type { TrainingConfig } from '../../../../examples/digits/config.ts';
import { findMnistFolder, type LabelledImages, labelImages } from '../../../../examples/digits/dataset.ts';
import { parseIdx } from '../../../../examples/digits/idx.ts';
import { countParameters } from '../../../../examples/digits/network.ts';
import type { Progress } from '../../../../examples/digits/progress.ts';
import { createSchedule } from '../../../../examples/digits/schedule.ts';
import { type TrainingState, train } from '../../../../examples/digits/training.ts';
import { makeConfig, makeDigits, SIDE, valueOf } from './builders.ts';

const digits = makeDigits();
const shape = { inputs: SIDE * SIDE, hidden: makeConfig().hidden, outputs: 10 };
/** Three epochs of 8 steps. */
const TOTAL_STEPS = 24;

/** Trains with a clock that advances 100 ms at each reading. Aborts the training when it saves step `stopAfter`. */
async function trainOn(
  config: TrainingConfig,
  { start, stopAfter }: { start?: TrainingState; stopAfter?: number } = {},
) {
  const stop = new AbortController();
  const reports: Progress[] = [];
  const accuracies: number[] = [];
  const saves: TrainingState[] = [];
  let clockMs = 0;
  if (stopAfter === 0) stop.abort();
  const ports = {
    now: () => (clockMs += 100),
    report: (progress: Progress) => {
      reports.push(progress);
    },
    onEpoch: (_epoch: number, accuracy: number) => {
      accuracies.push(accuracy);
    },
    save: async (state: TrainingState) => {
      saves.push({ ...state, parameters: state.parameters.slice(), velocity: state.velocity.slice() });
      if (state.step === stopAfter) stop.abort();
    },
    stop: stop.signal,
  };
  const outcome = await train(config, digits, shape, ports, start);
  return { outcome, reports, accuracies, saves };
}

/** Encodes the state as a checkpoint and decodes it again. */
function throughFile(state: TrainingState): TrainingState {
  const bytes = encodeCheckpoint({ ...state, identity: {} });
  return valueOf(decodeCheckpoint(bytes, {}, countParameters(shape)));
}

describe('training', () => {
  test('saves a checkpoint at each interval and at the end, and reports the accuracy of each epoch', async () => {
    const { outcome, saves, accuracies, reports } = await trainOn(makeConfig({ checkpointEvery: 10 }));
    expect(saves.map(state => state.step)).toEqual([10, 20, TOTAL_STEPS]);
    expect(accuracies.length).toBe(3);
    expect(outcome).toMatchObject({ kind: 'finished', accuracy: accuracies[2] });
    expect(reports.at(-1)).toMatchObject({ step: TOTAL_STEPS, totalSteps: TOTAL_STEPS, epoch: 3 });
    expect(reports.every(report => Number.isFinite(report.loss))).toBe(true);
  });

  test('lowers the loss and recognizes unseen images', async () => {
    const { outcome, reports } = await trainOn(makeConfig({ epochs: 30, hidden: 6 }));
    expect(reports[0]!.loss).toBeGreaterThan(2);
    expect(reports.at(-1)!.loss).toBeLessThan(0.5);
    expect(outcome).toMatchObject({ kind: 'finished' });
    expect(outcome.kind === 'finished' && outcome.accuracy).toBeGreaterThan(0.85);
  });

  // Steps before and in the first epoch, at its end, in the next epoch, before the last step, and at the end.
  test.for([0, 3, 8, 13, 23, 24])(
    'reaches exactly the same weights when resumed after step %i',
    async stopAfter => {
      const whole = await trainOn(makeConfig({ checkpointEvery: 24 }));
      const first = await trainOn(makeConfig({ checkpointEvery: Math.max(1, stopAfter) }), { stopAfter });
      expect(first.outcome.kind).toBe('stopped');
      const saved = first.saves.at(-1)!;
      expect(saved.step).toBe(stopAfter);
      const second = await trainOn(makeConfig({ checkpointEvery: 24 }), { start: throughFile(saved) });
      const uninterrupted = whole.saves.at(-1)!;
      const resumed = second.saves.at(-1)!;
      expect(resumed.step).toBe(TOTAL_STEPS);
      expect(resumed.parameters).toEqual(uninterrupted.parameters);
      expect(resumed.velocity).toEqual(uninterrupted.velocity);
      expect(resumed.runningLoss).toBe(uninterrupted.runningLoss);
      expect(resumed.trainSeconds).toBeGreaterThan(saved.trainSeconds);
      expect(second.outcome).toMatchObject({ accuracy: whole.accuracies.at(-1) });
    },
  );

  test('stops in the middle of an epoch when the caller aborts the training', async () => {
    const config = makeConfig({ epochs: 1, batchSize: 1 });
    const stop = new AbortController();
    let clockMs = 0;
    const outcome = await train(config, digits, shape, {
      now: () => (clockMs += 100),
      report: () => setImmediate(() => stop.abort()),
      onEpoch: () => {},
      save: async () => {},
      stop: stop.signal,
    });
    expect(outcome.kind === 'stopped' && outcome.state.step).toBe(1);
  });

  test('learns other weights with another seed', async () => {
    const first = await trainOn(makeConfig({ seed: 1 }));
    const second = await trainOn(makeConfig({ seed: 2 }));
    expect(first.saves[0]!.parameters).not.toEqual(second.saves[0]!.parameters);
  });

  test('stops a training whose loss diverges, and saves no state', async () => {
    const { outcome, saves } = await trainOn(makeConfig({ learningRate: 100, finalLearningRate: 100 }));
    expect(outcome).toMatchObject({ kind: 'diverged', learningRate: 100 });
    expect(outcome.kind === 'diverged' && outcome.symptom).toMatch(
      /^the mean loss is .* guessing would cost 2\.30$/,
    );
    expect(saves).toEqual([]);
  });

  test('does not save overflowed weights before the loss shows the overflow', async () => {
    const healthy = (await trainOn(makeConfig(), { stopAfter: 0 })).saves[0]!;
    const velocity = healthy.velocity.slice();
    // The hidden unit is never active, so the loss does not depend on its infinite weight.
    const parameters = healthy.parameters.slice();
    parameters[shape.inputs * shape.hidden] = -1e30;
    velocity[0] = Number.POSITIVE_INFINITY;
    const start = { ...healthy, step: TOTAL_STEPS - 1, parameters, velocity };
    const { outcome, saves } = await trainOn(makeConfig(), { start });
    expect(outcome).toMatchObject({ kind: 'diverged', symptom: 'a weight is no longer a finite number' });
    expect(saves).toEqual([]);
  });
});

describe('the schedule', () => {
  const schedule = createSchedule(makeConfig(), 60);

  test('visits each image once per epoch, and in a different order in each epoch', () => {
    const orders = [0, 8].map(first =>
      Array.from({ length: 8 }, (_, index) => [...schedule.batchAt(first + index)]).flat(),
    );
    for (const order of orders) expect(new Set(order).size).toBe(60);
    expect(orders[0]!.length).toBe(60);
    expect(orders[0]).not.toEqual(orders[1]);
    expect(schedule.batchAt(7).length).toBe(4);
  });

  test('changes the learning rate linearly from the first step to the last step', () => {
    const rates = [0, 11.5, 23].map(schedule.learningRateAt);
    expect(rates[0]).toBe(0.1);
    expect(rates[1]).toBeCloseTo(0.055, 12);
    expect(rates[2]).toBeCloseTo(0.01, 12);
    expect(createSchedule(makeConfig({ epochs: 1, batchSize: 60 }), 60).learningRateAt(0)).toBe(0.1);
  });
});

test('learns handwritten digits from two thousand samples', async () => {
  const folder = findMnistFolder()!;
  const images = valueOf(parseIdx(await readFile(join(folder, 't10k-images-idx3-ubyte')), 3));
  const labels = valueOf(parseIdx(await readFile(join(folder, 't10k-labels-idx1-ubyte')), 1));
  const take = (from: number, to: number): LabelledImages =>
    valueOf(
      labelImages(
        { shape: [to - from, 28, 28], data: images.data.subarray(from * 784, to * 784) },
        { shape: [to - from], data: labels.data.subarray(from, to) },
      ),
    );
  const outcome = await train(
    makeConfig({ epochs: 4, batchSize: 16, learningRate: 0.02, hidden: 32 }),
    { training: take(0, 2000), test: take(9000, 10_000) },
    { inputs: 784, hidden: 32, outputs: 10 },
    {
      now: () => 0,
      report: () => {},
      onEpoch: () => {},
      save: async () => {},
      stop: new AbortController().signal,
    },
  );
  expect(outcome.kind === 'finished' && outcome.accuracy).toBeGreaterThan(0.75);
});
