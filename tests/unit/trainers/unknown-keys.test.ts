// The key lists are excerpts from the code of each trainer.
import { describe, expect, it } from 'vitest';
import { type TrainerName, trainerNamed, unknownKeys } from '../../../trainers/index.ts';
import { aiToolkit, diffusers, kohya, kohyaSections, onetrainer, simpletuner } from './configs.ts';

type Config = Readonly<Record<string, unknown>>;

const lists: Readonly<Record<string, readonly string[]>> = {
  simpletuner: [...Object.keys(simpletuner), 'learning_rate', 'max_train_epochs', 'train_batch_size'],
  kohya: [
    ...Object.keys(kohya).filter(key => key !== 'script'),
    ...Object.values(kohyaSections).flatMap(Object.keys),
    'learning_rate',
  ],
  'ai-toolkit': (
    'job config meta name process type training_folder device save dtype save_every datasets folder_path ' +
    'caption_ext control_path train steps lr model name_or_path is_flux optimizer_params'
  ).split(' '),
  onetrainer: [...Object.keys(onetrainer), 'learning_rate'],
};

function unknownIn(name: TrainerName, config: Config) {
  const trainer = trainerNamed(name);
  if (trainer === null) throw new Error(`there is no trainer ${name}`);
  return unknownKeys(trainer, config, new Set(lists[name]));
}

describe.each<readonly [TrainerName, Config, Config, key: string, nearest: string]>([
  ['simpletuner', simpletuner, { ...simpletuner, lerning_rate: 1 }, 'lerning_rate', 'learning_rate'],
  ['kohya', kohya, { ...kohya, netwrok_dim: 8 }, 'netwrok_dim', 'network_dim'],
  [
    'kohya',
    kohyaSections,
    { ...kohyaSections, training: { learning_rates: 1 } },
    'training.learning_rates',
    'learning_rate',
  ],
  [
    'ai-toolkit',
    aiToolkit,
    { ...aiToolkit, config: { name: 'x', process: [{ datasets: [{ folder_pth: './dog' }] }] } },
    'config.process.0.datasets.0.folder_pth',
    'folder_path',
  ],
  ['onetrainer', onetrainer, { ...onetrainer, epoch_count: 1, epochss: 3 }, 'epochss', 'epochs'],
])('unknownKeys for a %s config', (name, right, wrong, key, nearest) => {
  it('returns no keys when all keys are known', () => expect(unknownIn(name, right)).toEqual([]));
  it('returns the path of a misspelt key and the nearest known key', () =>
    expect(unknownIn(name, wrong)).toContainEqual({ key, nearest }));
});

describe('unknownKeys for a SimpleTuner config', () => {
  it('accepts dashes before a key, but not within a key', () => {
    expect(unknownIn('simpletuner', { '--learning_rate': 1 })).toEqual([]);
    expect(unknownIn('simpletuner', { '--learning-rate': 1 })).toEqual([
      { key: 'learning-rate', nearest: 'learning_rate' },
    ]);
  });

  it('accepts an unambiguous prefix of a key', () => {
    expect(unknownIn('simpletuner', { learning: 1, train_batch: 4 })).toEqual([]);
    expect(unknownIn('simpletuner', { max_train: 1 })).toEqual([
      { key: 'max_train', nearest: 'max_train_steps' },
    ]);
  });

  it('ignores a key without a value', () => {
    expect(unknownIn('simpletuner', { made_up: null })).toEqual([]);
  });
});

it('reports no keys that ai-toolkit passes to a library or writes into metadata', () => {
  const process = [{ train: { optimizer_params: { weight_decay: 0.1 } } }];
  expect(unknownIn('ai-toolkit', { meta: { any: 'thing' }, config: { process } })).toEqual([]);
});

it('does not report the key $trainer as unknown', () => {
  expect(unknownIn('onetrainer', { $trainer: 'onetrainer' })).toEqual([]);
});

it('reports no unknown keys for scripts without a key list', () => {
  expect(unknownIn('diffusers', diffusers)).toEqual([]);
});

it('reports at most 20 unknown keys', () => {
  const config = Object.fromEntries(Array.from({ length: 50_000 }, (_none, n) => [`made_up_${n}`, n]));
  expect(unknownIn('onetrainer', config)).toHaveLength(20);
});
