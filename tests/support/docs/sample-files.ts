import { join } from 'node:path';
import { stringify as toToml } from 'smol-toml';
import { stringify as toYaml } from 'yaml';
import { aiToolkit, diffusers, kohya, onetrainer, simpletuner } from '../../unit/trainers/configs.ts';

const steps = { max_train_steps: 200, checkpoint_step_interval: 50 };

/** Returns a SimpleTuner config and its dataloader config, in one folder. */
const simpletunerFiles = (folder: string, photos: string): Readonly<Record<string, string>> => ({
  [`${folder}/config.json`]: JSON.stringify({
    ...simpletuner,
    ...steps,
    data_backend_config: 'multidatabackend.json',
    lycoris_config: undefined,
  }),
  [`${folder}/multidatabackend.json`]: JSON.stringify([
    { id: 'photos', type: 'local', instance_data_dir: photos },
  ]),
});

const aiToolkitConfig = (name: string, photos: string): object => ({
  ...aiToolkit,
  config: {
    name,
    process: [
      {
        ...aiToolkit.config.process[0],
        save: { save_every: 50 },
        train: { steps: 200 },
        datasets: [{ folder_path: photos, caption_ext: 'txt' }],
      },
    ],
  },
});

/** Returns the configs and images that the pages name, by path below the reader's home. */
export function sampleFiles(home: string): Readonly<Record<string, string>> {
  const photos = join(home, 'photos');
  const configs = '.local/share/trainyard/configs';
  return {
    'photos/a.jpg': 'one',
    'photos/a.txt': 'a photo',
    ...['my-config', 'my-lora', 'my-base', 'flowers'].reduce(
      (all, name) => ({ ...all, ...simpletunerFiles(`${configs}/${name}`, photos) }),
      {},
    ),
    ...simpletunerFiles('SimpleTuner/config/my-lora', photos),
    ...simpletunerFiles('work/config/my-lora', photos),
    'ai-toolkit/config/my_lora.yaml': toYaml(aiToolkitConfig('my_lora', photos)),
    'OneTrainer/training_configs/my-lora.json': JSON.stringify({
      ...onetrainer,
      epochs: 20,
      backup_after: 50,
    }),
    'OneTrainer/training_configs/concepts.json': JSON.stringify([{ name: 'photos', path: photos }]),
    'work/my-lora.toml': toToml({ ...kohya, max_train_steps: 200, save_every_n_steps: 50 }),
    'work/dataset.toml': toToml({ datasets: [{ resolution: 512, subsets: [{ image_dir: photos }] }] }),
    'work/dog.yaml': toYaml({
      ...diffusers,
      instance_data_dir: photos,
      max_train_steps: 200,
      checkpointing_steps: 50,
    }),
    'work/lora.json': JSON.stringify({ learning_rate: 0.0001 }),
    ...Object.fromEntries(
      ['a', 'b', 'c'].map(name => [`work/${name}.json`, JSON.stringify({ learning_rate: 0.0001 })]),
    ),
    'work/style.json': JSON.stringify({ init_lora: '{{inputs.lora}}' }),
  };
}
