/** What a job has brought, as the panel sorts it: pictures by their steps, checkpoints apart, nothing left out. */
import { describe, expect, test } from 'vitest';
import { type ArtifactView, type CheckpointView, kindOf } from '../../../protocol/artifact.ts';
import { JobId } from '../../../protocol/ids.ts';
import { sizeText } from '../../../renderer/pages/jobs/figures.ts';
import {
  comparable,
  groupsOf,
  inOrderOfDeletion,
  sampleOf,
  sorted,
} from '../../../renderer/pages/jobs/files/sorting.ts';

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

test('each file is in one place: a sample, of a checkpoint that is listed, or another one', () => {
  const files = [
    'step_5.png',
    'checkpoint-5/model.bin',
    'checkpoint-6.bin',
    'model.safetensors',
    'notes.svg',
  ];
  const { samples, others } = sorted(
    files.map(key => file(key)),
    [checkpoint('checkpoint-5')],
  );
  expect(samples.map(({ name }) => name)).toEqual(['step_5.png']);
  // Nobody else would show one that the server does not list.
  expect(keysOf(others)).toEqual(['checkpoint-6.bin', 'model.safetensors', 'notes.svg']);
});

test.each([
  ['samples/step_500_a-cat_1024.png', 'picture', 'image/png', { unit: 'step', count: 500 }],
  ['checkpoint-0200/val.JPG', 'picture', 'image/jpeg', { unit: 'step', count: 200 }],
  ['out/epoch-3/cat.webm', 'film', 'video/webm', { unit: 'epoch', count: 3 }],
  ['cat_000500.webp', 'picture', 'image/webp', null],
  ['scan.tiff', null, '', null],
  ['stepfather.gif', 'picture', 'image/gif', null],
])('%s is seen as what its name says', (key, kind, type, at) => {
  expect(sampleOf(file(key))).toMatchObject({ kind, type, at });
});

test('what is no picture of a known type has no type that a browser could open', () => {
  for (const key of ['page.svg', 'page.html', 'page.png.svg', 'png', 'page.pdf'])
    expect(sampleOf(file(key))).toMatchObject({ kind: null, type: '' });
});

test('samples of a step are together, the newest first; the same prompt is at the same place', () => {
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

test('of those that came at once the later step is first', () => {
  const groups = groupsOf(['step_10.png', 'step_30.png', 'step_20.png'].map(key => sampleOf(file(key))));
  expect(groups.map(({ at }) => at?.count)).toEqual([30, 20, 10]);
});

test('a sample is compared with those of the same name at other steps', () => {
  const samples = [
    's/step_20_cat.png',
    's/step_10_cat.png',
    's/step_5_cat.png',
    's/step_10_dog.png',
    's/step_10_cat.mp4',
    'cat.png',
  ].map(key => sampleOf(file(key)));
  const [first, , , , , loose] = samples;
  if (first === undefined || loose === undefined) throw new Error('there are six');
  expect(comparable(first, samples).map(({ file: { key } }) => key)).toEqual([
    's/step_5_cat.png',
    's/step_10_cat.png',
  ]);
  expect(comparable(loose, samples)).toEqual([]);
});

test('a checkpoint is deleted from the file on that says that it is whole', () => {
  const files = ['c-step-1/a', 'c-step-1/checkpoint-manifest.json', 'c-step-1/b'].map(key => file(key));
  expect(keysOf(inOrderOfDeletion(files))).toEqual([
    'c-step-1/checkpoint-manifest.json',
    'c-step-1/a',
    'c-step-1/b',
  ]);
});

describe('the size of a file is in the greatest unit that it fills', () => {
  test.each([
    [0, '0B'],
    [1, '1B'],
    [999, '999B'],
    [1_000, '1 kB'],
    [12_345, '12.3 kB'],
    [999_600, '1 MB'],
    [2_340_000_000, '2.34 GB'],
    [5e15, '5,000 TB'],
  ])('%d', (bytes, text) => {
    expect(sizeText(bytes, 'en')).toBe(text);
  });
});
