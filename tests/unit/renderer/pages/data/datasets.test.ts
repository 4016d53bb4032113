import { describe, expect, test } from 'vitest';
import type { DatasetView } from '../../../../../protocol/datasets-api.ts';
import {
  groupVersions,
  datasetWith,
  matching,
  computeUnused,
} from '../../../../../renderer/pages/data/datasets.ts';

const view = (fields: Partial<DatasetView> & { readonly id: number }): DatasetView => ({
  name: 'photos',
  owner: 'ada',
  version: String(fields.id).padStart(64, 'a'),
  files: 10,
  bytes: 1_000,
  created_at: '2026-01-02T03:04:05.678Z',
  pinned: false,
  jobs: 0,
  newest: false,
  ...fields,
});

const names = (views: readonly DatasetView[], text: string): readonly string[] =>
  matching(groupVersions(views), text).map(({ name, owner }) => `${name} of ${owner}`);

describe('groupVersions', () => {
  test('returns one row per owner and name, ordered by newest version', () => {
    const datasets = groupVersions([
      view({ id: 5, newest: true }),
      view({ id: 4, owner: 'eve', newest: true }),
      view({ id: 3, name: 'cats', newest: true }),
      view({ id: 1 }),
    ]);
    expect(datasets.map(({ owner, name, versions }) => [owner, name, versions.map(({ id }) => id)])).toEqual([
      ['ada', 'photos', [5, 1]],
      ['eve', 'photos', [4]],
      ['ada', 'cats', [3]],
    ]);
    expect(datasets.map(({ newest }) => newest.id)).toEqual([5, 4, 3]);
    expect(new Set(datasets.map(({ key }) => key)).size).toBe(3);
  });

  test('separates datasets whose owner and name are the same only when joined', () => {
    const datasets = groupVersions([
      view({ id: 2, owner: 'a","b', name: 'c' }),
      view({ id: 1, owner: 'a', name: 'b","c' }),
    ]);
    expect(datasets).toHaveLength(2);
  });

  test('sums the jobs and pins of all versions, and counts the jobs of equal versions once', () => {
    const same = 'f'.repeat(64);
    const [dataset] = groupVersions([
      view({ id: 4, version: same, jobs: 2, pinned: true, newest: true }),
      view({ id: 3, jobs: 1, pinned: true }),
      view({ id: 2, version: same, jobs: 2 }),
    ]);
    expect(dataset).toMatchObject({ jobs: 3, pinned: 2 });
  });

  test('returns no datasets for no versions', () => {
    expect(groupVersions([])).toEqual([]);
  });

  test('returns datasets that datasetWith finds by the id of any version of the dataset', () => {
    const datasets = groupVersions([view({ id: 12, newest: true }), view({ id: 2 })]);
    expect(datasetWith(datasets, '2')?.newest.id).toBe(12);
    expect(datasetWith(datasets, '1')).toBeUndefined();
    expect(datasetWith(datasets, '__proto__')).toBeUndefined();
  });
});

describe('the dataset search', () => {
  const views = [
    view({ id: 1, name: 'Wedding photos', version: 'c0ffee'.padEnd(64, '0') }),
    view({ id: 2, name: 'cats', owner: 'eve' }),
  ];

  test.each([
    ['', ['Wedding photos of ada', 'cats of eve']],
    ['  ', ['Wedding photos of ada', 'cats of eve']],
    ['PHOTO', ['Wedding photos of ada']],
    ['eve', ['cats of eve']],
    ['c0ff', ['Wedding photos of ada']],
    ['wedding ada', ['Wedding photos of ada']],
    ['wedding eve', []],
    ['ffee', []],
    ['.*', []],
  ])('finds for "%s" the datasets %j', (text, expected) => {
    expect(names(views, text)).toEqual(expected);
  });

  test('finds a dataset by an older version', () => {
    const old = view({ id: 3, version: 'beef'.padEnd(64, '0') });
    expect(names([view({ id: 4, newest: true }), old], 'beef')).toEqual(['photos of ada']);
  });
});

describe('computeUnused', () => {
  test('excludes versions that are pinned or used by jobs', () => {
    const views = [view({ id: 3 }), view({ id: 2, pinned: true }), view({ id: 1, jobs: 1 })];
    expect(computeUnused(views, 10_000)).toEqual({ count: 1, bytes: 1_000 });
  });

  test('never exceeds the stored size when versions share files', () => {
    expect(computeUnused([view({ id: 2 }), view({ id: 1 })], 1_500)).toEqual({ count: 2, bytes: 1_500 });
  });
});
