import { describe, expect, test } from 'vitest';
import {
  flatConfig,
  onlyDifference,
  parallelAxes,
  type Run,
  sortedByBestLoss,
  variedKeys,
  whyNoneDiffers,
} from '../../../../../renderer/pages/compare/runs.ts';
import { parseSelection } from '../../../../../renderer/pages/compare/use-runs.ts';
import { jobView } from '../../../../support/job-view.ts';

const run = (id: string, overrides: object = {}, config: object | null = null): Run => ({
  job: jobView({ id, job_id: id, ...overrides }),
  config: config && flatConfig(config, null),
});
const withLoss = (id: string, loss: number, sweep: object | null = null): Run =>
  run(id, { sweep, progress: { step: 1, loss } });

describe('variedKeys', () => {
  test('returns the config keys whose values differ, and the value of each job', () => {
    const runs = [run('j_1', {}, { a: 1, b: { c: 1 } }), run('j_2', {}, { a: 1, b: { c: 2 } }), run('j_3')];
    const { keys, valueOf } = variedKeys(runs);
    expect(keys).toEqual(['b.c']);
    expect(runs.map(entry => valueOf(entry, 'b.c'))).toEqual([1, 2, undefined]);
  });

  test('returns the keys that a sweep varied when no config has been read', () => {
    const { keys } = variedKeys([
      run('j_1', { sweep: { lr: 1, on: true } }),
      run('j_2', { sweep: { lr: 2, on: true } }),
    ]);
    expect(keys).toEqual(['lr']);
  });
});

describe('whyNoneDiffers', () => {
  const same = run('j_1', {}, { a: 1 });
  const reasonFor = (runs: readonly Run[], mayAll = true) =>
    whyNoneDiffers(runs, variedKeys(runs), ({ id }) => mayAll || id === 'j_1');

  test('returns "same" only if the configs of all jobs are known', () => {
    expect(reasonFor([same, run('j_2', {}, { a: 1 })])).toBe('same');
    expect(reasonFor([same, run('j_2')])).toBe('unread');
    expect(reasonFor([same, run('j_2')], false)).toBe('hidden');
  });

  test('returns null for a single job, and for jobs whose values differ', () => {
    expect(reasonFor([same])).toBeNull();
    expect(reasonFor([same, run('j_2', {}, { a: 2 })])).toBeNull();
  });

  test('compares the values of a sweep when no config has been read', () => {
    expect(reasonFor(['j_1', 'j_2'].map(id => run(id, { sweep: { lr: 1 } })))).toBe('same');
  });
});

test('onlyDifference names a key only if no other key differs and every config is known', () => {
  const only = (...runs: Run[]): string | null => onlyDifference(runs, variedKeys(runs));
  const first = run('j_1', {}, { lr: 1, rank: 8 });
  expect(only(first, run('j_2', {}, { lr: 2, rank: 8 }))).toBe('lr');
  expect(only(first, run('j_2', {}, { lr: 2, rank: 16 }))).toBeNull();
  expect(only(first, run('j_2', {}, { lr: 1, rank: 8 }))).toBeNull();
  expect(only(first, run('j_2', {}, { lr: 2, rank: 8 }), run('j_3'))).toBeNull();
});

test('parallelAxes spaces config values evenly in ascending order, and losses by value', () => {
  const runs = [
    withLoss('j_1', 1, { lr: 10 }),
    withLoss('j_2', 2, { lr: 9 }),
    withLoss('j_3', 5, { lr: 'auto' }),
  ];
  const [lr, loss] = parallelAxes(runs, variedKeys(runs), 'Loss', String);
  expect(lr?.ticks).toEqual([
    { text: '9', at: 0 },
    { text: '10', at: 0.5 },
    { text: 'auto', at: 1 },
  ]);
  expect(runs.map(entry => loss?.positionOf(entry))).toEqual([0, 0.25, 1]);
  expect(loss?.positionOf(run('j_4'))).toBeNull();
});

test('sortedByBestLoss puts the best loss first, and jobs without a loss last', () => {
  const runs = [
    run('j_0'),
    withLoss('j_1', 5),
    run('j_2', { progress: { loss: 9, best_loss: 1 } }),
    run('j_3'),
  ];
  expect(sortedByBestLoss(runs).map(({ job }) => job.id)).toEqual(['j_2', 'j_1', 'j_0', 'j_3']);
});

test('parseSelection reads a group, or at most eight different job ids', () => {
  const read = (query: string) => parseSelection(new URLSearchParams(query));
  expect(read('group=a')).toEqual({ kind: 'group', group: 'a' });
  expect(read('jobs=j_a,j_a,j_b')).toEqual({ kind: 'jobs', ids: ['j_a', 'j_b'] });
  const many = Array.from({ length: 10 }, (_, index) => `j_${index}`).join();
  expect(read(`jobs=${many}`)).toMatchObject({ ids: { length: 8 } });
  expect(read('')).toEqual({ kind: 'jobs', ids: [] });
});
