/** Tests how the panel sorts the files of a job into samples, checkpoints and other files. */
import { describe, expect, test } from 'vitest';
import { type ArtifactView, type CheckpointView, kindOf } from '../../../../../../protocol/artifact.ts';
import { JobId } from '../../../../../../protocol/ids.ts';
import { sizeText } from '../../../../../../renderer/pages/jobs/figures.ts';
import {
  comparable,
  groupsOf,
  newestPicture,
  promptName,
  sortForDeletion,
  sampleOf,
  sortFiles,
} from '../../../../../../renderer/pages/jobs/files/sorting.ts';

const file = (key: string, minute = 0): ArtifactView => ({
  job_id: JobId.parse('j_1'),
  key,
  kind: kindOf(key),
  bytes: 10,
  sha256: 'a'.repeat(64),
  attempt: 1,
  created_at: `2026-01-01T00:${String(minute).padStart(2, '0')}:00Z`,
});
const checkpoint = (name: string): CheckpointView => ({
  name,
  step: 1,
  files: 1,
  bytes: 1,
  complete: true,
  newest: true,
  best: false,
  loss: null,
  attempt: 1,
  created_at: '2026-01-01T00:00:00Z',
});
const keysOf = (files: readonly { readonly key: string }[]) => files.map(({ key }) => key);

test('sorts each file into samples, the files of a listed checkpoint, or other files', () => {
  const files = [
    'step_5.png',
    'checkpoint-5/model.bin',
    'checkpoint-6.bin',
    'model.safetensors',
    'notes.svg',
  ];
  const { samples, others } = sortFiles(
    files.map(key => file(key)),
    [checkpoint('checkpoint-5')],
  );
  expect(samples.map(({ name }) => name)).toEqual(['step_5.png']);
  // The server does not list checkpoint-6, so its file belongs to the other files.
  expect(keysOf(others)).toEqual(['checkpoint-6.bin', 'model.safetensors', 'notes.svg']);
});

test.each([
  ['samples/step_500_a-cat_1024.png', 'picture', 'image/png', { unit: 'step', count: 500 }],
  ['checkpoint-0200/val.JPG', 'picture', 'image/jpeg', { unit: 'step', count: 200 }],
  ['out/epoch-3/cat.webm', 'film', 'video/webm', { unit: 'epoch', count: 3 }],
  ['cat_000500.webp', 'picture', 'image/webp', null],
  ['scan.tiff', null, '', null],
  ['stepfather.gif', 'picture', 'image/gif', null],
])(
  'recognizes the kind, media type and position of %s from its name: %s, "%s", %j',
  (key, kind, type, at) => {
    expect(sampleOf(file(key))).toMatchObject({ kind, type, at });
  },
);

test.each([
  ['digits', 'sample-000938.png', 'sample-001876.png', 'step', 938],
  [
    'SimpleTuner',
    'validation_images/step_500_cat_1024x1024.png',
    'validation_images/step_1000_cat_1024x1024.png',
    'step',
    500,
  ],
  ['SimpleTuner', 'step_20_prompt_0_64x64.png', 'step_40_prompt_0_64x64.png', 'step', 20],
  [
    'ai-toolkit',
    'samples/1713012345678__000000250_0.jpg',
    'samples/1713012999999__000000500_0.jpg',
    'step',
    250,
  ],
  [
    'kohya',
    'sample/lora_000250_00_20240101123456_42.png',
    'sample/lora_000500_00_20240101124456_42.png',
    'step',
    250,
  ],
  [
    'kohya',
    'sample/lora_e000010_01_20240101123456.png',
    'sample/lora_e000020_01_20240101133456.png',
    'epoch',
    10,
  ],
  [
    'kohya without output_name',
    'sample/000250_00_20240101123456_42.png',
    'sample/000500_00_20240101124456_42.png',
    'step',
    250,
  ],
  [
    'OneTrainer with a file name prefix',
    'samples/0 - a cat/mine2024-01-01_12-34-56-training-sample-250-1-50.png',
    'samples/0 - a cat/mine2024-01-01_12-44-56-training-sample-500-2-100.png',
    'step',
    250,
  ],
  [
    'OneTrainer',
    'samples/0 - a cat/2024-01-01_12-34-56-training-sample-250-1-50.jpg',
    'samples/0 - a cat/2024-01-01_12-44-56-training-sample-500-2-100.jpg',
    'step',
    250,
  ],
])(
  'places a sample of %s (%s) at its step or epoch, and compares the sample with %s',
  (_trainer, key, later, unit, count) => {
    const [first, second] = [sampleOf(file(key)), sampleOf(file(later))];
    expect(first.at).toEqual({ unit, count });
    expect(comparable(first, [first, second]).map(sample => sample.file.key)).toEqual([later]);
    expect(groupsOf([first, second]).map(({ at }) => at?.count)).toEqual([second.at?.count, count]);
  },
);

test.each([
  ['step_10/sample_0.png', 10],
  ['sample_3.png', null],
  ['sample/lora_000250_01_20240101123456_42.png', 250],
])('does not confuse the prompt number with the step in %s', (key, count) => {
  const sample = sampleOf(file(key));
  expect(sample.at?.count ?? null).toBe(count);
  const other = sampleOf(file('sample/lora_000500_00_20240101124456_42.png'));
  expect(comparable(sample, [other])).toEqual([]);
});

test('assigns no media type to files other than known pictures and films', () => {
  for (const key of ['page.svg', 'page.html', 'page.png.svg', 'png', 'page.pdf'])
    expect(sampleOf(file(key))).toMatchObject({ kind: null, type: '' });
});

test('groups samples by step, newest first, and sorts each group by prompt', () => {
  const groups = groupsOf(
    [
      file('s/step_20_b10.png', 3),
      file('s/step_20_b9.png', 2),
      file('s/step_10_b9.png', 1),
      file('loose.png', 5),
      file('extra/loose.png', 0),
    ].map(sampleOf),
  );
  expect(
    groups.map(({ at, folder, samples }) => [at?.count ?? folder, samples.map(({ name }) => name)]),
  ).toEqual([
    ['', ['loose.png']],
    [20, ['step_20_b9.png', 'step_20_b10.png']],
    [10, ['step_10_b9.png']],
    ['extra', ['loose.png']],
  ]);
});

test('sorts samples of the same upload time by step, latest first', () => {
  const groups = groupsOf(['step_10.png', 'step_30.png', 'step_20.png'].map(key => sampleOf(file(key))));
  expect(groups.map(({ at }) => at?.count)).toEqual([30, 20, 10]);
});

test('sorts samples of an attempt by step, even when a later step was uploaded earlier', () => {
  const uploads = [
    file('step_600.png', 1),
    file('step_500.png', 2),
    file('loose.png', 3),
    { ...file('step_100.png', 4), attempt: 2 },
  ];
  expect(groupsOf(uploads.map(sampleOf)).map(({ at }) => at?.count)).toEqual([100, undefined, 600, 500]);
});

test('compares a sample with the samples of the same name at other steps', () => {
  const samples = [
    's/step_20_cat.png',
    's/step_10_cat.png',
    's/step_5_cat.png',
    's/step_10_dog.png',
    's/step_10_cat.mp4',
    'cat.png',
  ].map(key => sampleOf(file(key)));
  const [first, , , , , loose] = samples;
  if (first === undefined || loose === undefined) throw new Error('a sample is missing');
  expect(comparable(first, samples).map(({ file: { key } }) => key)).toEqual([
    's/step_5_cat.png',
    's/step_10_cat.png',
  ]);
  expect(comparable(loose, samples)).toEqual([]);
});

test('deletes the manifest of a checkpoint before its other files', () => {
  const files = ['c-step-1/a', 'c-step-1/checkpoint-manifest.json', 'c-step-1/b'].map(key => file(key));
  expect(keysOf(sortForDeletion(files))).toEqual([
    'c-step-1/checkpoint-manifest.json',
    'c-step-1/a',
    'c-step-1/b',
  ]);
});

describe('sizeText', () => {
  test.each([
    [0, '0B'],
    [1, '1B'],
    [999, '999B'],
    [1_000, '1 kB'],
    [12_345, '12.3 kB'],
    [999_600, '1 MB'],
    [2_340_000_000, '2.34 GB'],
    [5e15, '5,000 TB'],
  ])('formats %d bytes in the largest suitable unit', (bytes, text) => {
    expect(sizeText(bytes, 'en')).toBe(text);
  });
});

test.each([
  ['samples/step_500_red_rose_1024x1024.png', 'red rose'],
  ['samples/step_500_a-cat.png', 'a cat'],
  ['step-500/rose.png', 'rose'],
  ['samples/sample-000938.png', null],
  ['samples/step_500_0.png', null],
  ['rose.png', null],
])('reads the prompt from the file name %j', (key, prompt) => {
  expect(promptName(sampleOf(file(key)))).toBe(prompt);
});

test('newestPicture returns an image of the newest step, and skips films and huge images', () => {
  const huge = { ...file('step_300_rose.png', 3), bytes: 16_000_001 };
  const files = [
    huge,
    file('step_300_rose.mp4', 3),
    file('step_200_tulip.png', 2),
    file('step_200_rose.png', 2),
    file('step_100_rose.png', 1),
    file('model.safetensors', 4),
  ];
  expect(newestPicture(files)?.name).toBe('step_200_rose.png');
  expect(newestPicture([huge])).toBeNull();
});
