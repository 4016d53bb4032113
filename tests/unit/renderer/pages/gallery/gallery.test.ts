/** Tests that the gallery arranges the samples of several jobs by job, prompt and step. */
import { describe, expect, test } from 'vitest';
import { kindOf } from '../../../../../protocol/artifact.ts';
import type { SampleView } from '../../../../../protocol/artifacts-api.ts';
import { JobId } from '../../../../../protocol/ids.ts';
import { readSampleName } from '../../../../../protocol/sample-name.ts';
import { readView, writeView } from '../../../../../renderer/pages/gallery/address.ts';
import {
  compareSamples,
  type GallerySample,
  groupByJob,
  mergeSamples,
  neighboursOf,
  indexOfPosition,
  sampleAt,
  unitsOf,
} from '../../../../../renderer/pages/gallery/model.ts';
import { columnsIn, tileAfterKey, wallRows } from '../../../../../renderer/pages/gallery/wall-rows.ts';

const [a, b] = [JobId.parse('j_a'), JobId.parse('j_b')];

function view(job: JobId, key: string, order: number): SampleView {
  const { step, epoch, promptIndex, prompt } = readSampleName(key);
  return {
    job_id: job,
    key,
    kind: kindOf(key),
    bytes: 10,
    sha256: String(order),
    attempt: 1,
    created_at: '2026-01-01T00:00:00Z',
    order,
    name: null,
    config_name: `config of ${job}`,
    step,
    epoch,
    prompt_index: promptIndex,
    prompt,
  };
}
const sample = (step: number, prompt: string): string => `step_${step}_${prompt}_0_64x64.png`;
const samplesOf = (...views: readonly SampleView[]) => mergeSamples([], views);
const keysOf = (samples: readonly (GallerySample | null)[]) => samples.map(entry => entry?.view.key ?? null);

/** The samples of two jobs that share the prompt "cat", but have different steps. */
const allSamples = samplesOf(
  view(a, sample(100, 'cat'), 1),
  view(a, sample(100, 'dog'), 2),
  view(b, sample(150, 'cat'), 3),
  view(a, sample(200, 'cat'), 4),
  view(a, 'scan.png', 5),
);

describe('reading samples', () => {
  test('sorts samples newest first, and replaces a file that was stored again', () => {
    const merged = mergeSamples(allSamples, [view(a, sample(100, 'cat'), 6), view(b, sample(300, 'cat'), 7)]);
    expect(merged.map(({ view: { order } }) => order)).toEqual([7, 6, 5, 4, 3, 2]);
  });

  test('returns the same list when nothing is new, also when an older page repeats a file', () => {
    expect(mergeSamples(allSamples, [view(a, sample(200, 'cat'), 4), view(a, sample(200, 'cat'), 0)])).toBe(
      allSamples,
    );
  });

  test('groups samples by job and lists the job with the newest sample first', () => {
    expect(groupByJob(allSamples).map(({ job, name, samples }) => [job, name, samples.length])).toEqual([
      [a, 'config of j_a', 4],
      [b, 'config of j_b', 1],
    ]);
  });
});

describe('comparing jobs', () => {
  const { positions, rows, unplaced } = compareSamples(allSamples, 'step');

  test('returns the steps of all jobs, a row per prompt, and the number of samples without a step', () => {
    expect(positions).toEqual([100, 150, 200]);
    expect(rows.map(({ first }) => first.prompt)).toEqual(['cat', 'dog']);
    expect(unplaced).toBe(1);
  });

  test('shows the last sample at or before a step, and no sample at steps before the first sample', () => {
    const cats = (job: JobId) => rows[0]?.byJob.get(job) ?? [];
    expect(keysOf([100, 150, 200].map(step => sampleAt(cats(a), step)))).toEqual([
      sample(100, 'cat'),
      sample(100, 'cat'),
      sample(200, 'cat'),
    ]);
    expect(keysOf([100, 150, 200].map(step => sampleAt(cats(b), step)))).toEqual([
      null,
      sample(150, 'cat'),
      sample(150, 'cat'),
    ]);
  });

  test('prefers the later upload of the same prompt and step', () => {
    const sameStep = samplesOf(view(a, `1/${sample(5, 'cat')}`, 2), view(a, `2/${sample(5, 'cat')}`, 1));
    const [row] = compareSamples(sameStep, 'step').rows;
    expect(sampleAt(row?.byJob.get(a) ?? [], 5)?.view.order).toBe(2);
  });

  test('sorts prompts by their numbers', () => {
    const prompts = [10, 2, 0].map((prompt, order) =>
      view(a, `1713012345678__000000250_${prompt}.jpg`, order),
    );
    expect(compareSamples(samplesOf(...prompts), 'step').rows.map(row => row.first.prompt_index)).toEqual([
      0, 2, 10,
    ]);
  });

  test('compares by epoch when the file names contain no step', () => {
    const epochs = samplesOf(
      view(a, 'x_e000001_00_20240101123456.png', 1),
      view(a, 'x_e000002_00_20240101123456.png', 2),
    );
    expect(unitsOf(epochs)).toEqual(['epoch']);
    expect(compareSamples(epochs, 'epoch').positions).toEqual([1, 2]);
    expect(compareSamples(epochs, 'step')).toEqual({ positions: [], rows: [], unplaced: 2 });
    expect(unitsOf([...epochs, ...allSamples])).toEqual(['step', 'epoch']);
  });

  test.each([
    [null, 2],
    [150, 1],
    [199, 1],
    [5, 0],
    [900, 2],
  ])('selects for step %s the position at index %s', (position, index) => {
    expect(indexOfPosition(positions, position)).toBe(index);
  });
});

describe('moving in full screen', () => {
  const byKey = (key: string): GallerySample => {
    const match = allSamples.find(entry => entry.view.key === key);
    if (match === undefined) throw new Error(`no sample has the key ${key}`);
    return match;
  };
  const neighbourKeys = (key: string) => {
    const { before, after, above, below } = neighboursOf(byKey(key), allSamples);
    return keysOf([before, after, above, below]);
  };

  test('moves sideways to other steps of a prompt, and up or down to other prompts at or before the step', () => {
    expect(neighbourKeys(sample(100, 'cat'))).toEqual([null, sample(200, 'cat'), null, sample(100, 'dog')]);
    expect(neighbourKeys(sample(200, 'cat'))).toEqual([sample(100, 'cat'), null, null, sample(100, 'dog')]);
    expect(neighbourKeys(sample(100, 'dog'))).toEqual([null, null, sample(100, 'cat'), null]);
  });

  test('moves from a sample without a step only to other samples without a step', () => {
    expect(neighbourKeys('scan.png')).toEqual([null, null, null, null]);
  });
});

describe('the wall', () => {
  const rows = wallRows(groupByJob(allSamples), 3);

  test('lays out a heading per job and rows of tiles, with more columns on a wider page', () => {
    expect(rows.map(row => (row.kind === 'job' ? row.group.job : row.samples.length))).toEqual([
      a,
      3,
      1,
      b,
      1,
    ]);
    expect(columnsIn(1240)).toBeGreaterThan(columnsIn(366));
    expect(columnsIn(100)).toBe(2);
  });

  test.each([
    ['ArrowRight', [1, 0], [1, 1]],
    ['ArrowRight', [1, 2], [2, 0]],
    ['ArrowRight', [2, 0], [4, 0]],
    ['ArrowRight', [4, 0], null],
    ['ArrowLeft', [2, 0], [1, 2]],
    ['ArrowLeft', [1, 0], null],
    ['ArrowDown', [1, 2], [2, 0]],
    ['ArrowUp', [4, 0], [2, 0]],
    ['Enter', [1, 0], null],
  ])('moves by %s from tile %j to %j', (key, [row = 0, column = 0], to) => {
    const next = tileAfterKey(rows, { row, column }, key);
    expect(next === null ? null : [next.row, next.column]).toEqual(to);
  });
});

describe('the URL of the gallery', () => {
  test.each([
    'jobs=j_a,j_b&at=step-150&prompt=%2Fcat&open=j_b',
    'jobs=j_a&choose=',
    'jobs=j_a&at=epoch-3',
    '',
  ])('returns the same URL after reading and writing: "%s"', text => {
    const address = writeView(readView(new URLSearchParams(text)));
    expect(address.toString().replaceAll('%2C', ',')).toBe(text);
  });

  test('ignores invalid jobs, repeated jobs, more than four jobs, and invalid positions', () => {
    const read = (text: string) => readView(new URLSearchParams(text));
    expect(read('jobs=a,../x,a,b,c,d,e').jobs).toEqual(['a', 'b', 'c', 'd']);
    expect(read('jobs=a&at=step-x')).toMatchObject({ unit: null, position: null });
    expect(read('jobs=a&open=b').open).toBeNull();
    expect(read('jobs=../x').isChoosing).toBe(true);
  });
});
