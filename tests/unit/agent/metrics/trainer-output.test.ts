/** Tests the progress and curves that the agent reads from sample output of popular trainers (see trainer-output/README.md). */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createPointBook } from '../../../../agent/metrics/point-book.ts';
import { wireProgress } from '../../../../agent/attempt/sent-progress.ts';
import { readAll } from '../../../support/trainer-output.ts';

/** Reads a sample. The samples contain each `\r` as the two characters backslash and r at the end of a line. */
const outputOf = (trainer: string): string =>
  readFileSync(join(import.meta.dirname, 'trainer-output', `${trainer}.txt`), 'utf8').replaceAll(
    '\\r\n',
    '\r',
  );

const progressIn = (text: string) =>
  readAll(text).flatMap(item => (item.kind === 'progress' ? [item.progress] : []));

/** Returns the points of the curve as [step, epoch, values]. */
function curveOf(trainer: string): readonly (readonly [number | undefined, number | undefined, object])[] {
  const book = createPointBook({ isAdopted: false, adoptedMs: 0 });
  for (const progress of progressIn(outputOf(trainer)))
    book.note({ progress: wireProgress(progress), gaps: progress.gaps ?? [] }, 0, false);
  book.closeStep();
  expect(book.isEmpty()).toBe(false);
  return book.batch().map(({ step, epoch, values }) => [step, epoch, values]);
}

/** Returns the last value of each field of the progress. */
const lastOf = (trainer: string) =>
  progressIn(outputOf(trainer)).reduce((merged, progress) => ({ ...merged, ...wireProgress(progress) }), {});

describe('output of trainers', () => {
  test('reads the curve of SimpleTuner', () => {
    expect(curveOf('simpletuner')).toEqual([
      [1, 1, { steps_per_second: 0.5, loss: 0.157, learning_rate: 1e-5 }],
      [2, 1, { steps_per_second: 0.5, loss: 0.142, learning_rate: 2e-5 }],
      [3, 1, { steps_per_second: 0.5, loss: null, learning_rate: 3e-5 }],
      [101, 2, { steps_per_second: 0.5, loss: 0.098, learning_rate: 9.9e-5, grad_absmax: 0.012 }],
    ]);
    expect(lastOf('simpletuner')).toMatchObject({
      step: 101,
      total_steps: 1_000,
      epoch: 2,
      eta_s: 1_798,
      percent: 10.1,
    });
  });

  test("reads the curve of kohya's scripts", () => {
    expect(curveOf('kohya')).toEqual([
      [1, undefined, { steps_per_second: 1, loss: 0.112 }],
      [2, undefined, { steps_per_second: 1, loss: 0.0991 }],
      [401, undefined, { steps_per_second: 1, loss: 0.0923, Average_key_norm: 0.0312, Keys_Scaled: 0 }],
    ]);
    expect(lastOf('kohya')).toMatchObject({ step: 401, total_steps: 1_600, epoch: 2, eta_s: 1_200 });
  });

  test('reads the curve of ai-toolkit', () => {
    expect(curveOf('ai-toolkit')).toEqual([
      [0, undefined, { loss: 0.4216, learning_rate: 1e-4 }],
      [1, undefined, { loss: 0.3456, learning_rate: 1e-4, steps_per_second: expect.closeTo(1 / 3.43) }],
      [2, undefined, { loss: 0.2911, learning_rate: 1e-4, steps_per_second: expect.closeTo(1 / 3.35) }],
      [250, undefined, { loss: 0.2204, learning_rate: 1e-4, steps_per_second: expect.closeTo(1 / 3.36) }],
    ]);
    expect(lastOf('ai-toolkit')).toMatchObject({ step: 250, total_steps: 2_000, eta_s: 5_875 });
  });

  test('reads the curve of OneTrainer, whose steps restart with each epoch', () => {
    expect(curveOf('onetrainer')).toMatchObject([
      [1, 0, { loss: 0.081, smooth_loss: 0.081 }],
      [2, 0, { loss: 0.122, smooth_loss: 0.0814 }],
      [20, 0, { loss: 0.074, smooth_loss: 0.0805 }],
      [21, 1, { loss: 0.069, smooth_loss: 0.0804 }],
    ]);
    expect(lastOf('onetrainer')).toMatchObject({ step: 21, total_steps: 200, epoch: 1, percent: 10.5 });
  });

  test("reads the curve of Hugging Face's Trainer", () => {
    expect(curveOf('hugging-face')).toMatchObject([
      [10, 0.1, { loss: 2.1043, grad_norm: 4.190375804901123, learning_rate: 4.8333333333333334e-5 }],
      [20, 0.2, { loss: 1.8, grad_norm: null, steps_per_second: 2.42 }],
      [100, 1, { steps_per_second: 2.42, eval_loss: 1.62, eval_runtime: 2.0412 }],
      [110, 1.1, { loss: 1.214, grad_norm: 2.5, learning_rate: 3.1e-5 }],
      [300, 3, { train_loss: 1.41, train_runtime: 126.1 }],
    ]);
    expect(lastOf('hugging-face')).toMatchObject({ step: 300, total_steps: 300, loss: 1.214 });
  });

  test('reads the curve of a tqdm loop', () => {
    expect(curveOf('tqdm')).toEqual([
      [10, undefined, { steps_per_second: 5, loss: 0.9 }],
      [20, undefined, { steps_per_second: 5, loss: 0.8, acc: 0.31 }],
      [125, undefined, { steps_per_second: 5, loss: null, acc: 0.42 }],
    ]);
    expect(lastOf('tqdm')).toMatchObject({ step: 125, total_steps: 500, percent: 25, eta_s: 75 });
  });
});

describe('random output', () => {
  const pieces = fc.constantFrom(
    "{'loss': ",
    "{'",
    "', '",
    "': ",
    'nan',
    '1.5',
    '}',
    ', ',
    'lr: ',
    'loss: 1e-4',
    'epoch ',
    '1/10',
    '\r',
    '\n',
    ' 45%|',
    '|',
    ' 450/1000 ',
    '[01:23<01:41, 5.42it/s',
    ', loss=',
    ']',
    'step:',
    '{"type":"progress",',
    '"loss":null}',
  );

  test('returns the same items for any division of random output into chunks, with finite figures', () => {
    const texts = fc.array(fc.oneof(pieces, fc.string({ unit: 'binary', maxLength: 8 })), { maxLength: 60 });
    fc.assert(
      fc.property(texts, outputPieces => {
        const whole = readAll(outputPieces.join(''));
        expect(readAll(...outputPieces)).toEqual(whole);
        for (const item of whole) {
          if (item.kind !== 'progress') continue;
          for (const figure of Object.values(item.progress.metrics))
            expect(Number.isFinite(figure)).toBe(true);
        }
      }),
    );
  });

  test.each([
    ['dicts that never end', "{'loss': 1, "],
    ['names without figures', "': '"],
    ['figures after names', 'lr: 1.0e-04 '],
    ['a bar that is open', ' 45%|x| 450/1000 [01:23<01:41, '],
    ['brackets', '[01:23<'],
    ['epochs', 'epoch 1/'],
  ])('reads an endless line of %s in linear time', (_title, piece) => {
    const timeOf = (count: number): number => {
      const text = `${piece.repeat(count)}}`;
      const startedAt = performance.now();
      readAll(text);
      return performance.now() - startedAt;
    };
    timeOf(100);
    // Linear work takes about 8 times as long for 8 times the input, and quadratic work takes 64 times as long. The factor
    // of 30 allows for a busy machine.
    const minTimeOf = (count: number): number => Math.min(timeOf(count), timeOf(count), timeOf(count));
    const shortMs = minTimeOf(10_000);
    expect(minTimeOf(80_000)).toBeLessThan(Math.max(50, shortMs * 30));
  });
});
