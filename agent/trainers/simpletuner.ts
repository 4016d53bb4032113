import { join } from 'node:path';
import type { TrainerConfig } from '../../protocol/job.ts';
import { configTextIn } from '../../trainers/index.ts';
import { splitCommand } from './argv.ts';
import {
  accelerate,
  type Launch,
  type LaunchInput,
  leadsOut,
  machineOptions,
  spellingOf,
  withoutKey,
} from './launch.ts';

/**
 * This variable contains the path of a file with counters. Each request increments one of them
 * (`simpletuner/train.py`).
 */
const requestsVariable = 'SIMPLETUNER_ACCELERATE_SIGNAL_FILE';
export const simpletunerRequests = 'simpletuner-requests.json';

/**
 * Prepares the start of SimpleTuner, with the output folder of the job, so that uploads and later attempts find the
 * outputs. SimpleTuner uses only the last name in the path of a checkpoint, and looks for it in the output folder.
 */
export function simpletunerLaunch(input: LaunchInput): Launch {
  const { folder } = input;
  const path = join(folder, 'config.json');
  const requests = join(folder, simpletunerRequests);
  return {
    configFile: { path, text: configTextIn(configFor(input), 'json') },
    requestFile: { path: requests, text: '{}' },
    argv: [...launcherFor(input), '-m', 'simpletuner.train'],
    env: { [requestsVariable]: requests },
    cwd: null,
  };
}

/**
 * For one GPU, SimpleTuner's module is run directly. For several, it is started with accelerate and the same options that
 * SimpleTuner's own launcher uses (`_launch_with_accelerate` in `helpers/training/trainer.py`).
 */
function launcherFor({ config, python, gpuCount, nodes }: LaunchInput): readonly string[] {
  const read = (key: string): unknown => config[spellingOf(config, key)];
  const textOf = (key: string, fallback = ''): string => {
    const value = read(key);
    return typeof value === 'string' && value.trim() !== '' ? value.trim() : fallback;
  };
  const perNode = gpuCount ?? (Number(read('num_processes')) || 1);
  const processes = perNode * nodes;
  const machines = nodes > 1 ? machineOptions(nodes) : null;
  const [configFile, extra] = [textOf('accelerate_config'), extraArgs(textOf('accelerate_extra_args'))];
  if (processes < 2 && configFile === '' && extra.length === 0) return [python];
  if (configFile !== '') {
    const machineArgs = machines === null ? [] : [`--num_processes=${processes}`, ...machines];
    return [...accelerate(python), `--config_file=${configFile}`, ...machineArgs, ...extra];
  }
  const isChosen = extra.some(word => strategies.has(word.split('=')[0] ?? ''));
  return [
    ...accelerate(python),
    ...(processes > 1 && !isChosen ? ['--multi_gpu'] : []),
    `--mixed_precision=${textOf('mixed_precision', 'bf16')}`,
    `--num_processes=${processes}`,
    ...(machines ?? ['--num_machines=1']),
    `--dynamo_backend=${textOf('dynamo_backend', 'no')}`,
    ...extra,
  ];
}

const strategies: ReadonlySet<string> = new Set([
  '--multi_gpu',
  '--cpu',
  '--tpu',
  '--use_deepspeed',
  '--use_fsdp',
  '--use_megatron_lm',
]);

/** Splits the extra arguments. Like SimpleTuner, uses a text that cannot be split as one argument. */
function extraArgs(text: string): readonly string[] {
  if (text === '') return [];
  const split = splitCommand(text);
  return split.ok ? split.argv : [text];
}

function configFor({ config, outputDir, resumeFrom, allowedKeys }: LaunchInput): TrainerConfig {
  const mayKeep = (key: string): boolean => allowedKeys.includes(key);
  const ownConfig = ownKeys(config);
  const isElsewhere = leadsOut(ownConfig, 'logging_dir') && !mayKeep('logging_dir');
  const settings = isElsewhere ? withoutKey(ownConfig, 'logging_dir') : ownConfig;
  if (mayKeep('output_dir') && leadsOut(settings, 'output_dir')) return settings;
  const key = spellingOf(settings, 'resume_from_checkpoint');
  const resumes = resumeFrom !== '' && (settings[key] ?? 'latest') === 'latest';
  return {
    ...withoutKey(settings, 'output_dir'),
    output_dir: outputDir,
    ...(resumes && { [key]: resumeFrom }),
  };
}

/** Removes keys that start with a dollar sign, because SimpleTuner would treat them as its options. */
const ownKeys = (config: TrainerConfig): TrainerConfig =>
  Object.fromEntries(Object.entries(config).filter(([key]) => !key.startsWith('$')));
