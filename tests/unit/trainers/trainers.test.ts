/** Shapes of configs as their trainers ship them: SimpleTuner, ai-toolkit, sd-scripts and OneTrainer, autumn 2026. */
import { describe, expect, test } from 'vitest';
import { dataOf, gather, trainerFor, withPaths } from '../../../trainers/index.ts';
import { aiToolkit, diffusers, kohya, kohyaSections, onetrainer, simpletuner } from './configs.ts';

describe('a config is recognised', () => {
  test.each([
    ['SimpleTuner', simpletuner, 'simpletuner'],
    ['SimpleTuner with dashes', { '--model_family': 'flux', '--model_type': 'lora' }, 'simpletuner'],
    ['ai-toolkit', aiToolkit, 'ai-toolkit'],
    ["kohya's scripts", kohya, 'kohya'],
    ["kohya's scripts with sections", kohyaSections, 'kohya'],
    ['OneTrainer', onetrainer, 'onetrainer'],
    ['a script of diffusers', diffusers, 'diffusers'],
    ['a program of its own', { lr: 1 }, 'command'],
    ['the trainer that it names itself', { lr: 1, $trainer: 'kohya' }, 'kohya'],
    ['its keys, where it names a trainer that nobody knows', { ...kohya, $trainer: 'mine' }, 'kohya'],
  ])('as one for %s', (_what, config, name) => {
    expect(trainerFor(config).name).toBe(name);
  });
});

describe('the check of a config', () => {
  test.each([
    [
      'ai-toolkit without a name',
      { job: 'extension', config: { process: [{ type: 'sd_trainer' }] } },
      'config.name is missing',
    ],
    [
      'ai-toolkit without a process',
      { job: 'extension', config: { name: 'x' } },
      'config.process has no entry',
    ],
    [
      "kohya's scripts, of which none is named",
      { ...kohya, script: undefined },
      'it does not say which script it is for: add a line such as script = "sdxl_train_network.py"',
    ],
    [
      'HunyuanImage without a network, for which sd-scripts have no script',
      {
        pretrained_model_name_or_path: '/m/hunyuan.safetensors',
        max_train_epochs: 1,
        byt5: '/m/byt5.safetensors',
      },
      'it does not say which script it is for: add a line such as script = "sdxl_train_network.py"',
    ],
    [
      'a preset of OneTrainer',
      { ...onetrainer, concept_file_name: undefined },
      'it names no concepts: this is a preset and not a whole config',
    ],
    [
      'a script that leads out of its folder',
      { script: '../../bin/x.py' },
      'script must be a path below the folder of scripts on the rig, such as dreambooth/train_dreambooth_lora_flux.py',
    ],
  ])('reports the problem: %s', (_what, config, problem) => {
    expect(trainerFor(config).problem(config)).toBe(problem);
  });

  test.each([simpletuner, aiToolkit, kohya, kohyaSections, onetrainer, diffusers, { lr: 1 }])(
    'accepts %j',
    config => {
      expect(trainerFor(config).problem(config)).toBeNull();
    },
  );
});

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

describe('what a config names', () => {
  test('travels with it: the dataloader of SimpleTuner, and its other files as they are', async () => {
    const { dataloader, files } = await bundleOf(simpletuner);
    expect(dataloader).toHaveLength(4);
    expect(files).toEqual({ 'config/lycoris_config.json': texts['config/lycoris_config.json'] });
  });

  test('becomes part of a config of OneTrainer, which then needs no files', async () => {
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
  ])('reports a missing file by its path: %s', async (_what, config, reason) => {
    expect(await gather(config, trainerFor(config), find)).toEqual({ ok: false, reason });
  });

  test('is not missed where the trainer brings it along, or does without', async () => {
    const example = { ...simpletuner, data_backend_config: 'config/examples/multidatabackend-small.json' };
    expect((await bundleOf(example)).dataloader).toBeNull();
    const samples = { ...onetrainer, sample_definition_file_name: 'training_samples/samples.json' };
    expect((await bundleOf(samples)).config).not.toHaveProperty('samples');
  });
});

describe('training data', () => {
  test.each([
    ['in the dataloader of SimpleTuner', simpletuner, ['datasets/dog']],
    ['in the process of ai-toolkit', aiToolkit, ['/data/dog', '/data/dog-control']],
    ["in the dataset config of kohya's scripts", kohya, ['/data/dog']],
    ["in a section of kohya's scripts", kohyaSections, ['/data/dog', '/data/reg']],
    ['in the concepts of OneTrainer', onetrainer, ['/data/dog']],
    ['in the arguments of a script', diffusers, ['./dog']],
  ])('is found %s', async (_what, config, paths) => {
    const bundle = await bundleOf(config);
    expect(dataOf(bundle, trainerFor(bundle.config)).map(({ path }) => path)).toEqual(paths);
  });

  test.each([simpletuner, aiToolkit, kohya, kohyaSections, onetrainer, diffusers])(
    'replaces only the data paths in a copy of %j',
    async config => {
      const bundle = await bundleOf(config);
      const before = dataOf(bundle, trainerFor(bundle.config));
      const moved = withPaths(
        bundle,
        before.map(found => ({ ...found, path: `/cache${found.path}` })),
      );
      const after = dataOf(moved, trainerFor(moved.config));
      expect(after.map(({ path }) => path)).toEqual(before.map(({ path }) => `/cache${path}`));
      expect(withPaths(moved, before)).toEqual(withPaths(bundle, before));
    },
  );
});
