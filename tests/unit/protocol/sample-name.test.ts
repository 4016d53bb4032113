/** Tests how readSampleName derives step, epoch and prompt of a sample from its file name. */
import { describe, expect, test } from 'vitest';
import { readSampleName, type SampleName } from '../../../protocol/sample-name.ts';

type Case = readonly [key: string, expected: Partial<SampleName>];

const cases: Readonly<Record<string, readonly Case[]>> = {
  'kohya sd-scripts': [
    [
      'sample/my_lora_000250_00_20240101123456_42.png',
      { step: 250, epoch: null, promptIndex: 0, prompt: null, series: 'sample/my_lora_*_00_*_42.png' },
    ],
    ['sample/my_lora_e000010_01_20240101123456.png', { step: null, epoch: 10, promptIndex: 1 }],
    ['sample/000250_02_20240101123456.png', { step: 250, promptIndex: 2 }],
  ],
  'ai-toolkit': [
    [
      'my_lora/samples/1713012345678__000000250_3.jpg',
      { step: 250, promptIndex: 3, series: 'my_lora/samples/*__*_3.jpg' },
    ],
    ['samples/rank01_sample003_1713012345678__000000500_1.jpg', { step: 500, promptIndex: 3 }],
  ],
  OneTrainer: [
    [
      'samples/0 - a cat/2024-01-01_12-34-56-training-sample-250-1-50.jpg',
      {
        step: 250,
        promptIndex: 0,
        prompt: 'a cat',
        series: 'samples/0 - a cat/*-training-sample-*-*.jpg',
      },
    ],
    [
      'samples/custom/2024-01-01_12-34-56-training-sample-250-1-50.jpg',
      { step: 250, promptIndex: null, prompt: null },
    ],
    ['samples/2 - dog/run1-2024-01-01_12-34-56-training-sample-5-0-5.png', { step: 5, promptIndex: 2 }],
  ],
  SimpleTuner: [
    [
      'validation_images/step_500_red_cat_0_1024x1024.png',
      {
        step: 500,
        promptIndex: null,
        prompt: 'red_cat',
        series: 'validation_images/step_*_red_cat_0_1024x1024.png',
      },
    ],
    ['validation_images/step_500_cat_1_512x768.png', { prompt: 'cat (512x768)' }],
    ['step_500_cat_1024x1024.png', { step: 500, prompt: 'cat_1024x1024' }],
    ['step_500_cat_0_480x832.mp4', { step: 500, prompt: 'cat' }],
  ],
  "TensorBoard's event files": [
    [
      'tensorboard-images/step_500_validation-cat_0.png',
      { step: 500, prompt: 'validation-cat', series: 'tensorboard-images/step_*_validation-cat_0.png' },
    ],
    ['tensorboard-images/run/step_500_cat_2.webp', { step: 500, prompt: 'cat (3)' }],
  ],
  'other trainers': [
    ['step-500.png', { step: 500, prompt: null, series: 'step-*.png' }],
    ['out/cat_epoch_3.png', { step: null, epoch: 3, prompt: 'cat' }],
    ['checkpoint-0200/val.JPG', { step: 200, prompt: 'val', series: 'checkpoint-*/val.JPG' }],
    [
      'a/epoch-3/step_5/cat.webm',
      { step: 5, epoch: null, prompt: 'cat', series: 'a/epoch-3/step_*/cat.webm' },
    ],
    ['samples/sample-000938.png', { step: 938, prompt: null, series: 'samples/sample-*.png' }],
    ['sample-003.png', { step: null, epoch: null, prompt: null, series: 'sample-003.png' }],
    ['cat_000500.webp', { step: null, series: 'cat_000500.webp' }],
    ['', { step: null, series: '' }],
  ],
};

for (const [trainer, names] of Object.entries(cases))
  describe(`sample names from ${trainer}`, () => {
    test.each(names)('reads the step and the prompt from "%s"', (key, expected) => {
      expect(readSampleName(key)).toMatchObject(expected);
    });
  });

test('assigns the same series to all steps of a prompt, and another series to another prompt', () => {
  const series = (step: number, prompt: string) =>
    readSampleName(`out/step_${step}_${prompt}_0_64x64.png`).series;
  expect(series(5, 'cat')).toBe(series(10, 'cat'));
  expect(series(5, 'cat')).not.toBe(series(5, 'dog'));
});
