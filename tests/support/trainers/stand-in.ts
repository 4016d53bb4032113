/**
 * Replaces the Python of a trainer. It reads configs, chooses file names and resumes training as the real trainer does, but makes
 * all steps without delay.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { parse as parseToml } from 'smol-toml';

/** One training, in terms that all trainers share. */
interface Training {
  readonly steps: number;
  /** Number of steps between two checkpoints. */
  readonly every: number;
  /** Number of steps that earlier attempts have completed. */
  readonly done: number;
  /** The folder with the training images. */
  readonly data: string;
  /** Formats the progress bar at a step. */
  bar(step: number, loss: string): string;
  checkpoint(step: number): void;
  finish(): void;
}

type Config = Readonly<Record<string, unknown>>;

const write = (file: string, text: string): void => {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
};
/** Returns the content of a weights file, which contains only the step. */
const weights = (step: number): string => JSON.stringify({ step });
const stepIn = (file: string): number => (JSON.parse(readFileSync(file, 'utf8')) as { step: number }).step;
const namesIn = (folder: string): readonly string[] => (existsSync(folder) ? readdirSync(folder) : []);
/** Returns a setting of a config as text. Throws when the setting is not a string. */
const text = (value: unknown): string => {
  if (typeof value !== 'string') throw new TypeError(`not a string: ${JSON.stringify(value)}`);
  return value;
};
const json = (file: string): Config => JSON.parse(readFileSync(file, 'utf8')) as Config;
const percent = (step: number, steps: number): string => String(Math.floor((100 * step) / steps)).padStart(3);

/** Returns the name of the `checkpoint-STEP` folder with the highest step. */
function newestCheckpoint(output: string): string | undefined {
  const stepOf = (name: string): number => Number(name.slice('checkpoint-'.length));
  return namesIn(output)
    .filter(name => /^checkpoint-\d+$/.test(name))
    .toSorted((a, b) => stepOf(b) - stepOf(a))[0];
}

/** `python -m simpletuner.train`: the variable CONFIG_PATH contains the path of the config. */
function simpletuner(): Training {
  const config = json(process.env['CONFIG_PATH'] ?? '');
  const [backend = {}] = JSON.parse(readFileSync(text(config['data_backend_config']), 'utf8')) as Config[];
  if (config['lycoris_config'] !== undefined) json(text(config['lycoris_config']));
  const output = text(config['output_dir']);
  const resumeFrom = config['resume_from_checkpoint'];
  let lastCheckpoint: string | undefined;
  if (resumeFrom === 'latest') lastCheckpoint = newestCheckpoint(output);
  else if (resumeFrom !== undefined) lastCheckpoint = basename(text(resumeFrom));
  const steps = Number(config['max_train_steps']);
  return {
    steps,
    every: Number(config['checkpoint_step_interval']),
    data: text(backend['instance_data_dir']),
    done: lastCheckpoint ? stepIn(join(output, lastCheckpoint, 'training_state.json')) : 0,
    bar: (step, loss) =>
      `Epoch 1/1, Steps:  ${percent(step, steps)}%|██        | ${step}/${steps} [00:01<00:01, 45.00it/s, lr=0.0001, step_loss=${loss}]`,
    checkpoint(step) {
      const folder = join(output, `checkpoint-${step}`);
      write(join(folder, 'pytorch_lora_weights.safetensors'), weights(step));
      write(join(folder, 'optimizer.bin'), 'state');
      write(join(folder, 'training_state.json'), weights(step));
    },
    finish: () => write(join(output, 'pytorch_lora_weights.safetensors'), weights(steps)),
  };
}

/** `python run.py CONFIG` of ai-toolkit: resumes from the newest weights. */
function aiToolkit([path = '']: readonly string[]): Training {
  const { config } = json(path) as { config: { name: string; process: readonly Config[] } };
  const [process = {}] = config.process;
  const folder = join(String(process['training_folder']), config.name);
  const { steps } = process['train'] as { steps: number };
  const { save_every: every } = process['save'] as { save_every: number };
  const [dataset = {}] = process['datasets'] as readonly Config[];
  const lastCheckpoint = namesIn(folder)
    .filter(name => name.startsWith(config.name) && name.endsWith('.safetensors'))
    .toSorted()
    .at(-1);
  if (lastCheckpoint !== undefined && !existsSync(join(folder, 'optimizer.pt')))
    throw new Error('the state of the optimizer is missing');
  return {
    steps,
    every,
    data: text(dataset['folder_path']),
    done: lastCheckpoint === undefined ? 0 : stepIn(join(folder, lastCheckpoint)),
    bar: (step, loss) =>
      `${config.name}:  ${percent(step, steps)}%|██        | ${step}/${steps} [00:01<00:01,  1.20it/s, lr: 1.0e-04 loss: ${loss}]`,
    checkpoint(step) {
      write(join(folder, `${config.name}_${String(step).padStart(9, '0')}.safetensors`), weights(step));
      write(join(folder, 'optimizer.pt'), weights(step));
    },
    finish: () => write(join(folder, `${config.name}.safetensors`), weights(steps)),
  };
}

/** `accelerate launch ... SCRIPT --config_file TOML` of sd-scripts: resumes from the state folder in the setting `resume`. */
function kohya(script: string, path: string): Training {
  if (!existsSync(script) || !path.endsWith('.toml')) throw new Error(`no script ${script}, or no TOML`);
  const config = parseToml(readFileSync(path, 'utf8'));
  const { datasets } = parseToml(readFileSync(text(config['dataset_config']), 'utf8'));
  const [dataset = {}] = datasets as readonly Config[];
  const [subset = {}] = dataset['subsets'] as readonly Config[];
  const output = text(config['output_dir']);
  const name = text(config['output_name'] ?? 'last');
  const steps = Number(config['max_train_steps']);
  const resume = config['resume'];
  return {
    steps,
    every: Number(config['save_every_n_steps']),
    data: text(subset['image_dir']),
    done: resume === undefined ? 0 : stepIn(join(text(resume), 'train_state.json')),
    bar: (step, loss) =>
      `steps:  ${percent(step, steps)}%|██        | ${step}/${steps} [00:01<00:01,  9.50it/s, avr_loss=${loss}]`,
    checkpoint(step) {
      const numbered = join(output, `${name}-step${String(step).padStart(8, '0')}`);
      write(`${numbered}.safetensors`, weights(step));
      if (config['save_state'] !== true) return;
      write(join(`${numbered}-state`, 'optimizer.bin'), 'state');
      write(join(`${numbered}-state`, 'train_state.json'), weights(step));
    },
    finish: () => write(join(output, `${name}.safetensors`), weights(steps)),
  };
}

/**
 * `python scripts/train.py --config-path CONFIG` of OneTrainer: resumes from the last backup if the config requests it.
 */
function onetrainer([, path = '']: readonly string[]): Training {
  const config = json(path);
  const [concept = {}] = config['concepts'] as readonly Config[];
  const workspace = String(config['workspace_dir']);
  const backups = join(workspace, 'backup');
  const steps = Number(config['epochs']) * 10;
  const lastBackup = config['continue_last_backup'] === true ? namesIn(backups).toSorted().at(-1) : undefined;
  const stamp = (step: number): string =>
    `2026-11-23_17-${String(Math.floor(step / 60)).padStart(2, '0')}-${String(step % 60).padStart(2, '0')}`;
  return {
    steps,
    every: Number(config['backup_after']),
    data: text(concept['path']),
    done: lastBackup === undefined ? 0 : stepIn(join(backups, lastBackup, 'meta.json')),
    bar: (step, loss) =>
      `step:  ${percent(step, steps)}%|██        | ${step}/${steps} [00:01<00:01,  4.10it/s, loss=${loss}, smooth loss=${loss}]`,
    checkpoint(step) {
      const counts = `${step}-${Math.floor(step / 10)}-${step % 10}`;
      const folder = join(backups, `${stamp(step)}-backup-${counts}`);
      write(join(folder, 'lora/lora.safetensors'), weights(step));
      write(join(folder, 'meta.json'), weights(step));
      write(join(workspace, 'save', `${stamp(step)}-save-${counts}.safetensors`), weights(step));
    },
    finish: () => write(String(config['output_model_destination']), weights(steps)),
  };
}

/** `accelerate launch SCRIPT --output_dir=... ` of diffusers. */
function diffusers(script: string, args: readonly string[]): Training {
  if (!existsSync(script)) throw new Error(`no script ${script}`);
  const values = new Map(args.map(arg => arg.replace(/^--/, '').split('=', 2) as [string, string]));
  const output = values.get('output_dir') ?? '';
  const steps = Number(values.get('max_train_steps'));
  const lastCheckpoint = newestCheckpoint(output);
  const resumes = values.get('resume_from_checkpoint') === 'latest' && lastCheckpoint !== undefined;
  return {
    steps,
    every: Number(values.get('checkpointing_steps')),
    data: values.get('instance_data_dir') ?? '',
    done: resumes ? stepIn(join(output, lastCheckpoint, 'step.json')) : 0,
    bar: (step, loss) =>
      `Steps:  ${percent(step, steps)}%|██        | ${step}/${steps} [00:01<00:01,  2.10it/s, loss=${loss}, lr=0.0001]`,
    checkpoint(step) {
      const folder = join(output, `checkpoint-${step}`);
      write(join(folder, 'optimizer.bin'), 'state');
      write(join(folder, 'step.json'), weights(step));
    },
    finish: () => write(join(output, 'pytorch_lora_weights.safetensors'), weights(steps)),
  };
}

type ScriptArgs = readonly [config: string, output: string, resume: string];

/**
 * A user's script around the `Trainer` of Hugging Face: prints a dict every 10 steps, and keeps the values in
 * `trainer_state.json`.
 */
function transformers([path, output, resume]: ScriptArgs): Training {
  const config = json(path);
  const steps = Number(config['max_steps']);
  const state = (step: number): string =>
    JSON.stringify({
      step,
      global_step: step,
      max_steps: steps,
      log_history: Array.from({ length: Math.floor(step / 10) }, (_, n) => ({
        loss: 1 / (10 * n + 10),
        epoch: (10 * n + 10) / steps,
        step: 10 * n + 10,
      })),
    });
  return {
    steps,
    every: Number(config['save_steps']),
    data: text(config['train_data']),
    done: resume === '' ? 0 : stepIn(join(resume, 'trainer_state.json')),
    bar(step, loss) {
      if (step % 10 === 0)
        process.stdout.write(
          `{'loss': '${loss}', 'learning_rate': '0.0001', 'epoch': '${(step / steps).toFixed(4)}'}\n`,
        );
      return `${percent(step, steps)}%|██        | ${step}/${steps} [00:01<00:01, 20.10it/s]`;
    },
    checkpoint(step) {
      const folder = join(output, `checkpoint-${step}`);
      write(join(folder, 'optimizer.pt'), 'state');
      write(join(folder, 'trainer_state.json'), state(step));
    },
    finish: () => write(join(output, 'model.safetensors'), weights(steps)),
  };
}

/** A user's script around Lightning's `Trainer`, with its progress bar and its `CSVLogger`. */
function lightning([path, output, resume]: ScriptArgs): Training {
  const config = json(path);
  const steps = Number(config['max_steps']);
  const logs = join(output, 'lightning_logs/version_0');
  const rows = ['epoch,step,train_loss'];
  return {
    steps,
    every: Number(config['save_steps']),
    data: text(config['train_data']),
    done: resume === '' ? 0 : stepIn(resume),
    bar(step, loss) {
      if (step % 10 === 0) {
        rows.push(`0,${step - 1},${1 / step}`);
        write(join(logs, 'metrics.csv'), `${rows.join('\n')}\n`);
      }
      return `Epoch 0: ${percent(step, steps)}%|██        | ${step}/${steps} [00:01<00:01, 20.10it/s, v_num=0, train_loss=${loss}]`;
    },
    checkpoint: step => write(join(logs, `checkpoints/epoch=0-step=${step}.ckpt`), weights(step)),
    finish: () => write(join(output, 'model.safetensors'), weights(steps)),
  };
}

const scripts: Readonly<Record<string, (args: ScriptArgs) => Training>> = { transformers, lightning };

/** Recognizes the trainer by Python's arguments, and reads its config. Throws for the arguments of other programs. */
function trainingOf(args: readonly string[]): Training {
  const [first = '', second = '', ...rest] = args;
  if (first === '-m' && second === 'simpletuner.train') return simpletuner();
  if (first === '-m' && second === 'accelerate.commands.launch') {
    const scriptIndex = rest.findIndex(word => word.endsWith('.py'));
    const [script = '', ...scriptArgs] = rest.slice(scriptIndex);
    return scriptArgs[0] === '--config_file'
      ? kohya(script, scriptArgs[1] ?? '')
      : diffusers(script, scriptArgs);
  }
  const script = scripts[first];
  if (script !== undefined) return script([second, rest[0] ?? '', rest[1] ?? '']);
  if (basename(first) === 'run.py') return aiToolkit([second]);
  if (basename(first) === 'train.py') return onetrainer([second, ...rest]);
  throw new Error(`python: can't open file '${first}'`);
}

/** Path of a file with a step number. The training waits at that step until a test removes the file. */
const holdFile = process.env['STAND_IN_HOLD'] ?? '';
const holdStep = (): number =>
  existsSync(holdFile) ? Number(readFileSync(holdFile, 'utf8')) : Number.POSITIVE_INFINITY;

const digestOf = (file: string): string => createHash('sha256').update(readFileSync(file)).digest('hex');

async function train({ steps, every, done, data, bar, checkpoint, finish }: Training): Promise<void> {
  for (const name of readdirSync(data).toSorted())
    process.stdout.write(`data ${name} ${digestOf(join(data, name))}\n`);
  if (done > 0) process.stdout.write(`continuing after step ${done}\n`);
  for (let step = done + 1; step <= steps; step += 1) {
    process.stderr.write(`\r${bar(step, (1 / step).toFixed(4))}`);
    if (step % every === 0 && step < steps) checkpoint(step);
    while (step >= holdStep()) await new Promise(resolve => setTimeout(resolve, 50));
  }
  process.stderr.write('\n');
  finish();
}

const args = process.argv.slice(2);
// A worker first runs Python with `-c`, to check that it can import the trainer.
if (args[0] === '-c') process.stdout.write('version 0.0.1\n');
else await train(trainingOf(args));
