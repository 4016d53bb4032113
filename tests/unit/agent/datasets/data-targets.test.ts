/** Tests the paths of a job's data on a rig, and how the config of each trainer refers to these paths. */
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { prepareJob } from '../../../../agent/attempt/trainer.ts';
import type { JobOffer } from '../../../../agent/job.ts';
import { parseTrainers } from '../../../../agent/trainers/index.ts';
import { parseConfigText } from '../../../../trainers/index.ts';
import { onetrainer } from '../../trainers/configs.ts';
import { offerOf, rigOf, tempFolder } from '../builders.ts';

const dataOf = (path: string, isFile = false): JobOffer['data'][number] => ({
  path,
  version: 'a'.repeat(64),
  files: 1,
  bytes: 1,
  is_file: isFile,
});

/** Prepares a job for this trainer. `read` parses a file of the prepared job. */
function prepare(trainer: string, offer: Partial<JobOffer>) {
  const workDir = tempFolder();
  const trainers = parseTrainers([trainer], '/usr/bin/python3');
  if (!trainers.ok) throw new Error(trainers.message);
  const prepared = prepareJob(offerOf('j1', 'a1', offer), rigOf(workDir, { trainers: trainers.value }));
  if (!prepared.ok) throw new Error(prepared.message);
  const { folder, env, argv, dataTargets } = prepared.job;
  const read = (path: string): unknown => {
    const text = readFileSync(path, 'utf8');
    const parsed = parseConfigText(text, path.endsWith('.toml') ? 'toml' : 'json');
    return parsed.ok ? parsed.value : text;
  };
  return { folder, env, argv, dataTargets, config: read(env['CONFIG_PATH'] ?? ''), read };
}

describe('data paths in configs', () => {
  test("replaces each pushed path in SimpleTuner's dataloader", () => {
    const { folder, config, read } = prepare('simpletuner=/usr/bin/python3', {
      config: {
        model_family: 'flux',
        model_type: 'lora',
        data_backend_config: 'config/multidatabackend.json',
      },
      dataloader: [
        { id: 'cats', type: 'local', instance_data_dir: '/data/My cats' },
        { id: 'on the rig', type: 'local', instance_data_dir: '/mnt/nas/dogs' },
      ],
      data: [dataOf('/data/My cats')],
    });
    const { data_backend_config: dataloader } = config as { readonly data_backend_config: string };
    expect(read(dataloader)).toMatchObject([
      { instance_data_dir: join(folder, 'data', '0-My cats') },
      { instance_data_dir: '/mnt/nas/dogs' },
    ]);
  });

  test('replaces pushed paths in a kohya config and its dataset config', () => {
    const { folder, config, read } = prepare(`kohya=${tempFolder()}`, {
      config: {
        pretrained_model_name_or_path: '/models/sd.safetensors',
        network_module: 'networks.lora',
        dataset_config: 'dataset.toml',
        script: 'train_network.py',
      },
      files: { 'dataset.toml': '[[datasets]]\n[[datasets.subsets]]\nimage_dir = "/data/cats"\n' },
      data: [dataOf('/data/cats'), dataOf('/models/sd.safetensors', true)],
    });
    const { dataset_config: file, pretrained_model_name_or_path: model } = config as Readonly<
      Record<string, string>
    >;
    expect(model).toBe(join(folder, 'data', '1', 'sd.safetensors'));
    expect(read(file ?? '')).toMatchObject({
      datasets: [{ subsets: [{ image_dir: join(folder, 'data', '0-cats') }] }],
    });
  });

  test('replaces pushed paths in an ai-toolkit config', () => {
    const { folder, config } = prepare(`ai-toolkit=${tempFolder()}`, {
      config: {
        job: 'extension',
        config: {
          name: 'x',
          process: [{ type: 'sd_trainer', datasets: [{ folder_path: 'C:\\Users\\me\\cats' }] }],
        },
      },
      data: [dataOf('C:\\Users\\me\\cats')],
    });
    expect(config).toMatchObject({
      config: { process: [{ datasets: [{ folder_path: join(folder, 'data', '0-cats') }] }] },
    });
  });

  test('replaces pushed paths in the concepts of a OneTrainer config', () => {
    const { folder, config } = prepare(`onetrainer=${tempFolder()}`, {
      config: { ...onetrainer, concepts: [{ name: 'cats', path: '/data/cats' }] },
      data: [dataOf('/data/cats')],
    });
    expect(config).toMatchObject({ concepts: [{ path: join(folder, 'data', '0-cats') }] });
  });

  test('replaces pushed paths anywhere in a custom config, and passes {data_dir} and TRAINYARD_DATA_DIR', () => {
    const { folder, env, config, argv } = prepare('node train.js {config_path} {data_dir}', {
      config: { images: './images', more: [{ also: './images' }], caption: 'a photo of ./images' },
      data: [dataOf('./images')],
    });
    const imagesPath = join(folder, 'data', '0-images');
    expect(config).toEqual({
      images: imagesPath,
      more: [{ also: imagesPath }],
      caption: 'a photo of ./images',
    });
    expect(argv.at(-1)).toBe(join(folder, 'data'));
    expect(env).toMatchObject({ TRAINYARD_DATA_DIR: join(folder, 'data') });
  });

  test.each(['..', '/', '.', 'a/..', ''])('keeps data with the path %j inside the job folder', path => {
    const data = [dataOf(path), dataOf(path, true)];
    const { folder, dataTargets } = prepare('node train.js {config_path}', { config: {}, data });
    expect(dataTargets.map(target => target.path)).toEqual([
      expect.stringContaining(join(folder, 'data', '0-')),
      join(folder, 'data', '1', basename(path) === 'a' ? 'a' : 'data'),
    ]);
  });
});
