import { describe, expect, it } from 'vitest';
import { gridOf, sweepGroup, sweepName, withValues } from '../../../../../main/orchestrator/rules/sweeps.ts';
import { JobGroup, JobName } from '../../../../../protocol/job-about.ts';

const config = {
  '--rank': 8,
  learning_rate: 1e-4,
  'a.b': 1,
  training: { epochs: 3, shared: 1 },
  other: { shared: 2 },
  config: { process: [{ train: { lr: 1, steps: null } }, 7], list: [1, 2] },
};
const setValues = (values: Parameters<typeof withValues>[1]) => {
  const outcome = withValues(config, values);
  return outcome.ok ? outcome.value : outcome.refusal;
};

describe('gridOf', () => {
  it('returns every combination of values, and changes the last key first', () => {
    const axes = [
      { key: 'lr', values: [1, 2] },
      { key: 'on', values: [true, null] },
    ];
    expect(gridOf(axes)).toEqual([
      { lr: 1, on: true },
      { lr: 1, on: null },
      { lr: 2, on: true },
      { lr: 2, on: null },
    ]);
  });
});

describe('withValues', () => {
  it.each<[string, object]>([
    ['learning_rate', { learning_rate: 'x' }],
    ['rank', { '--rank': 'x' }],
    ['--rank', { '--rank': 'x' }],
    ['a.b', { 'a.b': 'x' }],
    ['new_key', { new_key: 'x' }],
    ['epochs', { training: { epochs: 'x', shared: 1 } }],
    ['shared', { shared: 'x' }],
    ['training.seed', { training: { epochs: 3, shared: 1, seed: 'x' } }],
    [
      'config.process.0.train.steps',
      { config: { process: [{ train: { lr: 1, steps: 'x' } }, 7], list: [1, 2] } },
    ],
    ['config.process.1', { config: { process: [{ train: { lr: 1, steps: null } }, 'x'], list: [1, 2] } }],
  ])('sets %s and leaves the rest of the config unchanged', (path, changes) => {
    const before = structuredClone(config);
    expect(setValues({ [path]: 'x' })).toEqual({ ...config, ...changes });
    expect(config).toEqual(before);
  });

  it.each([
    'missing.key',
    'learning_rate.x',
    'training',
    'config.list',
    'config.process.2',
    'config.process.first.train',
    'config.process.0.train.lr.x',
    'config.process.0.network.rank',
    'training.',
    '__proto__',
    'training.__proto__',
  ])('refuses the key %s, which is not a single value in the config', path => {
    expect(setValues({ learning_rate: 1, [path]: 1 })).toEqual({
      code: 'config_invalid',
      detail: `The config has no value "${path}" to vary`,
    });
  });
});

describe('sweepName', () => {
  it('adds the last part of each key with its value', () => {
    expect(sweepName('flowers', { 'config.process.0.train.lr': 1e-4, rank: 8 })).toBe(
      'flowers lr=0.0001 rank=8',
    );
  });

  it('adds the whole key when two keys end in the same part', () => {
    expect(sweepName('f', { 'a.lr': 1, 'b.lr': 2 })).toBe('f a.lr=1 b.lr=2');
  });

  it('shortens the base name before the values, and always returns a valid name', () => {
    const long = sweepName('b'.repeat(700), { lr: 'x\ny'.repeat(5) });
    expect(long).toHaveLength(120);
    expect(long).toMatch(/^b+ lr=x yx y/);
    expect(sweepName('base', { lr: 'x'.repeat(500) })).toBe(`lr=${'x'.repeat(117)}`);
    for (const name of [long, sweepName('base', { lr: '\u202e' })]) expect(JobName.parse(name)).toBe(name);
  });
});

describe('sweepGroup', () => {
  it.each([
    ['flowers', 'flowers-20260114-093000'],
    ['my / config 火', 'my-config-火-20260114-093000'],
    ['//', 'sweep-20260114-093000'],
    ['x'.repeat(700), `${'x'.repeat(80)}-20260114-093000`],
  ])('derives a valid group from the name %j', (name, group) => {
    expect(sweepGroup(name, '2026-01-14T09:30:00.123Z')).toBe(group);
    expect(JobGroup.parse(group)).toBe(group);
  });
});
