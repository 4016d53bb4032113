// The configs imitate the configs that each trainer shipped in autumn 2026.
import { describe, expect, test } from 'vitest';
import { dataOf, gather, trainerFor, withPaths } from '../../../trainers/index.ts';
import { aiToolkit, diffusers, kohya, kohyaSections, onetrainer, simpletuner } from './configs.ts';

describe('trainerFor', () => {
  test.each([
    ['SimpleTuner', simpletuner, 'simpletuner'],
    ['SimpleTuner with dashes', { '--model_family': 'flux', '--model_type': 'lora' }, 'simpletuner'],
    ['ai-toolkit', aiToolkit, 'ai-toolkit'],
    ["kohya's scripts", kohya, 'kohya'],
    ["kohya's scripts with sections", kohyaSections, 'kohya'],
    ['OneTrainer', onetrainer, 'onetrainer'],
    ['a script of diffusers', diffusers, 'diffusers'],
    ['an unknown program', { lr: 1 }, 'command'],
    ['the trainer named in $trainer', { lr: 1, $trainer: 'kohya' }, 'kohya'],
    ['the trainer that its keys suggest, when $trainer is unknown', { ...kohya, $trainer: 'mine' }, 'kohya'],
  ])('recognizes a config for %s', (_title, config, name) => {
    expect(trainerFor(config).name).toBe(name);
  });
});

describe('checking a config', () => {
  test.each([
    [
      'an ai-toolkit config without a name',
      { job: 'extension', config: { process: [{ type: 'sd_trainer' }] } },
      'config.name is missing',
    ],
    [
      'an ai-toolkit config without a process',
      { job: 'extension', config: { name: 'x' } },
      'config.process has no entry',
    ],
    [
      'a kohya config without a script',
      { ...kohya, script: undefined },
      'it does not name its script: add a line such as script = "sdxl_train_network.py"',
    ],
    [
      'a HunyuanImage config without a network, because sd-scripts has no script for it',
      {
        pretrained_model_name_or_path: '/m/hunyuan.safetensors',
        max_train_epochs: 1,
        byt5: '/m/byt5.safetensors',
      },
      'it does not name its script: add a line such as script = "sdxl_train_network.py"',
    ],
    [
      'a OneTrainer preset',
      { ...onetrainer, concept_file_name: undefined },
      'it has no concepts: this is a preset, not a complete config',
    ],
    [
      'a script outside its folder',
      { script: '../../bin/x.py' },
      'script must be a path below the folder of scripts on the rig, such as dreambooth/train_dreambooth_lora_flux.py',
    ],
  ])('reports the problem of %s', (_title, config, problem) => {
    expect(trainerFor(config).problem(config)).toBe(problem);
  });

  test.each([simpletuner, aiToolkit, kohya, kohyaSections, onetrainer, diffusers, { lr: 1 }])(
    'finds no problem in the config %j',
    config => {
      expect(trainerFor(config).problem(config)).toBeNull();
    },
  );
});

/** The contents of the files that the configs name, by path. */
const texts: Readonly<Record<string, string>> = {
  'config/multidatabackend.json': JSON.stringify([
    { id: 'images', type: 'local', instance_data_dir: 'datasets/dog' },
    { id: 'off', type: 'local', instance_data_dir: 'datasets/cat', disabled: true },
    { id: 'hub', type: 'huggingface', dataset_name: 'a/b' },
    { id: 'text', type: 'local', dataset_type: 'text_embeds', cache_dir: 'cache/text' },
  ]),
  'config/lycoris_config.json': '{"algo": "lokr", "multiplier": 1}',
  'dataset.toml':
    '[[datasets]]\nresolution = 512\n[[datasets.subsets]]\nimage_dir = "/data/dog"\nnum_repeats = 10\n',
  'concepts.json': JSON.stringify([
    { name: 'dog', path: '/data/dog' },
    { name: 'none', path: '' },
  ]),
};
const find = (path: string) =>
  Promise.resolve(
    Object.hasOwn(texts, path)
      ? ({ ok: true, text: String(texts[path]) } as const)
      : ({ ok: false, reason: 'it is not there' } as const),
  );

async function bundleOf(config: Readonly<Record<string, unknown>>) {
  const gathered = await gather(config, trainerFor(config), find);
  if (!gathered.ok) throw new Error(gathered.reason);
  return gathered.bundle;
}

describe('gather', () => {
  test('reads the dataloader and other files that a SimpleTuner config names', async () => {
    const { dataloader, files } = await bundleOf(simpletuner);
    expect(dataloader).toHaveLength(4);
    expect(files).toEqual({ 'config/lycoris_config.json': texts['config/lycoris_config.json'] });
  });

  test('inserts the concepts file into a OneTrainer config', async () => {
    const { config, files } = await bundleOf(onetrainer);
    expect([config['concepts'], files]).toEqual([JSON.parse(String(texts['concepts.json'])), {}]);
  });

  test.each([
    [
      'a dataloader',
      { ...simpletuner, data_backend_config: 'none.json' },
      'names none.json (data_backend_config), but it is not there',
    ],
    [
      'a dataset config',
      { ...kohya, dataset_config: 'none.toml' },
      'names none.toml (dataset_config), but it is not there',
    ],
    [
      'concepts',
      { ...onetrainer, concept_file_name: 'none.json' },
      'names none.json (concept_file_name), but it is not there',
    ],
  ])('reports the path of a missing file: %s', async (_title, config, reason) => {
    expect(await gather(config, trainerFor(config), find)).toEqual({ ok: false, reason });
  });

  test('accepts a missing file that the trainer ships or does not need', async () => {
    const example = { ...simpletuner, data_backend_config: 'config/examples/multidatabackend-small.json' };
    expect((await bundleOf(example)).dataloader).toBeNull();
    const samples = { ...onetrainer, sample_definition_file_name: 'training_samples/samples.json' };
    expect((await bundleOf(samples)).config).not.toHaveProperty('samples');
  });
});

describe('dataOf and withPaths', () => {
  test.each([
    ['the dataloader of SimpleTuner', simpletuner, ['datasets/dog']],
    ['the process of ai-toolkit', aiToolkit, ['/data/dog', '/data/dog-control']],
    ["the dataset config of kohya's scripts", kohya, ['/data/dog']],
    ["a section of kohya's scripts", kohyaSections, ['/data/dog', '/data/reg']],
    ['the concepts of OneTrainer', onetrainer, ['/data/dog']],
    ['the arguments of a script', diffusers, ['./dog']],
  ])('finds the data paths in %s', async (_title, config, paths) => {
    const bundle = await bundleOf(config);
    expect(dataOf(bundle, trainerFor(bundle.config)).map(({ path }) => path)).toEqual(paths);
  });

  test.each([simpletuner, aiToolkit, kohya, kohyaSections, onetrainer, diffusers])(
    'replaces only the data paths of %j, and restores the original paths',
    async config => {
      const bundle = await bundleOf(config);
      const original = dataOf(bundle, trainerFor(bundle.config));
      const moved = original.map(data => ({ ...data, path: `/cache${data.path}` }));
      const movedBundle = withPaths(bundle, moved);
      expect(dataOf(movedBundle, trainerFor(movedBundle.config)).map(({ path }) => path)).toEqual(
        moved.map(({ path }) => path),
      );
      expect(withPaths(movedBundle, original)).toEqual(withPaths(bundle, original));
    },
  );
});
