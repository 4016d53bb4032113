/** Tests the command line, the config and the output folder with which the agent starts each trainer. */
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { prepareJob, type Rig } from '../../../../agent/attempt/trainer.ts';
import type { PreparedJob } from '../../../../agent/job.ts';
import {
  aiToolkit,
  diffusers,
  kohya,
  kohyaSections,
  onetrainer,
  simpletuner,
} from '../../trainers/configs.ts';
import { parseConfigText, type TrainerName } from '../../../../trainers/index.ts';
import { offerOf, rigOf, tempFolder, writeFile } from '../builders.ts';

/** Creates a checkout with a virtual environment beside its code. */
function checkout(): { readonly folder: string; readonly python: string } {
  const folder = tempFolder();
  mkdirSync(join(folder, 'venv/bin'), { recursive: true });
  return { folder, python: writeFile(join(folder, 'venv/bin'), 'python', '#!/bin/sh\n', 0o755) };
}

function rigWith(name: 'ai-toolkit' | 'kohya' | 'onetrainer' | 'diffusers') {
  const { folder, python } = checkout();
  const rig = rigOf(tempFolder(), { trainers: [{ kind: 'checkout', name, folder, python: null }] });
  return { rig, folder, python };
}

const simpletunerRig = (overrides: Partial<Rig> = {}): Rig =>
  rigOf(tempFolder(), {
    trainers: [{ kind: 'package', name: 'simpletuner', python: '/opt/st/bin/python' }],
    ...overrides,
  });

type Offer = Parameters<typeof offerOf>[2];

function prepare(rig: Rig, offer: Offer): PreparedJob {
  const prepared = prepareJob(offerOf('j1', 'a1', offer), rig);
  if (!prepared.ok) throw new Error(prepared.message);
  return prepared.job;
}

function readConfig(path: string): unknown {
  const parsed = parseConfigText(readFileSync(path, 'utf8'), path.endsWith('.toml') ? 'toml' : 'json');
  return parsed.ok ? parsed.value : parsed;
}

const resume = { checkpoint: 'checkpoint-500', step: 500 };

describe('SimpleTuner', () => {
  it('starts SimpleTuner with the given Python, and redirects its outputs to the job folder', () => {
    const rig = simpletunerRig();
    const { argv, folder, outputDir, env, cwd } = prepare(rig, {
      config: { ...simpletuner, output_dir: '/home/ada/out' },
      dataloader: [],
    });
    expect([argv, cwd]).toEqual([['/opt/st/bin/python', '-m', 'simpletuner.train'], rig.cwd]);
    expect(env['CONFIG_PATH']).toBe(join(folder, 'config.json'));
    expect(readConfig(join(folder, 'config.json'))).toEqual({
      ...simpletuner,
      data_backend_config: join(folder, 'dataloader.json'),
      output_dir: outputDir,
    });
  });

  it('writes the files that a config names into the job folder, and passes their paths to SimpleTuner', () => {
    const files = { 'config/lycoris_config.json': '{"algo": "lokr"}' };
    const { folder } = prepare(simpletunerRig(), { config: simpletuner, files });
    const { lycoris_config: path } = readConfig(join(folder, 'config.json')) as { lycoris_config: string };
    expect(path.startsWith(join(folder, 'files'))).toBe(true);
    expect(readFileSync(path, 'utf8')).toBe('{"algo": "lokr"}');
  });

  it('never writes a file outside the job folder', () => {
    const name = '../../../../escaped.json';
    const rig = simpletunerRig();
    const { folder } = prepare(rig, {
      config: { ...simpletuner, lycoris_config: name },
      files: { [name]: 'x' },
    });
    expect(existsSync(join(rig.workDir, 'escaped.json'))).toBe(false);
    const { lycoris_config: path } = readConfig(join(folder, 'config.json')) as { lycoris_config: string };
    expect(path).toBe(join(folder, 'files', path.split('/').at(-1) ?? ''));
  });

  it('drops a logging_dir outside the job folder, unless the owner allows this key', () => {
    const outside = { ...simpletuner, logging_dir: '/var/log' };
    const inside = { ...simpletuner, logging_dir: 'tensorboard' };
    const writtenConfig = (config: object, rig = simpletunerRig()): unknown =>
      readConfig(join(prepare(rig, { config: { ...config } }).folder, 'config.json'));
    expect(writtenConfig(outside)).not.toHaveProperty('logging_dir');
    expect(writtenConfig(inside)).toMatchObject({ logging_dir: 'tensorboard' });
    const allowed = simpletunerRig({ allowedConfigKeys: ['logging_dir'] });
    expect(writtenConfig(outside, allowed)).toMatchObject({ logging_dir: '/var/log' });
  });

  it("keeps the config's output folder when the owner of the rig allows it", () => {
    const rig = simpletunerRig({ allowedConfigKeys: ['output_dir'] });
    const { folder } = prepare(rig, { config: { ...simpletuner, output_dir: '/big/disk' } });
    expect(readConfig(join(folder, 'config.json'))).toMatchObject({ output_dir: '/big/disk' });
  });
});

describe('processes of SimpleTuner', () => {
  const argvOf = (config: object, gpus: readonly number[] | null, rig = simpletunerRig()) =>
    prepare(rig, { config: { ...simpletuner, ...config }, gpus: gpus && [...gpus] }).argv.slice(1);
  const direct = ['-m', 'simpletuner.train'];
  const launcher = ['-m', 'accelerate.commands.launch'];

  it('starts one SimpleTuner process for one GPU, independent of the config', () => {
    expect(argvOf({ num_processes: 4 }, [0])).toEqual(direct);
    expect(argvOf({}, null)).toEqual(direct);
  });

  it('starts as many SimpleTuner processes as the config sets when the config also selects the GPUs', () => {
    expect(argvOf({ accelerate_visible_devices: [2, 3] }, [2, 3])).toEqual(direct);
    expect(argvOf({ '--accelerate_visible_devices': '2,3', num_processes: 2 }, [2, 3])).toContain(
      '--num_processes=2',
    );
  });

  it('starts SimpleTuner through accelerate, with one process per GPU', () => {
    const argvForFourGpus = [
      ...launcher,
      '--multi_gpu',
      '--mixed_precision=fp16',
      '--num_processes=4',
      '--num_machines=1',
      '--dynamo_backend=inductor',
      ...direct,
    ];
    const config = { mixed_precision: 'fp16', '--dynamo_backend': 'inductor' };
    expect(argvOf(config, [0, 1, 2, 3])).toEqual(argvForFourGpus);
    // An older server does not send the GPUs of the job.
    expect(argvOf({ ...config, '--num_processes': '4' }, null)).toEqual(argvForFourGpus);
  });

  it('passes accelerate arguments that the owner allows', () => {
    const rig = simpletunerRig({ allowedConfigKeys: ['accelerate_extra_args', 'accelerate_config'] });
    expect(argvOf({ accelerate_extra_args: "--use_fsdp --a 'b c'" }, [0, 1], rig)).toEqual([
      ...launcher,
      '--mixed_precision=bf16',
      '--num_processes=2',
      '--num_machines=1',
      '--dynamo_backend=no',
      '--use_fsdp',
      '--a',
      'b c',
      ...direct,
    ]);
    expect(
      argvOf({ accelerate_config: '/etc/fsdp.yaml', accelerate_extra_args: "--a 'b" }, [0], rig),
    ).toEqual([...launcher, '--config_file=/etc/fsdp.yaml', "--a 'b", ...direct]);
  });
});

describe('ai-toolkit', () => {
  it("starts ai-toolkit with the job's output folder as training_folder", () => {
    const { rig, folder: code, python } = rigWith('ai-toolkit');
    const { argv, folder, outputDir, cwd } = prepare(rig, { config: aiToolkit });
    const path = join(folder, 'config.json');
    expect([argv, cwd]).toEqual([[python, join(code, 'run.py'), path], code]);
    const [process] = aiToolkit.config.process;
    expect(readConfig(path)).toEqual({
      ...aiToolkit,
      config: { ...aiToolkit.config, process: [{ ...process, training_folder: outputDir }] },
    });
  });
});

describe("kohya's scripts", () => {
  it("passes TOML to kohya's scripts, with the downloaded state as resume", () => {
    const { rig, folder: code, python } = rigWith('kohya');
    const config = { ...kohya, logging_dir: '/var/log/kohya', output_config: true };
    const { argv, folder, outputDir } = prepare(rig, {
      config,
      files: { 'dataset.toml': '[[datasets]]\n' },
      resume: { checkpoint: 'dog-step00000100-state', step: 100 },
    });
    const path = join(folder, 'config.toml');
    expect(argv).toEqual([
      python,
      '-m',
      'accelerate.commands.launch',
      '--num_cpu_threads_per_process=1',
      join(code, 'sdxl_train_network.py'),
      '--config_file',
      path,
    ]);
    const { script: _script, dataset_config: _named, ...rest } = kohya;
    expect(readConfig(path)).toEqual({
      ...rest,
      dataset_config: expect.stringMatching(/files\/\d+-dataset\.toml$/),
      output_dir: outputDir,
      logging_dir: join(outputDir, 'logs'),
      resume: join(outputDir, 'dog-step00000100-state'),
    });
  });

  it('starts one kohya process per GPU of the job', () => {
    const optionsOf = (gpus: number[]): readonly string[] =>
      prepare(rigWith('kohya').rig, { config: kohya, gpus }).argv.filter(word => /gpu|processes/.test(word));
    expect(optionsOf([1])).toEqual(['--num_processes=1']);
    expect(optionsOf([0, 1])).toEqual(['--multi_gpu', '--num_processes=2']);
  });

  it('merges the sections of a kohya config, and starts the script for their model', () => {
    const { rig, folder: code } = rigWith('kohya');
    const { argv, folder } = prepare(rig, { config: kohyaSections });
    expect(argv).toContain(join(code, 'flux_train_network.py'));
    expect(readConfig(join(folder, 'config.toml'))).toMatchObject({
      ...kohyaSections.model,
      ...kohyaSections.data,
      network_module: 'networks.lora_flux',
    });
  });
});

describe('OneTrainer', () => {
  it("puts OneTrainer's workspace into the output folder, and continues the newest backup", () => {
    const { rig, folder: code, python } = rigWith('onetrainer');
    const config = { ...onetrainer, concepts: [{ path: '/data/dog' }] };
    const first = prepare(rig, { config });
    const path = join(first.folder, 'config.json');
    expect([first.argv, first.cwd]).toEqual([
      [python, join(code, 'scripts/train.py'), '--config-path', path],
      code,
    ]);
    const expected = {
      ...config,
      workspace_dir: first.outputDir,
      cache_dir: join(first.folder, 'cache'),
      output_model_destination: join(first.outputDir, 'lora.safetensors'),
    };
    expect(readConfig(path)).toEqual(expected);
    prepare(rig, { config, resume: { checkpoint: 'backup/x-backup-5-0-5', step: 5 } });
    expect(readConfig(path)).toEqual({ ...expected, continue_last_backup: true });
  });

  it.runIf(process.platform !== 'win32')('starts OneTrainer with a command pipe in the job folder', () => {
    const { rig, folder: code, python } = rigWith('onetrainer');
    mkdirSync(join(code, 'scripts'));
    const script = writeFile(join(code, 'scripts'), 'train_remote.py', '');
    const start = (): PreparedJob => prepare(rig, { config: { ...onetrainer, concepts: [] } });
    const { argv, folder } = start();
    const pipe = join(folder, 'onetrainer-commands');
    expect(argv).toEqual([
      python,
      script,
      '--config-path',
      join(folder, 'config.json'),
      '--command-path',
      pipe,
    ]);
    const stat = lstatSync(pipe);
    expect([stat.isFIFO(), stat.mode & 0o777]).toEqual([true, 0o600]);
    // The pipe of a killed attempt still exists when the next attempt starts.
    expect(start().argv).toEqual(argv);
  });
});

describe('accelerate scripts', () => {
  it('starts one process of an accelerate script per GPU, independent of the config', () => {
    const optionsOf = (num_processes: number, gpus: number[] | null): readonly string[] =>
      prepare(rigWith('diffusers').rig, { config: { ...diffusers, num_processes }, gpus }).argv.filter(word =>
        /gpu|processes/.test(word),
      );
    expect(optionsOf(4, [0])).toEqual(['--num_processes=1']);
    expect(optionsOf(1, [0, 1])).toEqual(['--multi_gpu', '--num_processes=2']);
    expect(optionsOf(0, null)).toEqual([]);
  });

  it('passes the config to an accelerate script as arguments', () => {
    const { rig, folder: code, python } = rigWith('diffusers');
    const { argv, outputDir, cwd, folder } = prepare(rig, {
      config: { ...diffusers, num_processes: 2, output_dir: '/elsewhere', validation_prompts: ['a', 'b c'] },
      resume,
    });
    expect(cwd).toBe(folder);
    expect(argv).toEqual([
      python,
      '-m',
      'accelerate.commands.launch',
      '--multi_gpu',
      '--num_processes=2',
      join(code, diffusers.script),
      `--pretrained_model_name_or_path=${diffusers.pretrained_model_name_or_path}`,
      '--instance_data_dir=./dog',
      '--instance_prompt=a photo of sks dog',
      '--mixed_precision=bf16',
      '--train_text_encoder',
      '--max_train_steps=500',
      '--validation_prompts',
      'a',
      'b c',
      `--output_dir=${outputDir}`,
      '--resume_from_checkpoint=latest',
    ]);
  });
});

describe('output folders in configs', () => {
  it.each(['--output_dir', 'output-dir', 'output_d', '--output_dir=/elsewhere'])(
    'overrides the output folder that an accelerate config sets with the key %s',
    key => {
      const config = { ...diffusers, output_dir: '/a', [key]: '/b', '--logging_dir': '/c' };
      const { argv, outputDir } = prepare(rigWith('diffusers').rig, { config });
      expect(argv.filter(word => /^--(?:output|logging)/.test(word))).toEqual([
        `--output_dir=${outputDir}`,
        '--logging_dir=logs',
      ]);
    },
  );

  it.each<readonly ['ai-toolkit' | 'kohya' | 'diffusers', Offer, string]>([
    [
      'ai-toolkit',
      { config: { ...aiToolkit, config: { ...aiToolkit.config, name: '../../x' } } },
      'config.name',
    ],
    ['kohya', { config: { ...kohya, output_name: '/shared/dog' } }, 'output_name'],
    ['kohya', { config: { ...kohya, saving: { output_name: '..\\dog' } } }, 'output_name'],
    ['diffusers', { config: { ...diffusers, script: '../x.py' } }, 'script'],
  ])('rejects a %s config with a name that leads outside its folder: %j', (name, offer, key) => {
    expect(prepareJob(offerOf('j1', 'a1', offer), rigWith(name).rig)).toEqual({
      ok: false,
      cause: 'rejected',
      message: expect.stringContaining(`The config cannot be used: ${key} must be`),
    });
  });
});

describe('missing trainers', () => {
  it('rejects a job for a missing trainer, and explains what the owner can do', () => {
    expect(prepareJob(offerOf('j1', 'a1', { config: kohya }), simpletunerRig())).toEqual({
      ok: false,
      cause: 'rejected',
      message:
        "The config is for kohya's sd-scripts, and worker rig-1 has SimpleTuner. The owner of the rig can add it with --trainer kohya=...",
    });
  });

  it("runs the owner's command for every config, with the config unchanged", () => {
    const rig = rigOf(tempFolder(), {
      trainers: [{ kind: 'command', argv: ['train', '{config_path}'], takesAll: true }],
    });
    const { argv, folder } = prepare(rig, { config: aiToolkit });
    expect(argv).toEqual(['train', join(folder, 'config.json')]);
    expect(readConfig(join(folder, 'config.json'))).toEqual(aiToolkit);
  });

  it('runs a command for unrecognized configs, and rejects recognized configs', () => {
    const rig = rigOf(tempFolder(), { trainers: [{ kind: 'command', argv: ['train'], takesAll: false }] });
    expect(prepareJob(offerOf('j1', 'a1', { config: aiToolkit }), rig)).toMatchObject({
      ok: false,
      cause: 'rejected',
    });
    expect(prepareJob(offerOf('j1', 'a1', { config: { lr: 1 } }), rig)).toMatchObject({ ok: true });
  });
});

describe('jobs with the same config', () => {
  const absolute = { output_dir: '/shared/out', logging_dir: '/shared/logs' };
  const [process] = aiToolkit.config.process;
  const shared = { ...process, training_folder: '/shared/out' };

  it.each<readonly [TrainerName, Offer, (config: Record<string, unknown>) => unknown]>([
    ['simpletuner', { config: { ...simpletuner, ...absolute } }, config => config['output_dir']],
    [
      'ai-toolkit',
      { config: { ...aiToolkit, config: { ...aiToolkit.config, process: [shared] } } },
      ({ config }) => (config as typeof aiToolkit.config).process[0]?.training_folder,
    ],
    ['kohya', { config: { ...kohya, ...absolute } }, config => config['output_dir']],
    [
      'onetrainer',
      { config: { ...onetrainer, workspace_dir: '/shared/out', continue_last_backup: true } },
      config => config['workspace_dir'],
    ],
    ['diffusers', { config: { ...diffusers, ...absolute } }, config => config['output_dir']],
  ])('separates the checkpoints of two %s jobs with the same config', (name, offer, folderIn) => {
    const rig = name === 'simpletuner' ? simpletunerRig() : rigWith(name as 'kohya').rig;
    const start = (id: string) => {
      const result = prepareJob(offerOf(id, `a-${id}`, offer), rig);
      if (!result.ok) throw new Error(result.message);
      const { folder, outputDir, env } = result.job;
      const config = readConfig(env['CONFIG_PATH'] ?? '') as Record<string, unknown>;
      const trainsIn = folderIn(config);
      if (typeof trainsIn !== 'string') throw new Error('the config names no folder');
      return { folder, outputDir, trainsIn };
    };
    const first = start('j1');
    mkdirSync(join(first.trainsIn, 'checkpoint-500'), { recursive: true });
    writeFile(join(first.trainsIn, 'checkpoint-500'), 'model.safetensors', 'weights of j1');
    const second = start('j2');
    expect([first.trainsIn, second.trainsIn]).toEqual([first.outputDir, second.outputDir]);
    expect(second.folder).not.toBe(first.folder);
    expect(readdirSync(second.trainsIn)).toEqual([]);
    // A retry of the first job resumes from its own files.
    expect(readdirSync(start('j1').trainsIn)).toEqual(['checkpoint-500']);
  });
});

describe('samples in event files', () => {
  const expectsSampleFiles = (offer: Offer): boolean => {
    const trainers = (['ai-toolkit', 'kohya', 'onetrainer', 'diffusers'] as const).map(name => {
      const { folder } = checkout();
      return { kind: 'checkout' as const, name, folder, python: null };
    });
    const withSimpletuner = { kind: 'package' as const, name: 'simpletuner' as const, python: null };
    return prepare(rigOf(tempFolder(), { trainers: [withSimpletuner, ...trainers] }), offer).samplesAreFiles;
  };

  it.each([
    ['SimpleTuner', true, simpletuner],
    ['OneTrainer', true, onetrainer],
    ['a script for accelerate', false, diffusers],
    ["kohya's scripts", false, kohya],
    ['ai-toolkit', false, aiToolkit],
    ['the self-test', false, { trainer: 'selftest' }],
  ])('decides whether %s also writes its samples as files: %s', (_trainer, expected, config) => {
    expect(expectsSampleFiles({ config })).toBe(expected);
  });

  it("expects no sample files of a trainer that the owner's command starts", () => {
    expect(prepare(rigOf(tempFolder()), { config: simpletuner }).samplesAreFiles).toBe(false);
  });
});
