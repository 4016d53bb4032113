import { describe, expect, it } from 'vitest';
import { configValue, withConfigValue, withPartValue } from '../../../protocol/config-path.ts';

const config = {
  '--rank': 8,
  training: { epochs: 3, shared: 1 },
  other: { shared: 2 },
  config: { process: [{ train: { lr: 1 } }, 7] },
};

describe('configValue', () => {
  it.each([
    ['rank', 8],
    ['epochs', 3],
    ['config.process.0.train.lr', 1],
    ['config.process.1', 7],
    ['config.process.2', undefined],
    ['config.process.1.lr', undefined],
    ['shared', undefined],
    ['toString', undefined],
    ['other', { shared: 2 }],
  ])('returns the config value at %s', (path, value) => expect(configValue(config, path)).toEqual(value));
});

describe('withConfigValue', () => {
  it('adds a missing key, and returns null for a section or a key in a missing section', () => {
    expect(withConfigValue(config, 'seed', 4)).toEqual({ ...config, seed: 4 });
    expect(withConfigValue(config, 'sample.seed', 4)).toBeNull();
    expect(withConfigValue(config, 'other', 4)).toBeNull();
  });
});

describe('withPartValue', () => {
  it('changes a value in a list of datasets, and returns null for a path outside of the list', () => {
    const datasets = [{ id: 'a', repeats: 1 }, { id: 'b' }];
    expect(withPartValue(datasets, '0.repeats', 5)).toEqual([{ id: 'a', repeats: 5 }, { id: 'b' }]);
    expect(withPartValue(datasets, '1.repeats', 5)).toEqual([
      { id: 'a', repeats: 1 },
      { id: 'b', repeats: 5 },
    ]);
    for (const path of ['2.repeats', 'a', '0', '0.id.x']) expect(withPartValue(datasets, path, 5)).toBeNull();
    expect(withPartValue(null, 'a', 5)).toBeNull();
  });
});
