import { expect, test } from 'vitest';
import { differingKeys, flatten } from '../../../protocol/compare-configs.ts';

/** A shortened config of ai-toolkit. */
const toolkitConfig = (lr: number, rank: number, trainOptions: object = {}) => ({
  job: 'extension',
  config: {
    name: 'flowers',
    process: [
      {
        type: 'sd_trainer',
        network: { type: 'lora', linear: rank, linear_alpha: 16 },
        datasets: [{ folder_path: '/data/flowers', resolution: [512, 768] }],
        train: { lr, steps: 2000, ...trainOptions },
      },
    ],
  },
});

test('lists the values of a nested config by dotted paths', () => {
  const flat = flatten(toolkitConfig(1e-4, 16));
  expect(flat.get('config.process.0.train.lr')).toBe(1e-4);
  expect(flat.get('config.process.0.datasets.0.resolution')).toEqual([512, 768]);
  expect([...flat.keys()]).toEqual([
    'job',
    'config.name',
    'config.process.0.type',
    'config.process.0.network.type',
    'config.process.0.network.linear',
    'config.process.0.network.linear_alpha',
    'config.process.0.datasets.0.folder_path',
    'config.process.0.datasets.0.resolution',
    'config.process.0.train.lr',
    'config.process.0.train.steps',
  ]);
});

test('finds the keys whose values differ between configs, including keys that only some configs have', () => {
  const configs = [
    toolkitConfig(1e-4, 16),
    toolkitConfig(3e-4, 16),
    toolkitConfig(1e-4, 8, { ema: null }),
  ].map(flatten);
  expect(differingKeys(configs)).toEqual([
    'config.process.0.network.linear',
    'config.process.0.train.lr',
    'config.process.0.train.ema',
  ]);
});

test('treats a SimpleTuner key with and without dashes as the same key', () => {
  const plain = flatten({ learning_rate: 1e-4, lora_rank: 16 });
  const dashed = flatten({ '--learning_rate': 1e-4, '--lora_rank': 64 });
  expect(differingKeys([plain, dashed])).toEqual(['lora_rank']);
});

test('distinguishes the number 1 from the text 1, and an empty list from an empty object', () => {
  const configs = [
    { a: 1, b: [] },
    { a: '1', b: {} },
  ].map(flatten);
  expect(differingKeys(configs)).toEqual(['a', 'b']);
});

test.each<[unknown]>([[{}], [[]], [null], ['text'], [7]])('finds no keys in the config %j', config => {
  expect([...flatten(config)]).toEqual([]);
});

test('keeps the keys -- and __proto__ of a config', () => {
  const unusual: unknown = JSON.parse('{"--": 1, "__proto__": 2}');
  expect([...flatten(unusual)]).toEqual([
    ['--', 1],
    ['__proto__', 2],
  ]);
});
